"""A tensor's place in the graph of autograd: whether it requires a gradient, its gradient, its history, its version."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, cast

from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.hooks import Hooks, RemovableHandle, register_tensor_hook, retain_grad
from minitorch.autograd.views import refresh_view
from minitorch.dtypes import FLOATING, c_type_name, type_name

if TYPE_CHECKING:
    from minitorch.arrays import Array
    from minitorch.autograd.node import AccumulateGrad, Node
    from minitorch.devices import device
    from minitorch.dtypes import dtype
    from minitorch.tensor import Tensor


class VersionCounter:
    """How often a tensor's memory was written to; all views of it share one counter."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


UNTRACKED = VersionCounter()
"""The counter of all inference tensors, which don't track their version: that is what makes them inference tensors."""


def _extra(name: str, default: Any = None) -> Any:
    """An attribute that few tensors have: until it is set it reads as the default, and takes no memory."""

    def read(self: Differentiable) -> Any:
        return default if self._extras is None else self._extras.get(name, default)

    def write(self: Differentiable, value: Any) -> None:
        if self._extras is None:
            self._extras = {}
        self._extras[name] = value

    return property(read, write)


class Differentiable:
    """The part of Tensor that autograd deals with."""

    __slots__ = (
        "__dict__",  # what the user has set, and nothing else
        "__weakref__",
        "_base",
        "_counter",
        "_extras",
        "_grad_fn",
        "_holders",
        "_output_nr",
        "_requires_grad",
        "_view_made",
        "_view_version",
    )

    if TYPE_CHECKING:  # what Tensor adds
        _array: Array
        _device: device
        _dtype: dtype

    _base: Tensor | None
    _counter: VersionCounter | None
    _grad_fn: Node | None
    _requires_grad: bool
    _output_nr: int
    _holders: int
    """Of a gradient that nobody outside a backward pass can see: in how many places the pass keeps it. Otherwise 0."""
    _view_version: int
    _view_made: str | None
    """Of a view that may not be written to while gradients are recorded, how it was made. Only views have these two."""
    _extras: dict[str, Any] | None
    """What few tensors have: the attributes below, once they are set. So that other tensors are made faster."""

    _grad: Tensor | None = _extra("grad")
    _accumulator: Callable[[], AccumulateGrad | None] | None = _extra("accumulator")
    """What gives a leaf's AccumulateGrad, if there is one: a weak reference."""
    _hooks: Hooks | None = _extra("hooks")
    _post_accumulate_hooks: Hooks | None = _extra("post_accumulate_hooks")
    _retains_grad: bool = _extra("retains_grad", False)

    @property
    def requires_grad(self) -> bool:
        """Returns whether operations on this tensor are recorded, a bool. Raises RuntimeError if set on a non-leaf."""
        return self._requires_grad or (self._base is not None and self._base._requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        if value and not self.is_leaf:
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        if value and self._dtype.category < FLOATING:
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Has operations on this leaf recorded from now on, or not. Returns the tensor itself.

        Raises TypeError for what is no bool; RuntimeError for integers, non-leaves and inference tensors.
        """
        if not isinstance(requires_grad, bool):
            kind = type(requires_grad).__name__
            raise TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {kind}")
        if self._grad_fn is not None and not requires_grad:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in "
                "a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        if requires_grad and self._dtype.category < FLOATING:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if requires_grad and self._counter is UNTRACKED and not grad_mode.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        self._requires_grad = requires_grad
        return self

    @property
    def grad_fn(self) -> Node | None:
        """Returns the node that made this tensor, a function from its gradient to the inputs'; None for leaves."""
        if self._base is not None and self._counter is not None and self._view_version != self._counter.value:
            refresh_view(cast("Tensor", self))
        return self._grad_fn

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor; backward passes fill the `grad` of leaves. Returns a bool."""
        return self.grad_fn is None

    @property
    def output_nr(self) -> int:
        """Which output of its `grad_fn` the tensor is; 0 for a leaf. Returns an int."""
        return self._output_nr

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have added up so far, of this tensor's shape, dtype and device.

        Returns a tensor, or None before the first pass; warns for a tensor that is no leaf and doesn't retain its own.
        Setting it raises TypeError for what is no tensor, and RuntimeError for another shape, dtype or device.
        """
        if self._grad is None and self._requires_grad and self._grad_fn is not None and not self._retains_grad:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated for "
                "a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by "
                "mistake, make sure you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for "
                "more information.",
                UserWarning,
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, grad: Tensor | None) -> None:
        if grad is None:
            self._grad = None
            return
        if not isinstance(grad, Differentiable):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(grad).__name__}")
        if grad is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if grad._dtype is not self._dtype:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{c_type_name(grad._array)}' to a tensor with grad_dtype "
                f"'{type_name(self._array)}'. The gradient must match the tensor's grad_dtype (defaults to the "
                "tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to "
                "allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may "
                "break downstream systems that assume they match."
            )
        if grad._device is not self._device:
            raise RuntimeError(
                f"attempting to assign a gradient with device type '{grad._device.type}' to a tensor with device type "
                f"'{self._device.type}'. Please ensure that the gradient and the tensor are on the same device"
            )
        if grad._array.shape != self._array.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(grad.shape)}' to a tensor of size "
                f"'{list(self._array.shape)}'. Please ensure that the gradient and the tensor are the same size"
            )
        self._grad = grad

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def retain_grad(self) -> None:
        """Has backward passes fill the `grad` of this tensor, of its shape and dtype, though it is no leaf.

        Of a leaf nothing changes. Returns None. Raises RuntimeError for a tensor that requires no gradient.
        """
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self._grad_fn is None or self._retains_grad:
            return
        retain_grad(cast("Tensor", self))
        self._retains_grad = True

    @property
    def retains_grad(self) -> bool:
        """Whether the tensor isn't a leaf and `retain_grad` was called. Returns a bool."""
        return self._retains_grad

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Has the function `hook(grad)` called whenever the gradient of this tensor is known; a result replaces it.

        Returns a handle, whose `remove()` takes the hook away. Raises RuntimeError for a tensor that requires no
        gradient.
        """
        return register_tensor_hook(cast("Tensor", self), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Has the function `hook(self)` called after a backward pass has added to the `grad` of this leaf.

        Returns a handle, whose `remove()` takes the hook away. Raises RuntimeError for a tensor that requires no
        gradient or that an operation made.
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if self._post_accumulate_hooks is None:
            self._post_accumulate_hooks = {}
        return RemovableHandle(self._post_accumulate_hooks, hook)

    def detach_(self) -> Self:
        """Cuts this tensor off from its history, and returns it, of the same shape and memory.

        Raises RuntimeError for views.

        Source: https://pytorch.org/docs/stable/generated/torch.Tensor.detach_.html
        """
        if self._base is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                "detach_() cannot be called on these gradients. To fix this error, please refer to the "
                "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
            )
        self._grad_fn, self._output_nr, self._requires_grad = None, 0, False
        return self

    @property
    def _version(self) -> int:
        if self._counter is UNTRACKED:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._counter is None else self._counter.value

    def is_inference(self) -> bool:
        """Whether this tensor was made in inference mode: it can't take part in what autograd records.

        Returns a bool. Source: https://pytorch.org/docs/stable/generated/torch.is_inference.html
        """
        return self._counter is UNTRACKED

    def _bump_version(self) -> None:
        if self._counter is None:
            self._counter = VersionCounter()
        if self._counter is not UNTRACKED:
            self._counter.value += 1

    def _is_view(self) -> bool:
        """Whether this tensor is a differentiable view of another."""
        return self._base is not None
