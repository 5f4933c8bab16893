"""Parameters: the tensors that training changes."""

# 09 · Modules and parameters
from __future__ import annotations

import copy
from typing import Any

from .. import Tensor, empty


class Parameter(Tensor):
    """A leaf on the memory of `data` that becomes a parameter of the module it is assigned to."""

    def __init__(self, data: Tensor, requires_grad: bool = True) -> None:
        super().__init__(data.storage, data.shape, data.strides, data.offset)
        self.requires_grad = requires_grad

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class UninitializedParameter(Parameter):
    """A parameter whose shape its module learns from the first input."""

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(empty(0, device=device, dtype=dtype), requires_grad)

    def materialize(self, shape: tuple[int, ...]) -> None:
        """Become an ordinary parameter of this shape, with arbitrary numbers."""
        self.__class__ = Parameter  # type: ignore[assignment]
        self.data = empty(shape, device=self.device, dtype=self.dtype)

    def detach(self) -> Tensor:
        """Itself: there is nothing to share yet."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return memo.setdefault(id(self), UninitializedParameter(self.requires_grad, self.device, self.dtype))

    def __repr__(self) -> str:
        return "<UninitializedParameter>"


def _has_no_shape(_: Tensor) -> Any:
    what = "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in"
    when = "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` to"
    raise RuntimeError(f"{what} {when} initialize the parameters before accessing their attributes.")


UninitializedParameter.shape = property(_has_no_shape, lambda x, size: None)  # type: ignore[assignment]


def _deepcopy(x: Tensor, memo: dict[int, Any]) -> Tensor:
    """A copy of a leaf; tensors that share a storage share its copy."""
    if not x.is_leaf:
        rule = "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment."
        cause = "If you were attempting to deepcopy a module, this may be because of a nn.utils.weight_norm usage"
        raise RuntimeError(f"{rule}  {cause}, see https://github.com/pytorch/pytorch/pull/103001")
    made = Tensor.__new__(type(x))
    Tensor.__init__(made, copy.deepcopy(x.storage, memo), x.shape, x.strides, x.offset)
    memo[id(x)] = made.requires_grad_(x.requires_grad)
    return made


Tensor.__deepcopy__ = _deepcopy
