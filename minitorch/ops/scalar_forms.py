"""Products and quotients by a number as PyTorch's own functions call them: overloads that Python's operators don't use,
whose nodes have names of their own."""

from __future__ import annotations

from collections.abc import Callable

from minitorch.ops.apply import function_of
from minitorch.ops.declaration import OPS
from minitorch.ops.pointwise import conj
from minitorch.tensor import Tensor

times_number: Callable[[Tensor, float], Tensor] = function_of(
    OPS["mul"].twin("MulBackward1", {"self": lambda grad, other: grad * conj(other)}), with_out=False
)
over_number: Callable[[Tensor, float], Tensor] = function_of(
    OPS["true_divide"].twin("DivBackward1", {"self": lambda grad, other: grad / conj(other)}), with_out=False
)
