"""Where a view lies among the elements of its base, for the histories that `inplace` gives the two."""

from __future__ import annotations

from minitorch.autograd.grad_mode import enable_grad
from minitorch.bits import CONJUGATE, NEGATIVE
from minitorch.ops.complex import view_as_complex, view_as_real
from minitorch.ops.conjugation import _conj, _neg_view, is_conj
from minitorch.tensor import Tensor


def seen_again(base: Tensor, view: Tensor) -> Tensor:
    """The view, made anew from its base as it is now: by as few ops as make it, and recorded."""
    with enable_grad():
        part = base
        if base.is_complex() and not view.is_complex():
            part = view_as_real(_conj(part) if is_conj(part) else part)
        elif view.is_complex() and not base.is_complex():
            (shape, stride), offset = _geometry(view, True)
            part = view_as_complex(part.as_strided(shape, stride, offset))
        if (part._bits ^ view._bits) & CONJUGATE:
            part = _conj(part)
        if (part._bits ^ view._bits) & NEGATIVE:
            part = _neg_view(part)
        if part is base or _geometry(part) != _geometry(view):
            (shape, stride), offset = _geometry(view)
            part = part.as_strided(shape, stride, offset)
    return part


class Place:
    """Where the elements of a view lie among those of its base.

    Where one of the two is complex and the other real, both are seen as real numbers. A gradient is that of what lies
    in memory while it is looked at: of a conjugate view it is the conjugate, of a negative one the negative.
    """

    __slots__ = (
        "_base", "_base_bits", "_base_is_complex", "_offsets", "_shape", "_stride", "_view", "_view_bits",
        "_view_is_complex",
    )  # fmt: skip

    def __init__(self, base: Tensor, view: Tensor) -> None:
        differ = base._dtype.is_complex != view._dtype.is_complex
        self._base_is_complex, self._view_is_complex = differ and base.is_complex(), differ and view.is_complex()
        self._base_bits, self._view_bits = base._bits, view._bits
        self._shape, self._stride = base._array.shape, base.stride()
        self._base, start = _geometry(base, self._base_is_complex)
        self._view, offset = _geometry(view, self._view_is_complex)
        first = min(start, offset)
        self._offsets = start - first, offset - first

    def copy_of_base(self, grad: Tensor) -> Tensor:
        """The gradient of the base in the base's own strides, seen so that the view can look at it."""
        copy: Tensor = grad.new_empty_strided(self._shape, self._stride).copy_(_in_memory(grad, self._base_bits))
        return view_as_real(copy) if self._base_is_complex else copy

    def look(self, whole: Tensor) -> Tensor:
        """The part of it that the view shows."""
        part: Tensor = whole.as_strided(*self._view, self._offsets[1] - self._offsets[0])
        return _in_memory(view_as_complex(part) if self._view_is_complex else part, self._view_bits)

    def replaced(self, whole: Tensor, part: Tensor) -> Tensor:
        """The whole with this part where the view looks, as gradient of the base."""
        part = _in_memory(part, self._view_bits)
        part = view_as_real(part.resolve_conj()) if self._view_is_complex else part
        whole = whole.as_strided_scatter(part, *self._view, self._offsets[1] - self._offsets[0])
        return _in_memory(view_as_complex(whole) if self._base_is_complex else whole, self._base_bits)


def _in_memory(grad: Tensor, bits: int) -> Tensor:
    """The gradient of what lies in the memory of a tensor with these bits, given that of the tensor; or the reverse."""
    if bits & CONJUGATE:
        grad = grad.conj_physical()
    return grad.neg() if bits & NEGATIVE else grad


def _geometry(tensor: Tensor, as_real: bool = False) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], int]:
    """Shape and strides, and the offset in the storage; on demand those of the tensor's `view_as_real`."""
    shape, stride, offset = tensor._array.shape, tensor.stride(), tensor.storage_offset()
    if as_real:
        return ((*shape, 2), (*[2 * step for step in stride], 1)), 2 * offset
    return (shape, stride), offset
