"""Tensors that a Module recognises as its own: parameters and buffers.

Source: https://pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
"""

from __future__ import annotations

from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.dispatch.declaration import METHODS
from minitorch.dispatch.overriding import disabled
from minitorch.ops.creation.filled import empty
from minitorch.printing import parameter_repr
from minitorch.tensor import Tensor, _as_subclass, _TensorType


class _ParameterType(_TensorType):
    def __instancecheck__(self, instance: Any) -> bool:
        return super().__instancecheck__(instance) or (
            self is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)
        )


class Parameter(Tensor, metaclass=_ParameterType):
    """A leaf tensor that becomes a parameter of the module it is assigned to. It shares the memory of `data`."""

    __slots__ = ()
    __torch_function__: Any = classmethod(disabled)

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = Tensor()
        if requires_grad and not data.dtype.is_differentiable:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        if type(data) not in (Tensor, Parameter):
            # A subclass keeps its type: the mark makes it a parameter.
            tensor: Any = _as_subclass(data.detach(), type(data)).requires_grad_(requires_grad)
            tensor._is_param = True
            return tensor
        return _as_subclass(data.detach(), cls).requires_grad_(requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    __repr__ = parameter_repr


class _BufferType(_TensorType):
    def __instancecheck__(self, instance: Any) -> bool:
        return super().__instancecheck__(instance) or (
            self is Buffer and isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)
        )


class Buffer(Tensor, metaclass=_BufferType):
    """A tensor that becomes a buffer of the module it is assigned to; only a persistent one is in the state dict."""

    __slots__ = ()
    __torch_function__: Any = classmethod(disabled)

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = Tensor()
        buffer: Any = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


class UninitializedTensorMixin:
    """What lazy modules have before they know a shape: a tensor of which only dtype and device are known."""

    __slots__ = ()
    __torch_function__: Any = classmethod(disabled)

    _of: type

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Makes this an ordinary parameter or buffer of the given shape, with arbitrary values."""
        tensor: Any = self
        with no_grad():
            tensor.data = empty(
                shape,
                dtype=tensor.dtype if dtype is None else dtype,
                device=tensor.device if device is None else device,
            )
        tensor.__class__ = self._of

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> Tensor:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return type(self), (self.requires_grad,)


_ALLOWED = (
    "copy_ is_complex is_floating_point half float double char short int long cuda cpu to get_device size materialize "
    "share_memory_ __repr__ __reduce_ex__ __torch_function__ _make_subclass _make_wrapper_subclass"
)


def _refused(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(
            f"Attempted to use an uninitialized parameter in <method '{name}' of 'torch._C.TensorBase' objects>. This "
            "error happens when you are using a `LazyModule` or explicitly manipulating "
            f"`torch.nn.parameter.{type(self).__name__}` objects. When using LazyModules Call `forward` with a dummy "
            "batch to initialize the parameters before calling torch functions"
        )

    return method


for _name in {name for name in dir(Tensor) if name[0] != "_" or name in METHODS} - set(_ALLOWED.split()):
    if callable(getattr(Tensor, _name)):
        setattr(UninitializedTensorMixin, _name, _refused(_name.strip("_") if _name[:2] == "__" else _name))


def _uninitialized(cls: type, requires_grad: bool, device: Any, dtype: Any) -> Any:
    return Tensor.requires_grad_(_as_subclass(empty(0, device=device, dtype=dtype), cls), requires_grad)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape its module finds out at the first input. Its elements can't be used before that."""

    __slots__ = ()

    _of = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return _uninitialized(cls, requires_grad, device, dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedParameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape its module finds out at the first input."""

    __slots__ = ()

    _of = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        buffer = _uninitialized(cls, requires_grad, device, dtype)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)
