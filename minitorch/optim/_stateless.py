"""An optimizer that for a while works on other parameters, with another state."""

from __future__ import annotations

import contextlib
import itertools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from minitorch.optim.optimizer import Optimizer
from minitorch.tensor import Tensor


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
    if not optimizer.state:
        raise RuntimeError("swap_in_optimizer_params_and_state requires initialized optimizer state.")
    if not _fits(optimizer, swapin_optim_state, len(swapin_parameters)):
        raise RuntimeError(
            "swap_in_optimizer_params_and_state requires what state_dict() gives, of an optimizer with the same groups "
            "and options, and as many parameters."
        )
    parameters = iter(swapin_parameters.values())
    before = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for group, swapped in zip(optimizer.param_groups, swapin_optim_state["param_groups"], strict=True):
            numbers = swapped["params"]
            group.update({**swapped, "params": list(itertools.islice(parameters, len(numbers)))})
            for parameter, number in zip(group["params"], numbers, strict=True):
                state[parameter] = dict(swapin_optim_state["state"].get(number, {}))
        optimizer.state = state
        yield
    finally:
        optimizer.state = before[0]
        for group, kept in zip(optimizer.param_groups, before[1], strict=True):
            group.clear()
            group.update(kept)


def _fits(optimizer: Optimizer, state_dict: Any, count: int) -> bool:
    try:
        state, groups = state_dict["state"], state_dict["param_groups"]
        numbers = [number for group in groups for number in group["params"]]
        theirs, ours = (
            [(len(group["params"]), set(group)) for group in each] for each in (groups, optimizer.param_groups)
        )
        each_is_a_dict = all(isinstance(each, dict) for each in state.values())
    except (AttributeError, KeyError, TypeError):
        return False
    return theirs == ours and each_is_a_dict and state.keys() <= set(numbers) and len(numbers) <= count
