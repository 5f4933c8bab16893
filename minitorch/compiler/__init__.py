"""What programs say to the compiler, under its public name.

Source: https://docs.pytorch.org/docs/stable/torch.compiler_api.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch._dynamo.backends import list_backends
from minitorch._dynamo.compiling import compile
from minitorch._dynamo.decorators import allow_in_graph, assume_constant_result, disable, is_compiling, reset

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance",
]  # fmt: skip


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """Whether this runs in an export: False."""
    return False


def cudagraph_mark_step_begin() -> None:
    """Marks the beginning of a step for CUDA graphs, of which there are none."""


def set_stance(stance: str = "default", **options: Any) -> None:
    """Says what compiled functions do: "default", or "force_eager". Raises NotImplementedError for other stances."""
    from minitorch._dynamo import config  # loads nothing: `compile` has

    if stance not in ("default", "force_eager"):
        raise NotImplementedError(f"set_stance({stance!r}): there are 'default' and 'force_eager'")
    config.disable = stance == "force_eager"
