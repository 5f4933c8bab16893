"""How many Python functions a composite function calls before its first op runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import minitorch
import minitorch.nn.functional as F

TARGETS = {"softmax": 3, "conv2d": 15, "cross_entropy": 12, "scaled_dot_product_attention": 25}
"""The most calls before the first op; `tests/dispatch/test_few_calls.py` holds them."""


def programs() -> dict[str, Callable[[], Any]]:
    """The calls that are counted."""
    x, targets = minitorch.randn(4, 5), minitorch.arange(4)
    image, kernel = minitorch.randn(1, 3, 8, 8), minitorch.randn(2, 3, 3, 3)
    query = minitorch.randn(1, 2, 4, 8)
    return {
        "softmax": lambda: F.softmax(x, 1),
        "conv2d": lambda: F.conv2d(image, kernel),
        "cross_entropy": lambda: F.cross_entropy(x, targets),
        "scaled_dot_product_attention": lambda: F.scaled_dot_product_attention(query, query, query),
    }


def calls_before_first_op(program: Callable[[], Any]) -> list[str]:
    """The names of the functions called before the first `apply`, in order. The program has run once before."""
    program()
    names: list[str] = []
    found = False

    def observe(frame: FrameType, event: str, _: object) -> None:
        nonlocal found
        code = frame.f_code
        if event == "call" and not found:
            found = code.co_name == "apply" and code.co_filename.endswith("apply.py")
            names.append(code.co_name)

    sys.setprofile(observe)
    try:
        program()
    finally:
        sys.setprofile(None)
    return names[1:-1]


def report() -> str:
    """The counts as Markdown, with the functions in order."""
    lines = ["| function | calls before the first op | target | which |", "|---|--:|--:|---|"]
    for name, program in programs().items():
        names = calls_before_first_op(program)
        lines.append(f"| {name} | {len(names)} | {TARGETS[name]} | {' '.join(names)} |")
    return "\n".join(lines)
