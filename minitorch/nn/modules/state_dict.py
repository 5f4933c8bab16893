"""State dicts: the part of Module that writes them and takes them in.

Source: https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from minitorch.autograd.grad_mode import no_grad
from minitorch.nn.modules.hooks import ModuleHooks
from minitorch.nn.parameter import Parameter, is_lazy
from minitorch.tensor import Tensor

if TYPE_CHECKING:
    from minitorch.nn.modules.module import Module

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"
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


_UNREACHED = (
    "Reached a code path in Module.{}_extra_state() that should never be called. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
)


class ModuleState(ModuleHooks):
    """The part of Module that is saved and loaded."""

    _version: int = 1
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def get_extra_state(self) -> Any:
        """What a subclass wants in its state dict besides tensors; only called where a subclass defines it."""
        raise RuntimeError(_UNREACHED.format("get"))

    def set_extra_state(self, state: Any) -> None:
        """Takes back what `get_extra_state` gave."""
        raise RuntimeError(_UNREACHED.format("set"))

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._persistent_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if getattr(type(self), "get_extra_state", None) is not ModuleState.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _persistent_state(self) -> dict[str, Tensor]:
        """This module's own parameters and persistent buffers, without those that are None."""
        buffers = {name: each for name, each in self._buffers.items() if name not in self._non_persistent_buffers_set}
        return {name: each for name, each in {**self._parameters, **buffers}.items() if each is not None}

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """All parameters and persistent buffers by their full names, detached unless `keep_vars`, not copied."""
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination, prefix = destination or given["destination"], prefix or given.get("prefix", "")
            keep_vars = keep_vars or given.get("keep_vars", False)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()  # maps the prefix of each module to its version
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, metadata)
            if result is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = result
        return destination

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copies the tensors of a state dict into the parameters and buffers of the same names.

        With `assign` the tensors of the dict themselves become the parameters. Returns the names that the dict
        lacks and those that it has too many. Raises RuntimeError for shapes that differ and, with `strict`, for these
        names.
        """
        return load(cast(Any, self), state_dict, strict, assign)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = self._persistent_state()
        for name, target in own.items():
            key = prefix + name
            if key in state_dict:
                assign = "assign_to_params_buffers" in local_metadata
                error = load_tensor(cast(Any, self), name, key, target, state_dict[key], assign)
                if error is not None:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        extra_key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if getattr(type(self), "set_extra_state", None) is not ModuleState.set_extra_state:
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    first, dot, _ = key[len(prefix) :].partition(".")
                    if first not in (self._modules if dot else own):
                        unexpected_keys.append(key)
