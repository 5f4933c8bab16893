"""What is timed. Each workload is written once for `torch` and `minitorch`, and once in plain NumPy as a yardstick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Action = Callable[[], Any]


@dataclass(frozen=True)
class Workload:
    """`program(torch)` and `yardstick()` set the work up and return the function to time.

    `target` is the greatest time ÷ PyTorch's that the project accepts.
    """

    name: str
    target: float
    program: Callable[[Any], Action]
    yardstick: Callable[[], Action]


def tiny_add(torch: Any) -> Action:
    a, b = torch.ones(4), torch.ones(4)
    return lambda: a + b


def recorded_add(size: int) -> Callable[[Any], Action]:
    """The sum of two leaves, with the node that autograd records."""

    def program(torch: Any) -> Action:
        a, b = torch.ones(size).requires_grad_(), torch.ones(size).requires_grad_()
        return lambda: a + b

    return program


def add_numpy(size: int) -> Callable[[], Action]:
    def yardstick() -> Action:
        a, b = np.ones(size, np.float32), np.ones(size, np.float32)
        return lambda: a + b

    return yardstick


def multiplied(torch: Any) -> Any:
    x = torch.ones(4).requires_grad_()
    z = x
    for _ in range(1000):
        z = z * 1.0001
    return z.sum()


def added(torch: Any) -> Any:
    x, y = torch.ones(4).requires_grad_(), torch.ones(4).requires_grad_()
    z = x
    for _ in range(1000):
        z = z + y
    return z.sum()


def backward(build: Callable[[Any], Any]) -> Callable[[Any], Action]:
    def program(torch: Any) -> Action:
        out = build(torch)
        return lambda: out.backward(retain_graph=True)

    return program


def forward_backward(build: Callable[[Any], Any]) -> Callable[[Any], Action]:
    return lambda torch: lambda: build(torch).backward()


def chain_numpy(passes: int) -> Callable[[], Action]:
    def yardstick() -> Action:
        x = np.ones(4, np.float32)

        def run() -> None:
            z = x
            for _ in range(1000 * passes):
                z = z * 1.0001

        return run

    return yardstick


def _digits() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.random((64, 64), dtype=np.float32), rng.integers(0, 10, 64)


def mlp_step(torch: Any) -> Action:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    data, labels = map(torch.from_numpy, _digits())

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(data), labels).backward()
        optimizer.step()

    return step


def mlp_step_numpy() -> Action:
    rng = np.random.default_rng(0)
    sizes = [(128, 64), (128,), (10, 128), (10,)]
    w1, b1, w2, b2 = parameters = [rng.standard_normal(size, dtype=np.float32) * 0.1 for size in sizes]
    buffers = [np.zeros_like(each) for each in parameters]
    x, y = _digits()
    rows = np.arange(64)

    def step() -> None:
        hidden = x @ w1.T + b1
        active = np.maximum(hidden, 0)
        logits = active @ w2.T + b2
        logits -= logits.max(1, keepdims=True)
        p = np.exp(logits)
        p /= p.sum(1, keepdims=True)
        p[rows, y] -= 1
        p /= 64
        back = p @ w2
        back *= hidden > 0
        for parameter, buffer, grad in zip(
            parameters, buffers, (back.T @ x, back.sum(0), p.T @ active, p.sum(0)), strict=True
        ):
            buffer *= 0.9
            buffer += grad
            parameter -= 0.01 * buffer

    return step


def randn(torch: Any) -> Action:
    return lambda: torch.randn(100)


def randn_numpy() -> Action:
    rng = np.random.default_rng(0)
    return lambda: rng.standard_normal(100, np.float32)


def data_loader_epoch(torch: Any) -> Action:
    rng = np.random.default_rng(0)
    data = torch.from_numpy(rng.random((10_000, 64), dtype=np.float32))
    labels = torch.from_numpy(rng.integers(0, 10, 10_000))
    from importlib import import_module

    utils = import_module(f"{torch.__name__}.utils.data")
    loader = utils.DataLoader(utils.TensorDataset(data, labels), batch_size=64, shuffle=True)

    def epoch() -> int:
        return sum(len(batch) for batch, _ in loader)

    return epoch


def data_loader_numpy() -> Action:
    rng = np.random.default_rng(0)
    data, labels = rng.random((10_000, 64), dtype=np.float32), rng.integers(0, 10, 10_000)

    def epoch() -> int:
        order = rng.permutation(10_000)
        batches = (order[start : start + 64] for start in range(0, 10_000, 64))
        return sum(len((data[batch], labels[batch])[0]) for batch in batches)

    return epoch


WORKLOADS = (
    Workload("tiny add", 1.0, tiny_add, add_numpy(4)),
    Workload("recorded add of two leaves, 1 element", 1.3, recorded_add(1), add_numpy(1)),
    Workload("recorded add of two leaves, 1,000 elements", 1.3, recorded_add(1000), add_numpy(1000)),
    Workload("1,000 products, backward", 1.1, backward(multiplied), chain_numpy(1)),
    Workload("1,000 products, built and run backward", 1.2, forward_backward(multiplied), chain_numpy(2)),
    Workload("1,000 adds, backward", 1.1, backward(added), chain_numpy(1)),
    Workload("1,000 adds, built and run backward", 1.2, forward_backward(added), chain_numpy(2)),
    Workload("MLP 64-128-10 step, SGD", 1.2, mlp_step, mlp_step_numpy),
    Workload("randn, 100", 8.0, randn, randn_numpy),
    Workload("DataLoader epoch, 10,000 × 64, shuffled", 0.2, data_loader_epoch, data_loader_numpy),
)
