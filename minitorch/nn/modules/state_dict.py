"""Loading a state dict: what `Module.load_state_dict` does to a whole tree, and to one tensor.

Source: https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from minitorch.autograd.grad_mode import no_grad
from minitorch.nn.parameter import Parameter, is_lazy
from minitorch.tensor import Tensor

if TYPE_CHECKING:
    from minitorch.nn.modules.module import Module

EXTRA_STATE = "_extra_state"
"""The key under which a module keeps what is no tensor."""


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(_Keys):
    """The names that a state dict lacked, and those that the module has no place for."""

    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


def load(module: Module, state_dict: Mapping[str, Any], strict: bool, assign: bool) -> _IncompatibleKeys:
    """Has each module of a tree take its own part of the state dict. Raises RuntimeError for what went wrong."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    metadata: Any = getattr(state_dict, "_metadata", {})
    missing: list[str] = []
    unexpected: list[str] = []
    errors: list[str] = []
    state: Any = OrderedDict(state_dict)  # a copy, that hooks may change
    state._metadata = metadata

    def load_below(module: Any, state: Any, prefix: str) -> None:
        local_metadata = dict(metadata.get(prefix[:-1], {}), **({"assign_to_params_buffers": True} if assign else {}))
        module._load_from_state_dict(state, prefix, local_metadata, True, missing, unexpected, errors)
        for name, child in module._modules.items():
            if child is not None:
                child_prefix = f"{prefix}{name}."
                load_below(
                    child, {key: each for key, each in state.items() if key.startswith(child_prefix)}, child_prefix
                )
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, _IncompatibleKeys(missing, unexpected)) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace."
                )

    load_below(module, state, "")
    if strict:
        for kind, keys in (("Unexpected", unexpected), ("Missing", missing)):
            if keys:
                names = ", ".join(f'"{key}"' for key in keys)
                errors.insert(0, f"{kind} key(s) in state_dict: {names}. ")
    if errors:
        listed = "\n\t".join(errors)
        raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t{listed}")
    return _IncompatibleKeys(missing, unexpected)


def load_tensor(module: Module, name: str, key: str, target: Tensor, source: Any, assign: bool) -> str | None:
    """Loads one tensor; says what is wrong where that is impossible."""
    if not isinstance(source, Tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
            f"checkpoint but received {type(source)}"
        )
    if not is_lazy(target):
        if not target.dim() and tuple(source.shape) == (1,):
            source = source[0]
        if source.shape != target.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {source.shape} from checkpoint, the shape in "
                f"current model is {target.shape}."
            )
    try:
        with no_grad():
            if not assign:
                target.copy_(source)
                return None
            if isinstance(target, Parameter):
                if isinstance(source, Parameter):
                    source.requires_grad_(target.requires_grad)
                else:
                    source = Parameter(source, requires_grad=target.requires_grad)
            setattr(module, name, source)
    except Exception as error:
        return (
            f'While copying the parameter named "{key}", whose dimensions in the model are {target.size()} and '
            f"whose dimensions in the checkpoint are {source.size()}, an exception occurred : {error.args}."
        )
    return None
