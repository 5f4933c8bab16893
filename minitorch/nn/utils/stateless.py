"""A call of a module with other tensors in the place of its parameters and buffers.

Source: https://pytorch.org/docs/stable/generated/torch.func.functional_call.html
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minitorch.nn.modules.module import Module
from minitorch.nn.parallel.data_parallel import DataParallel
from minitorch.tensor import Tensor

__all__ = ["functional_call"]

_MISSING: Any = object()


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The old name of `minitorch.func.functional_call`, for one dict."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(
    module: Module,
    tensors: dict[str, Tensor],
    args: Any,
    kwargs: dict[str, Any] | None,
    *,
    tie_weights: bool,
    strict: bool,
) -> Any:
    if isinstance(module, DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, tensors, tie_weights, strict):
        return module(*positional, **(kwargs or {}))


@contextmanager
def _replaced(module: Module, tensors: dict[str, Tensor], tie_weights: bool, strict: bool) -> Iterator[None]:
    """Puts the tensors into the module, and afterwards back what was there; buffers that changed go to `tensors`."""
    new = _with_tied(module, tensors) if tie_weights else tensors
    if strict:
        _check_names(module, set(new))
    old: dict[str, Any] = {}
    try:
        for name, tensor in new.items():
            old[name] = _swap(module, name, tensor)
        yield
    finally:
        changed = {name: _swap(module, name, tensor) for name, tensor in old.items()}
        tensors.update({name: changed[name] for name in tensors if name in changed})


def _named_tensors(module: Module) -> dict[str, Tensor]:
    parameters = module.named_parameters(remove_duplicate=False)
    return dict([*parameters, *module.named_buffers(remove_duplicate=False)])


def _with_tied(module: Module, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under every name that the ones which they replace have in the module."""
    names_of: dict[int, list[str]] = {}
    named = _named_tensors(module)
    for name, tensor in named.items():
        names_of.setdefault(id(tensor), []).append(name)
    result = dict(tensors)
    for name in tensors:
        tied = names_of[id(named[name])] if name in named else []
        given = {id(tensors[each]) for each in tied if each in tensors}
        if len(given) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(tied)}, which are tied. Consider using "
                "tie_weights=False"
            )
        result.update(dict.fromkeys(tied, tensors[name]))
    return result


def _check_names(module: Module, given: set[str]) -> None:
    own = set(_named_tensors(module))
    errors = [
        f"{kind} key(s): {', '.join(map(repr, sorted(names)))}."
        for kind, names in (("Unexpected", given - own), ("Missing", own - given))
        if names
    ]
    if errors:
        listed = "\n\t".join(errors)
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t{listed}")


def _swap(module: Module, path: str, tensor: Any) -> Any:
    """Puts a tensor at a path, or takes away what is there where it is `_MISSING`. Returns what was there."""
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    prefix, _, name = path.rpartition(".")
    owner = module.get_submodule(prefix)
    if isinstance(old := getattr(owner, name, _MISSING), Module):
        raise TypeError(f"attribute `{name}`: {old} is not an instance of torch.Tensor")
    members = next((each for each in (owner._parameters, owner._buffers) if name in each), None)
    if members is not None:
        members[name] = tensor
    elif tensor is not _MISSING:
        setattr(owner, name, tensor)
    elif old is not _MISSING:
        delattr(owner, name)
    return old
