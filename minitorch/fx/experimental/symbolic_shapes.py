"""The errors for decisions that depend on data, and for sizes outside the range that was asked for.

Source: torch/fx/experimental/symbolic_shapes.py
"""

from __future__ import annotations


class GuardOnDataDependentSymNode(RuntimeError):  # noqa: N818 - PyTorch's name
    """Python decides something by the data of a tensor, which an exported program doesn't know."""


class ConstraintViolationError(RuntimeError):
    """An example has a size that its own description excludes."""
