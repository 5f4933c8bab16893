"""Backends that count.

Source: torch/_dynamo/testing.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class CompileCounter:
    """A backend that counts the graphs that it gets (`frame_count`) and their operations (`op_count`)."""

    def __init__(self) -> None:
        self.clear()

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        self.frame_count += 1
        self.op_count += sum(each.op.startswith("call") for each in gm.graph.nodes)
        return gm.forward

    def clear(self) -> None:
        """Begins again."""
        self.frame_count = self.op_count = 0
