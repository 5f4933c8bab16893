"""Functions of lists of tensors: each tensor's result is that of PyTorch's kernel for the whole list."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch
from minitorch.foreach import NAMES
from tests.same import attempt, errors, same

BINARY = ["add", "sub", "mul", "div", "clamp_min", "clamp_max", "maximum", "minimum", "pow"]


def _lists(torch: Any, count: int) -> list[list[Any]]:
    return [[torch.tensor([0.5, 1.5]) + row, torch.tensor([[0.25 * (row + 1)]])] for row in range(count)]


@pytest.mark.parametrize("name", sorted(NAMES))
@same
def test_lists_of_tensors(torch: Any, name: str) -> Any:
    plain = name.removesuffix("_")
    operands = {"addcmul": 3, "addcdiv": 3, "lerp": 3, "copy": 2} | dict.fromkeys(BINARY, 2)
    lists = _lists(torch, operands.get(plain, 1))
    result = getattr(torch, f"_foreach_{name}")(*lists)
    return [type(result).__name__, result is lists[0], list(result), lists]


@pytest.mark.parametrize("name", BINARY)
@same
def test_numbers(torch: Any, name: str) -> Any:
    (values,) = _lists(torch, 1)
    function = getattr(torch, f"_foreach_{name}")
    return [function(values, 2.0), function(values, [2.0, 3.0]), function(tuple(values), 1)]


@same
def test_factors(torch: Any) -> Any:
    one, two, three = _lists(torch, 3)
    return [
        torch._foreach_add(one, two, alpha=2),
        torch._foreach_sub_(one, two, alpha=0.5),
        torch._foreach_mul(one, torch.tensor(3.0)),
        torch._foreach_addcmul(one, two, three, value=2),
        torch._foreach_addcdiv_(one, two, three, [0.5, 2.0]),
        torch._foreach_lerp(one, two, 0.75),
        torch._foreach_norm(one, 1),
        torch._foreach_pow(2.0, one),
        torch._foreach_zero_(three),
    ]


@same
def test_gradients(torch: Any) -> Any:
    one, two = ([each.requires_grad_() for each in row] for row in _lists(torch, 2))
    sum(each.sum() for each in torch._foreach_mul(one, two)).backward()
    return [each.grad for each in one + two]


@same
def test_lists_that_do_not_fit(torch: Any) -> Any:
    one, two = _lists(torch, 2)
    return errors(
        lambda: torch._foreach_mul(one, two[:1]),
        lambda: torch._foreach_mul(one, [1.0]),
        lambda: torch._foreach_exp([]),
        lambda: torch._foreach_mul(one, torch.ones(2)),
    )


def test_names() -> None:
    assert attempt(getattr, minitorch, "_foreach_nothing")[0] == "AttributeError"
