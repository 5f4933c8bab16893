"""Views that are written to, or whose base is: which writes are forbidden, the history that a view gets then, and
where it lies among the elements of its base.

Source: https://pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minitorch.autograd.grad_mode import enable_grad
from minitorch.autograd.hooks import NodeHooks
from minitorch.bits import CONJUGATE, NEGATIVE

if TYPE_CHECKING:
    from minitorch.autograd.node import Node
    from minitorch.tensor import Tensor

INFERENCE, NO_GRAD, MULTIPLE = "in inference mode", "in no_grad mode", "by a function of several views"
CUSTOM = "inside a custom Function"
"""How a view was made, where that forbids writing to it later."""


def forbidden(view: Tensor, made: str, written: str) -> RuntimeError:
    """The error for a view that was made without a gradient, or beside others, and is written to."""
    node = view._grad_fn
    origin = "A view" if node is None else f"Output {view._output_nr} of {forward_name(node)} is a view"
    if made in (MULTIPLE, CUSTOM) and node is not None:
        message = f"{origin} and {written} modified inplace."
    else:
        mode, since = (made, "in normal mode") if made == INFERENCE else (NO_GRAD, "with grad mode enabled")
        relation = "was created" if node is None else "of a view which was created"
        message = f"{origin} {relation} {mode} and {written} modified inplace {since}."
    if made == MULTIPLE:
        return RuntimeError(
            f"{message} This view is the output of a function that returns multiple views. Such functions do not allow "
            "the output views to be modified inplace. You should replace the inplace operation by an out-of-place one."
        )
    if made == CUSTOM:
        return RuntimeError(
            f"{message} This view was created inside a custom Function (or because an input was returned as-is) and "
            "the autograd logic to handle view+inplace would override the custom backward associated with the custom "
            "Function, leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the "
            "output of the custom Function."
        )
    block = "inference_mode" if made == INFERENCE else "no_grad"
    return RuntimeError(
        f"{message} Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code "
        f"by moving both the view and the inplace either both inside the {block} block (if you don't want the inplace "
        "to be tracked) or both outside (if you want the inplace to be tracked)."
    )


def forward_name(node: Node) -> str:
    """The name of the op that a node differentiates: "Mul" for "MulBackward0", "Pow1" for "PowBackward1"."""
    stem, backward, overload = node.name().rpartition("Backward")
    return stem + overload.removeprefix("0") if backward else overload


def set_history(tensor: Tensor, node: Node) -> None:
    """Makes `node` the history of a tensor. Where its gradient is retained, it is from now on that of the new value."""
    before = tensor._grad_fn
    if tensor._retains_grad and before is not None and before.hooks is not None:
        retained = before.hooks.retained.pop(tensor._output_nr)
        NodeHooks.of(node).retained[0] = retained
    tensor._grad_fn, tensor._output_nr, tensor._requires_grad = node, 0, True


def refresh_view(view: Tensor) -> None:
    """Gives a view a new history that starts at its base as it is now, if the base was written to since."""
    base = view._base
    assert base is not None
    if view._grad_fn is None and not base._requires_grad:
        return
    if view._view_made is not None:
        raise forbidden(view, view._view_made, "its base or another view of its base has been")
    if base._requires_grad:
        node = seen_again(base, view)._grad_fn
    else:  # the view has a history: it keeps one, which leads nowhere
        node = seen_again(base._alias().requires_grad_(), view)._grad_fn
        _cut_off(node)
    assert node is not None
    set_history(view, node)
    view._view_version = base._version


def _cut_off(node: Node | None) -> None:
    """Takes the leaf away at which a chain of nodes ends."""
    while node is not None:
        edge = node.edges[0]
        if edge is None or not edge[0].edges:
            node.edges = (None,)
            return
        node = edge[0]


def seen_again(base: Tensor, view: Tensor) -> Tensor:
    """The view, made anew from its base as it is now: by as few ops as make it, and recorded."""
    with enable_grad():
        part = base
        if base.is_complex() and not view.is_complex():
            part = (part._conj() if part.is_conj() else part)._view_as_real()
        elif view.is_complex() and not base.is_complex():
            (shape, stride), offset = _geometry(view, True)
            part = part.as_strided(shape, stride, offset)._view_as_complex()
        if (part._bits ^ view._bits) & CONJUGATE:
            part = part._conj()
        if (part._bits ^ view._bits) & NEGATIVE:
            part = part._neg_view()
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
        return copy._view_as_real() if self._base_is_complex else copy

    def look(self, whole: Tensor) -> Tensor:
        """The part of it that the view shows."""
        part: Tensor = whole.as_strided(*self._view, self._offsets[1] - self._offsets[0])
        return _in_memory(part._view_as_complex() if self._view_is_complex else part, self._view_bits)

    def replaced(self, whole: Tensor, part: Tensor) -> Tensor:
        """The whole with this part where the view looks, as gradient of the base."""
        part = _in_memory(part, self._view_bits)
        part = part.resolve_conj()._view_as_real() if self._view_is_complex else part
        whole = whole.as_strided_scatter(part, *self._view, self._offsets[1] - self._offsets[0])
        return _in_memory(whole._view_as_complex() if self._base_is_complex else whole, self._base_bits)


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
