"""Lazy modules: they learn the size of their input from the first one."""

# 09 · Modules and parameters
from __future__ import annotations

from typing import Any

from .linear import Linear
from .module import Module
from .parameter import UninitializedParameter


class LazyModuleMixin(Module):
    """Comes before the module that it makes lazy; `cls_to_become` is what the module is after the first call."""

    cls_to_become: type[Module]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._initialize_hook = self.register_forward_pre_hook(initialize)

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter has no shape yet: after a state dict was loaded all of them have one."""
        return any(isinstance(each, UninitializedParameter) for each in self._parameters.values())

    def initialize_parameters(self, *args: Any) -> None:
        """Give the parameters their shapes and first values, for these arguments of `forward`."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")


def initialize(module: Any, args: tuple[Any, ...]) -> None:
    """The hook before the first `forward`: the module learns its size and becomes an ordinary one."""
    module.initialize_parameters(*args)
    module._initialize_hook.remove()
    del module._initialize_hook
    module.__class__ = module.cls_to_become


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` that takes `in_features` from its first input."""

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, **where: Any) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self.weight = UninitializedParameter(**where)
        self.bias = UninitializedParameter(**where) if bias else None

    def initialize_parameters(self, input: Any) -> None:
        """The weight gets as many columns as the input has features."""
        self.in_features = input.shape[-1]
        if self.has_uninitialized_params():
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
