"""Chapter 02b of mytorch against minitorch: which type wins, how an operation runs, sums, means and variances."""

import itertools
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.mytorch.compare import ORACLES, agree, outcome, pytorch, same

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
part = pytest.mark.part


@part("mytorch.pointwise:run_in_common_type")
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda torch, x: x * 70000.0, [math.inf, 35008.0, 70.0]),
        (lambda torch, x: 70000.0 * x, [math.inf, 35008.0, 70.0]),
        (lambda torch, x: x[2] * 100000.0, 100.0625),
        (lambda torch, x: x[2] * 1e-8 * 1e8, 0.0),
        (lambda torch, x: x / 1e-5, [math.inf, 49984.0, 100.0625]),
        (lambda torch, x: x // 0.1, [9.0, 4.0, 0.0]),
        (lambda torch, x: 0.1 / x, [0.0999755859375, 0.199951171875, 99.9375]),
        (lambda torch, x: x + 70000.0, [math.inf] * 3),
        (lambda torch, x: torch.tensor(70000.0) * x, [math.inf] * 3),
    ],
)
def test_a_product_of_16_bits_takes_a_number_as_it_is(mytorch: ModuleType, call: Any, expected: Any) -> None:
    """What torch 2.13 gives on the CPU. Only the second operand is kept from rounding, and no sum does it."""
    for torch in filter(None, (mytorch, pytorch)):
        result = call(torch, torch.tensor([1.0, 0.5, 0.001], dtype=torch.float16))
        assert (result.dtype, result.tolist()) == (torch.float16, expected)


@part("mytorch.promotion:promote_types")
@pytest.mark.parametrize("one", DTYPES)
def test_two_types_meet(mytorch: ModuleType, one: str) -> None:
    for other in DTYPES:
        same(lambda torch, other=other: torch.promote_types(getattr(torch, one), getattr(torch, other)), mytorch)


@part("mytorch.promotion:result_type", "mytorch.promotion:promote_types")
@pytest.mark.parametrize("default", ["float32", "float64"])
def test_operands_of_all_kinds_meet(mytorch: ModuleType, default: str) -> None:
    operands: list[Any] = [(name, size) for name in DTYPES for size in ((2,), ())] + [True, 3, 2.5]
    try:
        for library in [mytorch, *ORACLES]:
            library.set_default_dtype(getattr(library, default))
        for pair in itertools.product(operands, repeat=2):
            same(
                lambda torch, pair=pair: torch.result_type(
                    *(
                        torch.zeros(each[1], dtype=getattr(torch, each[0])) if isinstance(each, tuple) else each
                        for each in pair
                    )
                ),
                mytorch,
            )
    finally:
        for library in [mytorch, *ORACLES]:
            library.set_default_dtype(library.float32)


@part("mytorch.promotion:result_type")
def test_three_groups_of_operands(mytorch: ModuleType) -> None:
    """minitorch's `result_type` takes two, so the third group is seen in `where`, whose condition has no say."""
    x, half = mytorch.tensor([1], dtype=mytorch.int8), mytorch.tensor(1.0, dtype=mytorch.float16)
    assert mytorch.result_type(x, half, 2.5) is mytorch.float16
    assert mytorch.result_type(2.5, mytorch.tensor(1), x) is mytorch.float32
    same(lambda torch: torch.where(torch.tensor([True, False]), torch.tensor([1, 2], dtype=torch.int8), 2.5), mytorch)


@part("mytorch.pointwise:run_in_common_type")
@pytest.mark.parametrize(
    "call",
    [
        lambda torch: torch.tensor([250], dtype=torch.uint8) + 10,
        lambda torch: torch.tensor([250], dtype=torch.uint8) - 300,
        lambda torch: torch.tensor([1.0], dtype=torch.float16) * torch.tensor(70000.0, dtype=torch.float64),
        lambda torch: torch.tensor([3.0, 5.0, 7.0]).__rtruediv__(7.0).tolist(),
        lambda torch: torch.tensor([1, 2]) / 2,
        lambda torch: torch.tensor([1.0, 0.0]) / 0,
        lambda torch: torch.tensor([-7]) // 2,
        lambda torch: torch.tensor([-7]) % 3,
        lambda torch: torch.tensor([1, 2]).exp(),
        lambda torch: (torch.sub(torch.ones(2), 2, alpha=0.25), torch.ones(2).add_(torch.ones(2), alpha=3)),
        lambda torch: torch.tensor([1, 2]).masked_fill(torch.tensor([True, False]), torch.tensor(7.5)),
        lambda torch: torch.tensor([1, 2]).masked_fill(torch.tensor([True, False]), 7.5),
        lambda torch: torch.ones(1000, dtype=torch.bfloat16).sum(),
        lambda torch: torch.tensor([200, 100], dtype=torch.uint8).sum(),
        lambda torch: torch.tensor([3.0, 1.0, 2.0]).argsort(descending=True),
        lambda torch: torch.tensor([0.1, 2.0**25 + 1], dtype=torch.float64),
        lambda torch: torch.tensor(np.arange(6)[::2]),
        lambda torch: torch.as_tensor(np.arange(2), dtype=torch.float32),
        lambda torch: np.asarray(torch.ones(2)),
        lambda torch: torch.full((2,), 7),
        lambda torch: torch.arange(0, 1, 0.25),
    ],
)
def test_results_have_the_same_type_and_values(mytorch: ModuleType, call: Callable[[Any], Any]) -> None:
    same(call, mytorch)


@part("mytorch.reduction:mean", "mytorch.reduction:var")
@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.mean(),
        lambda x: x.mean(-1),
        lambda x: x.mean((0, 2), keepdim=True),
        lambda x: x.mean((0, 0)),
        lambda x: x.mean(3),
        lambda x: x.var(),
        lambda x: x.var(1),
        lambda x: x.var((0, 2), keepdim=True),
        lambda x: x.var(1, correction=0),
        lambda x: x.std(-1),
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int64"])
def test_statistics(mytorch: ModuleType, call: Callable[[Any], Any], dtype: str) -> None:
    numbers = np.random.default_rng(0).integers(0, 50000, (2, 3, 4))
    exact = dtype != "float32"  # in float32, squares of such numbers add up to other last digits in another order

    def statistic(torch: Any) -> Any:
        return call(torch.tensor(numbers).to(getattr(torch, dtype)))

    same(statistic, mytorch, beside_pytorch=exact)
    if not exact and isinstance(outcome(statistic, mytorch), str):  # no error
        agree(lambda torch: [statistic(torch)], mytorch, rtol=1e-6)


@part("mytorch.reduction:var")
def test_a_variance_far_from_zero(mytorch: ModuleType) -> None:
    same(lambda torch: torch.tensor([1e5, 1e5 + 1, 1e5 + 2]).var(), mytorch)


def test_a_layer_sees_each_call_once(mytorch: ModuleType) -> None:
    seen = []

    def note(op: Any, args: Any, below: Callable[..., Any]) -> Any:
        seen.append(op.name)
        return below(op, args)

    mytorch.dispatch.fill("autocast", note)
    try:
        x = mytorch.tensor([1.0, 2.0])
        mytorch.add(x, 1), x + 1, x.square()
    finally:
        mytorch.dispatch.fill("autocast", None)
    assert seen == ["add", "add", "mul"]
