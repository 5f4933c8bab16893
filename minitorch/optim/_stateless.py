"""An optimizer that for a while works on other parameters, with another state."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from minitorch.optim.optimizer import Optimizer
from minitorch.optim.update import Group
from minitorch.tensor import Tensor

NAME = "swap_in_optimizer_params_and_state"


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Inside, the optimizer has these parameters, in the order of its own, and this state and options.

    `swapin_optim_state` is what `state_dict` gives: its tensors are written to, its dictionaries are not. Afterwards
    the optimizer is as before. Raises RuntimeError where state, groups or parameters don't fit the optimizer's, and
    before the optimizer has a state.
    Source: https://pytorch.org/docs/stable/optim.html
    """
    saved, groups = _checked_state(optimizer, swapin_optim_state)
    parts = _parameters_of_groups(optimizer, groups, list(swapin_parameters.values()), saved)
    before = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for group, swapped, parameters in zip(optimizer.param_groups, groups, parts, strict=True):
            group.update({**swapped, "params": parameters})
            for parameter, number in zip(parameters, swapped["params"], strict=True):
                state[parameter] = dict(saved.get(number, {}))
        optimizer.state = state
        yield
    finally:
        optimizer.state = before[0]
        for group, kept in zip(optimizer.param_groups, before[1], strict=True):
            group.clear()
            group.update(kept)


def _checked_state(optimizer: Optimizer, state_dict: Any) -> tuple[dict[Any, Any], list[Group]]:
    if not optimizer.state:
        raise RuntimeError(f"{NAME} requires initialized optimizer state.")
    if not isinstance(state_dict, dict):
        raise RuntimeError(f"{NAME} requires a DCP-style optimizer state_dict.")
    state, groups = state_dict.get("state"), state_dict.get("param_groups")
    if not isinstance(state, dict):
        raise RuntimeError(
            f"{NAME} requires swapin_optim_state['state'] to be a dict mapping packed parameter ids to per-param state "
            f"dicts, got {type(state).__name__}."
        )
    if any(isinstance(key, Tensor) for key in state):
        raise RuntimeError(f"{NAME} requires optimizer.state_dict()-style state keyed by packed parameter ids.")
    if any(isinstance(key, int) and not isinstance(value, dict) for key, value in state.items()):
        raise RuntimeError(f"{NAME} requires per-parameter optimizer state entries to be dictionaries.")
    if not isinstance(groups, list):
        raise RuntimeError(
            f"{NAME} requires swapin_optim_state['param_groups'] to be a list of param-group dicts, got "
            f"{type(groups).__name__}."
        )
    if len(optimizer.param_groups) != len(groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    return state, groups


def _parameters_of_groups(
    optimizer: Optimizer, groups: list[Group], parameters: list[Tensor], state: dict[Any, Any]
) -> list[list[Tensor]]:
    parts: list[list[Tensor]] = []
    numbers: set[int] = set()
    start = 0
    for index, (group, swapped) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        given = _checked_group(index, group, swapped)
        numbers.update(given)
        parts.append(parameters[start : start + len(given)])
        start += len(given)
        if start > len(parameters):
            raise RuntimeError(
                f"{NAME} requires the explicit parameter state to match optimizer.param_groups ordering."
            )
    extra = [key for key in state if key not in numbers]
    if extra:
        raise RuntimeError(
            f"{NAME} requires swapin_optim_state['state'] to be keyed only by packed parameter ids from "
            f"param_groups[*]['params']; got extra keys {extra!r}."
        )
    return parts


def _checked_group(index: int, group: Group, swapped: Any) -> list[int]:
    if not isinstance(swapped, dict):
        raise RuntimeError(f"{NAME} requires each optimizer param group to be a dictionary.")
    numbers = swapped.get("params")
    if not isinstance(numbers, list) or not all(isinstance(number, int) for number in numbers):
        raise RuntimeError(
            f"{NAME} requires optimizer.state_dict()-style param_groups[*]['params'] entries keyed by packed parameter "
            "ids."
        )
    if len(group["params"]) != len(numbers):
        raise RuntimeError(
            f"swapin_optim_state param group {index} has a different number of params than the live optimizer param "
            "group."
        )
    theirs = [key for key in swapped if key not in group]
    ours = [key for key in group if key not in swapped]
    if theirs or ours:
        raise RuntimeError(
            f"{NAME} requires optimizer.state_dict()-style param group keys to exactly match the live optimizer group "
            f"keys for group {index}. Keys only in swap-in: {theirs}. Keys only in live: {ours}."
        )
    return numbers
