"""Kernels with and without their compiled loops, beside PyTorch, in processor time of the thread: one run, in turns.

python -m benchmarks loops [NAME …]
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import minitorch
from benchmarks import networks
from benchmarks.networks import random_tensor
from minitorch.arrays import loops

Action = Callable[[], Any]
Program = Callable[[Any], Action]

ROUNDS = 15
SECONDS = 0.02
"""Of each way of computing in each round."""


def forward(function: Callable[[Any, Any], Any], *shape: int) -> Program:
    """`function(library, x)` of a random tensor."""

    def program(library: Any) -> Action:
        x = random_tensor(library, *shape)
        return lambda: function(library, x)

    return program


def backward(function: Callable[[Any, Any], Any], *shape: int) -> Program:
    """The gradient alone: the graph is kept."""

    def program(library: Any) -> Action:
        x = random_tensor(library, *shape).requires_grad_()
        y = function(library, x)
        grad = random_tensor(library, *y.shape)
        return lambda: library.autograd.grad(y, x, grad, retain_graph=True)

    return program


def steps(make: Callable[[Any, Any], Any], *shapes: tuple[int, ...]) -> Program:
    """Steps of an optimizer, whose constructor is `make(library.optim, parameters)`, of parameters of those shapes."""

    def program(library: Any) -> Action:
        parameters = [random_tensor(library, *shape).requires_grad_() for shape in shapes]
        for each in parameters:
            each.grad = random_tensor(library, *each.shape)
        action: Action = make(library.optim, parameters).step
        return action

    return program


def softmax(library: Any, x: Any) -> Any:
    return library.softmax(x, -1)


def log_softmax(library: Any, x: Any) -> Any:
    return library.log_softmax(x, -1)


def layer_norm(library: Any, x: Any) -> Any:
    return library.nn.functional.layer_norm(x, x.shape[-1:])


def batch_norm(library: Any, x: Any, training: bool = True) -> Any:
    zeros, ones = library.zeros(x.shape[1]), library.ones(x.shape[1])
    return library.nn.functional.batch_norm(x, zeros, ones, ones, zeros, training)


PROGRAMS: dict[str, Program] = {
    f"{name}, {' × '.join(map(str, shape))}": way(function, *shape)
    for name, way, function in (
        ("softmax", forward, softmax),
        ("softmax, backward", backward, softmax),
        ("log_softmax", forward, log_softmax),
        ("log_softmax, backward", backward, log_softmax),
        ("layer_norm", forward, layer_norm),
        ("layer_norm, backward", backward, layer_norm),
    )
    for shape in ((4096, 1000), (64, 256), (1, 16))
}

PROGRAMS |= {
    f"{name}, 1 M": way(function, 1000, 1000)
    for name, way, function in (
        ("GELU", forward, lambda library, x: library.nn.functional.gelu(x)),
        ("GELU, backward", backward, lambda library, x: library.nn.functional.gelu(x)),
        ("GELU by tanh", forward, lambda library, x: library.nn.functional.gelu(x, approximate="tanh")),
        ("GELU by tanh, backward", backward, lambda library, x: library.nn.functional.gelu(x, approximate="tanh")),
        ("SiLU", forward, lambda library, x: library.nn.functional.silu(x)),
        ("SiLU, backward", backward, lambda library, x: library.nn.functional.silu(x)),
    )
}


def picked(library: Any, table: Any) -> Any:
    """8192 rows of a table, some of them several times."""
    return library.nn.functional.embedding(library.arange(8192) * 7919 % len(table), table)


def index_add(library: Any, x: Any) -> Any:
    """Rows added to those of zeros, eight to each."""
    return library.zeros(1024, x.shape[1]).index_add_(0, library.arange(len(x)) * 7919 % 1024, x)


PROGRAMS |= {
    "batch norm, 16 × 64 × 32 × 32": forward(batch_norm, 16, 64, 32, 32),
    "batch norm, evaluation, 16 × 64 × 32 × 32": forward(
        lambda library, x: batch_norm(library, x, False), 16, 64, 32, 32
    ),
    "batch norm, backward, 16 × 64 × 32 × 32": backward(batch_norm, 16, 64, 32, 32),
}

TENSORS: dict[str, list[tuple[int, ...]]] = {
    "one tensor of 2 M": [(2000, 1000)],
    "1.8 M in 110 tensors": [(180, 180), (180,)] * 55,
}
PROGRAMS |= {
    "rand, 1 M": lambda library: lambda: library.rand(10**6),
    "randn, 1 M": lambda library: lambda: library.randn(10**6),
    "randperm, 60000": lambda library: lambda: library.randperm(60000),
    "multinomial, 10 of 1000, 1000 rows": forward(
        lambda library, x: library.multinomial(x.abs(), 10, True), 1000, 1000
    ),
    "dropout, 1 M": forward(lambda library, x: library.dropout(x, 0.1, True), 1000, 1000),
}
PROGRAMS |= {
    "cumsum, 1 M": forward(lambda library, x: x.cumsum(-1), 1000, 1000),
    "cumsum, first dimension, 1 M": forward(lambda library, x: x.cumsum(0), 1000, 1000),
    "cumprod, 1 M": forward(lambda library, x: x.cumprod(-1), 1000, 1000),
    "logcumsumexp, 1 M": forward(lambda library, x: x.logcumsumexp(-1), 1000, 1000),
}
PROGRAMS |= {
    "embedding, backward, 8192 of 10,000 × 128": backward(picked, 10000, 128),
    "index_add, 8192 to 1024 × 128": forward(index_add, 8192, 128),
}
PROGRAMS |= {
    f"{name}, {which}": steps(make, *shapes)
    for name, make in (
        ("AdamW", lambda optim, parameters: optim.AdamW(parameters, 1e-6)),
        ("SGD", lambda optim, parameters: optim.SGD(parameters, 1e-6)),
        ("SGD, momentum", lambda optim, parameters: optim.SGD(parameters, 1e-6, momentum=0.9)),
    )
    for which, shapes in TENSORS.items()
}
PROGRAMS |= {f"make bench: {name}": program for name, _, program in networks.PROGRAMS}


def _seconds(action: Action, repeats: int, mode: str) -> float:
    loops.mode = mode
    start = time.thread_time()
    for _ in range(repeats):
        action()
    return (time.thread_time() - start) / repeats


def ratios(program: Program) -> tuple[float, float, float]:
    """Medians over the rounds: the kernel's time over PyTorch's, the loop's over PyTorch's, and PyTorch's in µs."""
    own, other = program(minitorch), program(torch)
    ways = {"torch": (other, ""), "kernel": (own, "0"), "loop": (own, "1")}
    once = {}
    for name, (action, mode) in ways.items():
        action()  # compiles
        _seconds(action, 1, mode)
        once[name] = _seconds(action, 1, mode)
    rounds = []
    for _ in range(ROUNDS):
        rounds.append(
            {
                name: _seconds(action, max(1, round(SECONDS / max(once[name], 1e-7))), mode)
                for name, (action, mode) in ways.items()
            }
        )
    kernel, loop = (statistics.median(each[name] / each["torch"] for each in rounds) for name in ("kernel", "loop"))
    return kernel, loop, statistics.median(each["torch"] for each in rounds) * 1e6


def report(names: list[str]) -> str:
    """A table of the programs whose name has one of `names` in it, all by default, as Markdown."""
    torch.set_num_threads(1)
    minitorch.set_num_threads(1)
    lines = ["| work | PyTorch | without loops ÷ PyTorch | with loops ÷ PyTorch |", "|---|--:|--:|--:|"]
    for name, program in PROGRAMS.items():
        if not names or any(each in name for each in names):
            kernel, loop, microseconds = ratios(program)
            lines.append(f"| {name} | {microseconds:,.1f} µs | {kernel:.2f} | **{loop:.2f}** |")
    return "\n".join(lines)
