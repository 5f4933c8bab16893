"""Tensors of `vmap`: many examples that look like one.

A `Batched` has the shape of one example; `_value` holds all of them, along its first dimension. Its `_array` is one of
the meta device, so that whatever runs past the layers fails instead of computing with one example. Each `vmap` is a
layer, and a tensor knows the layer, its *level*, that maps over it; where calls are nested, the value of an inner
level's tensor may itself belong to an outer level.
Source: https://docs.pytorch.org/docs/stable/func.ux_limitations.html
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from minitorch.arrays.meta_array import ndarray
from minitorch.arrays.meta_places import place
from minitorch.dispatch import layers
from minitorch.dispatch.overriding import disabled
from minitorch.tensor import Tensor

_IN_TRANSFORM = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of "
    "a function being transformed by a functorch transform. This is unsupported, please attempt to use the functorch "
    "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being "
    "transformed instead."
)


_NO_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
    "internals, please file a bug report."
)
_NO_STORAGE = "Cannot access data pointer of Tensor that doesn't have storage"


class Level:
    """One running `vmap`, as the layer that it is."""

    size: int
    """How many examples there are."""

    def __call__(self, op: Any, args: Sequence[Any], below: layers.Below) -> Any:
        raise NotImplementedError

    def draw(self, create: Callable[[], Tensor]) -> Tensor:
        """A new random tensor, or one for each example, of those that `create` makes."""
        raise NotImplementedError

    def run_function(self, function: Any, args: Sequence[Any]) -> Any:
        """What a user-defined `autograd.Function` computes of arguments of this level."""
        raise NotImplementedError

    def run_operator(self, operator: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What an operator of `torch.library` computes of arguments of this level."""
        raise NotImplementedError


class Batched(Tensor):
    """All examples of a `vmap`, seen as one. Autograd records what is done to the value."""

    __slots__ = ("_level", "_value")
    __torch_function__: Any = classmethod(disabled)

    _value: Tensor
    _level: Level

    @property
    def requires_grad(self) -> bool:
        return self._value.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> NoReturn:
        raise RuntimeError(_IN_TRANSFORM)

    @property
    def _bits(self) -> int:
        return self._value._bits

    @_bits.setter
    def _bits(self, bits: int) -> None:
        self._value._bits = bits

    @property
    def grad_fn(self) -> Any:
        return self._value.grad_fn

    def detach(self) -> Tensor:
        return batched(self._value.detach(), self._level)

    def _alias(self) -> Tensor:
        return batched(self._value._alias(), self._level)

    def become(self, other: Any) -> Batched:
        """Takes over the value of a view. In-place operations that change the shape, such as `squeeze_`, end here."""
        self._value, self._array = other._value, other._array
        return self

    @property
    def _elements(self) -> NoReturn:
        raise RuntimeError(_NO_STORAGE)

    def _put(self, array: Any) -> NoReturn:
        raise RuntimeError(_NO_STORAGE)

    def numpy(self, *, force: bool = False) -> NoReturn:
        raise RuntimeError(_NO_STORAGE)

    def untyped_storage(self) -> NoReturn:
        raise RuntimeError(_NO_STORAGE)

    def item(self) -> NoReturn:
        raise RuntimeError(_NO_ITEM)

    def tolist(self) -> NoReturn:
        raise RuntimeError(_NO_STORAGE)

    def __bool__(self) -> NoReturn:
        raise RuntimeError(
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't "
            "support that yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
        )

    def backward(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )

    def __repr__(self) -> str:
        number = levels().index(self._level) + 1 if self._level in levels() else "dead"
        value = textwrap.indent(repr(self._value), "    ")
        return f"BatchedTensor(lvl={number}, bdim=0, value=\n{value}\n)"


def levels() -> tuple[Level, ...]:
    """The running `vmap`s of this thread, the outermost first."""
    return tuple(each for each in layers.stack.layers if isinstance(each, Level))


def batched(value: Tensor, level: Level) -> Batched:
    """The slices of a tensor along its first dimension as one tensor of a level."""
    array = value._array
    tensor: Batched = object.__new__(Batched)
    tensor._value, tensor._level = value, level
    tensor._array = ndarray(place(array.shape[1:], array.dtype, array.strides[1:]))
    tensor._dtype, tensor._device = value._dtype, value._device
    tensor._storage = tensor._counter = tensor._base = tensor._grad_fn = None
    tensor._requires_grad, tensor._holders = False, 0
    return tensor


def unbatched(tensor: Tensor, level: Level) -> Tensor:
    """A tensor with the examples of a level as its first dimension. One that is the same for all is expanded."""
    if not isinstance(tensor, Batched):
        return tensor.expand(level.size, *tensor.shape)
    if tensor._level is level:
        return tensor._value
    return batched(unbatched(tensor._value, level).transpose(0, 1), tensor._level)


def lowered(tensor: Tensor, outer: Sequence[Level]) -> Tensor:
    """A tensor with the examples of several levels as its first dimensions, those of the outermost first."""
    for level in reversed(outer):
        tensor = unbatched(tensor, level)
    return tensor


def drawn(create: Callable[[], Tensor]) -> Tensor:
    """The random numbers that `create` makes, as the innermost of the running `vmap`s wants them."""
    return levels()[-1].draw(create)


def spread(tensor: Tensor, like: Tensor) -> Tensor:
    """A new tensor as one of the levels of another, with the same elements for all examples."""
    outer: list[Level] = []
    while isinstance(like, Batched):
        outer.insert(0, like._level)
        like = like._value
    if not outer:
        return tensor
    with layers.without(outer):
        for level in reversed(outer):
            span = 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
            memory = tensor.new_empty_strided((level.size, *tensor.shape), (span, *tensor.stride()))
            tensor = memory.copy_(tensor)
        return raised(tensor, outer)


def raised(tensor: Tensor, outer: Sequence[Level]) -> Tensor:
    """The inverse of `lowered`: a tensor of these levels, and of the inner ones that it may belong to."""
    if isinstance(tensor, Batched) and outer:
        inside = tensor._value
        for position in range(len(outer)):
            inside = inside.transpose(position, position + 1)
        return batched(raised(inside, outer), tensor._level)
    for level in outer:
        tensor = batched(tensor, level)
    return tensor
