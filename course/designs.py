"""Designs: decisions whose limits a simulator checks, and whose cost is compared with the cheapest."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

NEAR_ENOUGH = 1.15
"""What a design may cost, as a multiple of the cheapest one that keeps every limit."""


def design(
    decisions: Mapping[str, Any],
    options: Mapping[str, Sequence[Any]],
    simulate: Callable[..., tuple[Mapping[str, Any], float]],
) -> dict[str, Any]:
    """What a check shows of a design: the same for all that keep every limit and cost at most 1.15 times the cheapest.

    Args:
        decisions: the values that the learner chose, by name.
        options: by name, the values that there are to choose from; all combinations are simulated.
        simulate: takes one value for each name, as keywords; returns which limits are kept, by name, and the cost.

    Returns:
        The names that are missing, unknown, or have a value that is no option; which limits are kept (none is listed if
        there is such a name); and the cost, which is the cheapest design's if this one is near enough.
    """
    # Of a decision that pretends to be an option, the option itself counts.
    chosen = {name: own for name, values in options.items() for own in values if own == decisions.get(name)}
    wrong = [name for name in options if name not in chosen]
    wrong += [name for name in decisions if name not in options]
    if wrong:
        return {"not among the options": wrong, "limits": {}, "cost": None}
    limits, cost = simulate(**chosen)
    if all(limits.values()):
        combined = (dict(zip(options, values, strict=True)) for values in itertools.product(*options.values()))
        least = min(price for kept, price in (simulate(**each) for each in combined) if all(kept.values()))
        is_near = cost <= NEAR_ENOUGH * least + 1e-9 * abs(least)  # 1.15 · 200 is a little less than 230 in floats
        cost = least if is_near else cost
    kept = {name: bool(each) for name, each in limits.items()}
    return {"not among the options": [], "limits": kept, "cost": float(cost)}
