"""The learner's library beside minitorch: the same steps, the calls that one operation takes, and the import."""

from __future__ import annotations

import inspect
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import minitorch
import minitorch.models.gpt
from benchmarks.measure import least_seconds
from benchmarks.workloads import Action
from course.source.assemble import as_of, read

SOLUTIONS = Path(__file__).parents[1] / "solutions"
TARGETS = {"x * w": 35, ".sum()": 33, ".backward()": 160}
"""Python calls at most, for two tensors of shape (2, 2) that require gradients."""
MOST_LINES = {16: 5700, 25: 8100}
"""Non-blank lines at most, as of a chapter. docs/mytorch.md says what the first 5,200 have grown by."""


def calls_of(action: Callable[[], Any]) -> tuple[Any, int]:
    """What an action returns, and how many Python functions it calls."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        result = action()
    finally:
        sys.setprofile(None)
    return result, count - 1  # the action itself


def calls(torch: Any) -> dict[str, int]:
    """Python calls of a product, its sum and its backward pass, on fresh tensors, after a warm-up."""
    for _ in range(2):
        x, w = (torch.tensor([[1.0, 2.0], [3.0, 4.0]]).requires_grad_() for _ in range(2))
        product, first = calls_of(lambda x=x, w=w: x * w)
        total, second = calls_of(lambda product=product: product.sum())
        _, third = calls_of(lambda total=total: total.backward())
    return dict(zip(TARGETS, (first, second, third), strict=True))


def gpt_step(torch: Any) -> Action:
    """A training step of a GPT with 2 blocks of width 32, on a batch of 8 times 32 tokens."""
    model = ModuleType("gpt")
    sys.modules["gpt"] = model  # its dataclass looks there
    text = inspect.getsource(minitorch.models.gpt).replace("minitorch", torch.__name__)
    exec(compile(text, "gpt", "exec"), vars(model))
    torch.manual_seed(0)
    gpt = model.GPT(model.GPTConfig(block_size=32, vocab_size=64, n_layer=2, n_head=4, n_embd=32))
    optimizer = torch.optim.AdamW(gpt.parameters(), lr=1e-3)
    tokens, following = torch.tensor(np.random.default_rng(0).integers(0, 64, (2, 8, 32)).tolist())

    def step() -> None:
        optimizer.zero_grad()
        gpt(tokens, following)[1].backward()
        optimizer.step()

    return step


def mlp_step(torch: Any) -> Action:
    """A training step of a 64-64-10 network, on a batch of 64."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(64, 64), torch.randint(0, 10, (64,))

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


STEPS = (("GPT step: 2 blocks, width 32", 2.0, gpt_step), ("MLP step: 64-64-10", 3.0, mlp_step))
"""A name, the time at most as a multiple of minitorch's, and the program."""

_IMPORT = """
import json, sys, time
import numpy, ml_dtypes
sys.path.insert(0, sys.argv[1])
start = time.process_time()
import mytorch
print(json.dumps(time.process_time() - start))
"""


def import_milliseconds(runs: int = 7) -> float:
    """Processor time of `import mytorch` after NumPy, its bytecode cached: the median of fresh interpreters."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", _IMPORT, str(SOLUTIONS)]
    seconds = [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)
        for _ in range(runs + 1)
    ]
    return statistics.median(seconds[1:]) * 1e3  # the first run compiles


def non_blank_lines(chapter: int) -> int:
    """How long the package is as of a chapter."""
    files = as_of(read(SOLUTIONS / "mytorch"), chapter)
    return sum(bool(line.strip()) for text in files.values() for line in text.splitlines())


def report() -> str:
    """The figures as Markdown."""
    sys.path.insert(0, str(SOLUTIONS))
    import mytorch

    lines = ["| Python calls, (2, 2) tensors | mytorch | minitorch | target |", "|---|--:|--:|--:|"]
    mine, theirs = calls(mytorch), calls(minitorch)
    lines += [f"| `{name}` | {mine[name]} | {theirs[name]} | ≤ {most} |" for name, most in TARGETS.items()]
    lines += ["", "| time of a step | mytorch | minitorch | ÷ | target |", "|---|--:|--:|--:|--:|"]
    for name, target, program in STEPS:
        least = least_seconds({"mytorch": program(mytorch), "minitorch": program(minitorch)}, 2.0)
        own, reference = least["mytorch"], least["minitorch"]
        lines.append(
            f"| {name} | {own * 1e3:.2f} ms | {reference * 1e3:.2f} ms | **{own / reference:.2f}** | ≤ {target} |"
        )
    lines += ["", f"Import after NumPy: {import_milliseconds():.0f} ms (target < 70)."]
    for chapter, most in MOST_LINES.items():
        lines.append(f"Non-blank lines through chapter {chapter}: {non_blank_lines(chapter):,} (target ≤ {most:,}).")
    return "\n".join(lines) + "\n"
