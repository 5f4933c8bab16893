"""A call that must leave its arguments as they are: what counts as changed, and what does not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch
from course import check
from course.intact import ChangedError
from minitorch import nn


@pytest.mark.parametrize(
    ("argument", "changes"),
    [
        (np.array([1.0, np.nan]), lambda x: x.__setitem__(0, 2.0)),
        (np.zeros((2, 3)), lambda x: setattr(x, "shape", (3, 2))),
        (minitorch.tensor([1.0, 2.0]), lambda x: x.add_(1)),
        (minitorch.tensor([1.0, 2.0]), lambda x: x.data.add_(1)),
        ([minitorch.tensor([1.0]), 3], lambda x: x[0].neg_()),
        ([1, 2], lambda x: x.append(3)),
        ([2, 1], list.sort),
        ({"a": np.ones(1)}, lambda x: x["a"].fill(0)),
        ({"a": 1, "b": 2}, lambda x: x.update(a=x.pop("a"))),
        ({1, 2}, lambda x: x.discard(1)),
        (nn.Linear(2, 2), nn.Module.eval),
        (nn.Linear(2, 2), lambda x: x.weight.data.zero_()),
    ],
)
def test_a_call_that_changes_an_argument_is_refused(argument: Any, changes: Callable[[Any], Any]) -> None:
    with pytest.raises(ChangedError, match="the call changes argument 2, which belongs to the caller"):
        check.intact(lambda _, x: changes(x), 0, argument)


def test_the_function_that_changed_an_argument_is_named() -> None:
    def halve(values: np.ndarray) -> None:
        values /= 2

    with pytest.raises(ChangedError, match="`halve` changes argument 1, which"):
        check.intact(halve, np.ones(2))


def test_an_argument_that_is_passed_by_name_is_named() -> None:
    with pytest.raises(ChangedError, match="the call changes argument 'rows', which"):
        check.intact(lambda *, rows: rows.clear(), rows=[1])


def test_a_call_that_leaves_gradients_switched_off_is_refused() -> None:
    try:
        with pytest.raises(ChangedError, match="leaves the recording of gradients"):
            check.intact(minitorch.set_grad_enabled, False)
    finally:
        minitorch.set_grad_enabled(True)


def test_what_is_computed_is_returned_and_what_is_raised_is_raised() -> None:
    x, nan = minitorch.tensor([1.0, float("nan")]), float("nan")
    layer = nn.BatchNorm1d(2)  # its statistics change in each call of a correct program
    assert check.intact(lambda *given, by: len(given) + by, x, nan, None, [nan], print, by=2) == 7
    assert check.intact(lambda layer, x: layer(x), layer, minitorch.ones(3, 2)).shape == (3, 2)
    assert check.intact(lambda x: x.requires_grad_(), x) is x
    with pytest.raises(ZeroDivisionError):
        check.intact(lambda x: 1 / x, 0)
