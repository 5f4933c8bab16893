"""Programs for a predict round: their numbers are drawn from a seed, and what they show is found by running them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Program:
    """A short program with a trap. `{…}` in its text are the drawn numbers; its last line is the value to predict."""

    name: str
    chapter: str
    text: str
    choices: Mapping[str, tuple[Any, ...]]
    says: str

    def drawn(self, rng: np.random.Generator) -> str:
        """The program with numbers in it."""
        numbers = {name: values[int(rng.integers(len(values)))] for name, values in self.choices.items()}
        return self.text.format(**numbers)


def run(program: str) -> str:
    """What the last line of a program gives, as text."""
    *lines, last = program.strip().splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    return said(eval(last, names))


def said(value: Any) -> str:
    """A value as a prediction is written: shapes and lists alike, numbers without last digits."""
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(said(each) for each in value)}]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def same(given: str, right: str) -> bool:
    """Whether a prediction is right; brackets, quotes, spaces and `torch.Size` don't count, nor does 3 for 3.0."""
    return _words(given) == _words(right)


def _words(text: str) -> list[str]:
    for sign in "()[],'\"":
        text = text.replace(sign, " ")
    given = [word.removeprefix("torch.") for word in text.lower().split()]
    return [_number(word) for word in given if word not in ("size", "tensor")]


def _number(word: str) -> str:
    try:
        return f"{float(word):.4g}"
    except ValueError:
        return word


PROGRAMS = (
    Program(
        "strides of a transposed view",
        "03",
        "import minitorch as torch\nx = torch.zeros({a}, {b}, {c})\nx.transpose(0, 2).stride()",
        {"a": (2, 3, 4), "b": (3, 5, 6), "c": (2, 4, 7)},
        "No number moves. The strides of the two dimensions change places.",
    ),
    Program(
        "a column minus a row",
        "04",
        "import minitorch as torch\nprediction, target = torch.zeros({n}, 1), torch.ones({n})\n"
        "((prediction - target) ** 2).numel()",
        {"n": (3, 5, 8, 12)},
        "(n, 1) and (n,) broadcast to (n, n): the loss of every prediction against every target.",
    ),
    Program(
        "two calls of backward",
        "06",
        "import minitorch as torch\nx = torch.tensor({x}, requires_grad=True)\nfor _ in range({times}):\n"
        "    (x * x).backward()\nx.grad.item()",
        {"x": (2.0, 3.0, 5.0), "times": (2, 3, 4)},
        "`backward` adds to `.grad`. Nothing clears it in between.",
    ),
    Program(
        "which type wins",
        "02b",
        "import minitorch as torch\nx = torch.ones({size}, dtype=torch.{a})\ny = torch.ones({other}, dtype=torch.{b})\n"
        "str((x + y).dtype)",
        {
            "size": (2, 3),
            "other": (1, "()"),
            "a": ("uint8", "int32", "float16", "bfloat16"),
            "b": ("int64", "float32", "float64"),
        },
        "A tensor without dimensions decides only if its kind is higher, as floating point is above integers.",
    ),
    Program(
        "a view and a write",
        "03",
        "import minitorch as torch\nx = torch.zeros({rows}, {columns})\nx.t().reshape(-1)[0] = 1\n"
        "x.view(-1)[1] = {value}\n"
        "x.sum().item()",
        {"rows": (2, 3, 4), "columns": (3, 5), "value": (2, 4, 5)},
        "`reshape` of the transposed view copies, so the first write is lost; `view` writes into x.",
    ),
    Program(
        "batch norm's running mean",
        "12",
        "import minitorch as torch\nnorm = torch.nn.BatchNorm1d(1, momentum={momentum})\nfor _ in range({steps}):\n"
        "    norm(torch.tensor([[{low}], [{high}]]))\nnorm.running_mean.item()",
        {"momentum": (0.1, 0.5), "steps": (1, 2), "low": (1.0, 3.0), "high": (5.0, 9.0)},
        "running = (1 − momentum) · running + momentum · batch mean, from 0.",
    ),
    Program(
        "the rate after some epochs",
        "17",
        "import minitorch as torch\noptimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr={rate})\n"
        "scheduler = torch.optim.lr_scheduler.StepLR(optimizer, {size}, gamma=0.5)\nfor _ in range({epochs}):\n"
        "    optimizer.step()\n    scheduler.step()\noptimizer.param_groups[0]['lr']",
        {"rate": (0.8, 1.0, 2.0), "size": (2, 3), "epochs": (3, 5, 6, 7)},
        "The rate is halved once for each full `step_size` of epochs.",
    ),
    Program(
        "batches of a sharded loader",
        "18",
        "import minitorch as torch\nfrom minitorch.utils.data import DataLoader, DistributedSampler\n"
        "data = list(range({items}))\nsampler = DistributedSampler(data, num_replicas={ranks}, rank=0)\n"
        "[len(batch) for batch in DataLoader(data, batch_size={size}, sampler=sampler)]",
        {"items": (10, 17, 25), "ranks": (2, 3, 4), "size": (3, 4)},
        "Each rank gets items / ranks, rounded up by repeating some; then the batches are cut.",
    ),
    Program(
        "chunks for GPUs",
        "23",
        "import minitorch as torch\n[len(piece) for piece in torch.zeros({rows}, 2).chunk({gpus})]",
        {"rows": (5, 6, 9, 10, 13), "gpus": (4, 8)},
        "`chunk` cuts pieces of ⌈rows / n⌉, so that there may be fewer of them than asked for.",
    ),
    Program(
        "the size of a convolution's output",
        "11",
        "import minitorch as torch\nlayer = torch.nn.Conv2d(3, {out}, {kernel}, stride={stride}, padding={padding})\n"
        "layer(torch.zeros(1, 3, {side}, {side})).shape",
        {"out": (4, 8), "kernel": (3, 5), "stride": (1, 2, 3), "padding": (0, 1, 2), "side": (16, 17, 28)},
        "⌊(side + 2 · padding − kernel) / stride⌋ + 1, for height and width.",
    ),
)
