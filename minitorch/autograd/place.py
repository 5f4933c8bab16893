"""Where a view lies among the elements of its base, for the nodes that `inplace` makes."""

from __future__ import annotations

from minitorch.ops.complex import view_as_complex, view_as_real
from minitorch.ops.striding import as_strided_backward
from minitorch.tensor import Tensor


class Place:
    """Where the elements of a view lie among those of its base.

    Where one of the two is complex and the other real, both are seen as real numbers.
    """

    __slots__ = ("_base", "_base_is_complex", "_offsets", "_shape", "_stride", "_view", "_view_is_complex")

    def __init__(self, base: Tensor, view: Tensor) -> None:
        differ = base._dtype.is_complex != view._dtype.is_complex
        self._base_is_complex, self._view_is_complex = differ and base.is_complex(), differ and view.is_complex()
        self._shape, self._stride = base._array.shape, base.stride()
        self._base, start = _geometry(base, self._base_is_complex)
        self._view, offset = _geometry(view, self._view_is_complex)
        first = min(start, offset)
        self._offsets = start - first, offset - first

    def copy_of_base(self, grad: Tensor) -> Tensor:
        """The gradient of the base in the base's own strides, seen so that the view can look at it."""
        copy: Tensor = grad.new_empty_strided(self._shape, self._stride).copy_(grad)
        return view_as_real(copy) if self._base_is_complex else copy

    def look(self, whole: Tensor) -> Tensor:
        """The part of it that the view shows."""
        part: Tensor = whole.as_strided(*self._view, self._offsets[1] - self._offsets[0])
        return view_as_complex(part) if self._view_is_complex else part

    def replaced(self, whole: Tensor, part: Tensor) -> Tensor:
        """The whole with this part where the view looks, as gradient of the base."""
        part = view_as_real(part) if self._view_is_complex else part
        whole = whole.as_strided_scatter(part, *self._view, self._offsets[1] - self._offsets[0])
        return view_as_complex(whole) if self._base_is_complex else whole

    def back(self, grad: Tensor) -> Tensor:
        """The gradient of the base, given that of the view."""
        grad = view_as_real(grad) if self._view_is_complex else grad
        source, target = ((*each, offset) for each, offset in zip((self._base, self._view), self._offsets, strict=True))
        whole: Tensor = as_strided_backward(grad, source, target)
        return view_as_complex(whole) if self._base_is_complex else whole


def _geometry(tensor: Tensor, as_real: bool) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], int]:
    """Shape and strides, and the offset in the storage; on demand those of the tensor's `view_as_real`."""
    shape, stride, offset = tensor._array.shape, tensor.stride(), tensor.storage_offset()
    if as_real:
        return ((*shape, 2), (*[2 * step for step in stride], 1)), 2 * offset
    return (shape, stride), offset
