"""The error for decisions that depend on data.

Source: torch/fx/experimental/symbolic_shapes.py
"""

from __future__ import annotations


class GuardOnDataDependentSymNode(RuntimeError):  # noqa: N818 - PyTorch's name
    """Python decides something by the data of a tensor, which an exported program doesn't know."""
