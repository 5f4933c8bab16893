"""Modules as functions of their parameters. Source: https://pytorch.org/docs/stable/func.html"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.nn.modules.batchnorm import _BatchNorm
from minitorch.nn.modules.module import Module
from minitorch.nn.utils import stateless
from minitorch.ops.indexing.joining import stack
from minitorch.tensor import Tensor

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


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


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several models of one class, each stacked under its name, as new leaves.

    `vmap` of a `functional_call` with them computes all models at once.

    Raises:
        RuntimeError: without models, for models of several classes or modes, or parameters of which only some require
            gradients.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.stack_module_state.html
    """
    if not len(models):
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({each.training for each in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(each) for each in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters: list[dict[str, Tensor]] = [dict(each.named_parameters()) for each in models]
    buffers = [dict(each.named_buffers()) for each in models]
    return _stacked(parameters), _stacked(buffers)


def _stacked(states: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {name: _leaf(name, [state[name] for state in states]) for name in states[0]}


def _leaf(name: str, tensors: Sequence[Tensor]) -> Tensor:
    if len({each.requires_grad for each in tensors}) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    return stack(tensors).detach().requires_grad_(tensors[0].requires_grad)


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Makes all BatchNorms in a module forget their running statistics, which `vmap` couldn't update, and returns it.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.replace_all_batch_norm_modules_.html
    """
    for each in root.modules():
        if isinstance(each, _BatchNorm):
            each.running_mean = each.running_var = each.num_batches_tracked = None
            each.track_running_stats = False
    return root
