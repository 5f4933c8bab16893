"""`python -m benchmarks.gpu`: the op table and a few steps of training on a GPU, in ten minutes; writes `gpu.md`.

Without a GPU it says so, and ends with status 1. PyTorch is compared with where its build knows the GPU.
"""

from __future__ import annotations

import datetime
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import minitorch
from benchmarks.networks import random_labels, random_tensor, resnet18
from minitorch.arrays import gpus

Action = Callable[[], Any]

FILE = Path(__file__).with_name("gpu.md")
TABLE = [f"tests/arrays/test_{name}.py" for name in ("kernels", "every_op", "random_numbers")]
TABLE_SECONDS = 400
"""What the op table may take; most of it is the time in which CuPy compiles its kernels."""

ROUNDS = 7
SECONDS_A_ROUND = 0.2


def matrix_product(torch: Any, device: Any, size: int) -> Action:
    a, b = (random_tensor(torch, size, size).to(device) for _ in range(2))
    return lambda: a @ b


def convolution(torch: Any, device: Any, size: int) -> Action:
    x = random_tensor(torch, size, 64, 56, 56).to(device).requires_grad_()
    weight = random_tensor(torch, 64, 64, 3, 3).to(device).requires_grad_()

    def run() -> None:
        x.grad = weight.grad = None
        torch.nn.functional.conv2d(x, weight, padding=1).sum().backward()

    return run


def resnet_step(torch: Any, device: Any, size: int) -> Action:
    model = resnet18(torch).to(device)
    images, labels = random_tensor(torch, size, 3, 224, 224).to(device), random_labels(torch, size, 1000).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def run() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return run


def transformer_step(torch: Any, device: Any, size: int) -> Action:
    torch.manual_seed(0)
    model = torch.nn.TransformerEncoderLayer(768, 12, 3072, dropout=0.1, batch_first=True, norm_first=True).to(device)
    x = random_tensor(torch, size, 512, 768).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    def run() -> None:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    return run


def adam(torch: Any, device: Any, size: int) -> Action:
    parameter = torch.nn.Parameter(random_tensor(torch, size, 1000).to(device))
    parameter.grad = random_tensor(torch, size, 1000).to(device)
    step: Action = torch.optim.Adam([parameter]).step
    return step


WORKLOADS: tuple[tuple[str, Callable[[Any, Any, int], Action], int], ...] = (
    ("matrix product, {0} × {0}", matrix_product, 4096),
    ("convolution 3 × 3, {0} × 64 × 56 × 56, forward + backward", convolution, 32),
    ("ResNet-18 step, {0} × 3 × 224 × 224", resnet_step, 32),
    ("transformer block step, d = 768, 12 heads, T = 512, batch {0}", transformer_step, 16),
    ("Adam, {0},000 parameters", adam, 25_000),
)


def milliseconds(torch: Any, action: Action) -> float:
    """The median over several rounds of a call's time, until the GPU has done its work."""
    for _ in range(2):  # the first compiles
        action()
    torch.cuda.synchronize()
    start = time.perf_counter()
    action()
    torch.cuda.synchronize()
    repeats = max(1, round(SECONDS_A_ROUND / max(time.perf_counter() - start, 1e-6)))
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(repeats):
            action()
        torch.cuda.synchronize()
        rounds.append((time.perf_counter() - start) / repeats)
    return statistics.median(rounds) * 1e3


def pytorch() -> Any:
    """PyTorch, if its build computes on this GPU."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def figures(size: Callable[[int], int] = lambda size: size) -> list[str]:
    """The table of the steps, as lines of Markdown. `size` changes the workloads' sizes."""
    torch = pytorch()
    if torch is not None:  # as minitorch computes: float32 throughout
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    lines = ["| work | minitorch | PyTorch | ÷ |", "|---|--:|--:|--:|"]
    for name, program, full in WORKLOADS:
        own = milliseconds(minitorch, program(minitorch, "cuda", size(full)))
        minitorch.cuda.empty_cache()
        other = milliseconds(torch, program(torch, "cuda", size(full))) if torch is not None else None
        reference = ("not measured", "") if other is None else (f"{other:,.2f} ms", f"**{own / other:.2f}**")
        lines.append(f"| {name.format(size(full))} | {own:,.2f} ms | {reference[0]} | {reference[1]} |")
    return lines


def op_table() -> str:
    """How many tests of the op table pass on the GPU, in a sentence."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--tb=line", *TABLE]
    environment = {**os.environ, "MINITORCH_TEST_ON": "gpu"}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=TABLE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"The op table was not finished after {TABLE_SECONDS} s."
    print(done.stdout)
    return f"The op table: {done.stdout.splitlines()[-1].strip('= ')}."


def main() -> None:
    library = gpus.library()
    if library is None or library.is_simulated:
        sys.exit("make gpu: there is no GPU here, or no CuPy that finds it (pip install cupy-cuda12x)")
    known = minitorch.cuda.get_device_properties(0)
    torch = pytorch()
    other = "PyTorch without this GPU" if torch is None else f"PyTorch {torch.__version__}"
    header = f"{datetime.date.today():%Y-%m-%d} · {known.name} · Python {platform.python_version()}, {other}"
    text = "\n".join([header, "", *figures(), "", op_table()]) + "\n"
    print(text)
    temporary = FILE.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(FILE)


if __name__ == "__main__":
    main()
