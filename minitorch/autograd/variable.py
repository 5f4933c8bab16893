"""`Variable`, the name that tensors with a history had before PyTorch 0.4.

Source: https://pytorch.org/docs/stable/autograd.html#variable-deprecated
"""

from __future__ import annotations

import warnings
from typing import Any

from minitorch.autograd.engine import queue_callback
from minitorch.tensor import Tensor

__all__ = ["Variable"]


class VariableMeta(type):
    """Every tensor is a Variable."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class _Engine:
    """What programs know of the engine: `queue_callback(function)` has it called when the backward pass ends."""

    queue_callback = staticmethod(queue_callback)


class Variable(metaclass=VariableMeta):
    """`Variable(data, requires_grad)` is a tensor on the memory of `data`, a leaf."""

    _execution_engine = _Engine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        if volatile:
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", stacklevel=2
            )
        if data is None:
            return Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)
