"""Lazy modules: they find out their input's size at the first call.

Source: https://pytorch.org/docs/stable/generated/torch.nn.modules.lazy.LazyModuleMixin.html
"""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

from minitorch.autograd.grad_mode import no_grad
from minitorch.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy


class LazyModuleMixin:
    """Comes before the module that it makes lazy; `cls_to_become` is what the module is once it knows its size."""

    cls_to_become: type[Any] | None = None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._await_input()

    def _await_input(self: Any) -> None:
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._persistent_state().items():
            destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Gives the parameters their shapes and first values for these arguments of forward."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self: Any) -> bool:
        """Whether any parameter or buffer has no shape yet."""
        return any(map(is_lazy, itertools.chain(self._parameters.values(), self._buffers.values())))

    def _lazy_load_hook(self: Any, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Before loading: parameters that have a shape in the state dict get it."""
        for name, tensor in itertools.chain(self._parameters.items(), self._buffers.items()):
            source = state_dict.get(prefix + name)
            if tensor is not None and source is not None and is_lazy(tensor) and not is_lazy(source):
                with no_grad():
                    tensor.materialize(source.shape)

    def _infer_parameters(self: Any, module: Any, args: Any, kwargs: Any = None) -> None:
        """Before the first forward: the module finds out its size and becomes an ordinary one."""
        module.initialize_parameters(*args, **kwargs or {})
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


class LazyLayer(LazyModuleMixin):
    """Comes before a layer, whose argument `size` it takes from the first input."""

    size: ClassVar[str]

    def __post_init__(self: Any, *given: Any) -> None:
        setattr(self, self.size, 0)
        super().__post_init__(*given)  # type: ignore[misc]
        self._forget_shapes()
        self._await_input()

    def _forget_shapes(self: Any) -> None:
        for tensors, kind in ((self._parameters, UninitializedParameter), (self._buffers, UninitializedBuffer)):
            for name, tensor in tensors.items():
                if tensor is not None and tensor.dim():  # a number's shape is known
                    tensors[name] = kind(device=tensor.device, dtype=tensor.dtype)

    def reset_parameters(self: Any) -> None:
        if not self.has_uninitialized_params() and getattr(self, self.size):
            super().reset_parameters()  # type: ignore[misc]
