"""Modules as functions of their parameters. Source: https://pytorch.org/docs/stable/func.html"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.nn.modules.module import Module
from minitorch.nn.utils import stateless
from minitorch.tensor import Tensor

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls a module with the given tensors in the place of its parameters and buffers of these names.

    What the call writes to a buffer goes to the dict. With `tie_weights`, a tensor that the module has under several
    names is replaced under all; `strict` demands a tensor for every name. Raises ValueError for a name in several
    dicts, RuntimeError for names that are too many or, if `strict`, missing.
    Source: https://pytorch.org/docs/stable/generated/torch.func.functional_call.html
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        tensors = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        if not all(isinstance(each, dict) for each in parameter_and_buffer_dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [name for each in parameter_and_buffer_dicts for name in each]
        repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        tensors = {name: tensor for each in parameter_and_buffer_dicts for name, tensor in each.items()}
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    return stateless._functional_call(module, tensors, args, kwargs, tie_weights=tie_weights, strict=strict)
