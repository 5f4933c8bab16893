"""Chapter 02 of mytorch against minitorch: memory and strides, types, NumPy's memory, statistics, random numbers."""

import itertools
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import minitorch
from tests.mytorch.compare import outcome, same

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
part = pytest.mark.part


@part("mytorch.strides:contiguous_strides")
@pytest.mark.parametrize("size", [(), (5,), (2, 3), (4, 2, 3), (2, 1, 3), (3, 0, 2), (0,), (2, 0, 0, 5)])
def test_strides_of_a_new_tensor(mytorch: ModuleType, size: tuple[int, ...]) -> None:
    same(lambda torch: torch.zeros(size).stride(), mytorch)


@part("mytorch.strides:walk")
@pytest.mark.parametrize(
    ("size", "stride", "offset"),
    [
        ((2, 3), (3, 1), 0),
        ((3, 2), (1, 3), 4),
        ((2, 2), (0, 5), 1),
        ((), (), 7),
        ((2, 0), (3, 1), 2),
        ((1, 3), (9, 2), 5),
    ],
)
@pytest.mark.parametrize("dtype", ["int8", "float64"])
def test_a_walk_visits_the_places_and_shares_them(
    mytorch: ModuleType, size: tuple[int, ...], stride: tuple[int, ...], offset: int, dtype: str
) -> None:
    flat = np.arange(12).astype(dtype)
    seen = mytorch.strides.walk(flat, size, stride, offset)
    assert seen.shape == size
    flat += 50
    for index in itertools.product(*map(range, size)):
        assert seen[index] == flat[offset + sum(i * step for i, step in zip(index, stride, strict=True))]


ARRAYS: dict[str, Callable[[], Any]] = {
    "contiguous": lambda: np.arange(6.0).reshape(2, 3),
    "transposed": lambda: np.arange(6).reshape(2, 3).T,
    "with gaps": lambda: np.arange(40, dtype=np.int16).reshape(5, 8)[1::2, 1::3],
    "repeated": lambda: np.broadcast_to(np.arange(3), (2, 3)),
    "scalar": lambda: np.array(3, np.float32),
}


@part("mytorch.creation:from_numpy", "mytorch.strides:walk")
@pytest.mark.parametrize("name", ARRAYS)
def test_a_tensor_on_an_arrays_memory(mytorch: ModuleType, name: str) -> None:
    array = ARRAYS[name]()
    same(
        lambda torch: (torch.from_numpy(array), torch.from_numpy(array).stride(), torch.from_numpy(array).dtype),
        mytorch,
    )
    shared = mytorch.from_numpy(array)
    assert shared.data_ptr() == array.__array_interface__["data"][0]
    assert np.shares_memory(array, shared.numpy())
    reach = sum((length - 1) * step for length, step in zip(shared.shape, shared.stride(), strict=True)) + 1
    assert len(shared.storage) == reach


@part("mytorch.creation:from_numpy")
def test_an_empty_array_needs_no_memory(mytorch: ModuleType) -> None:
    empty = mytorch.from_numpy(np.zeros((2, 0, 3)))
    assert (empty.shape, len(empty.storage), empty.stride()) == (
        (2, 0, 3),
        0,
        (0, 0, 0),
    )  # NumPy's strides, as in PyTorch


@part("mytorch.creation:from_numpy")
@pytest.mark.parametrize(
    "call",
    [
        lambda torch: torch.from_numpy([1]),
        lambda torch: torch.from_numpy(np.arange(3)[::-1]),
        lambda torch: torch.ones(2, requires_grad=True).numpy(),
        lambda torch: torch.tensor([[1, 2], [3]]),
        lambda torch: torch.tensor([1, [2]]),
        lambda torch: torch.zeros(2).item(),
        lambda torch: torch.zeros(2, 3).size(2),
        lambda torch: torch.rand(2, dtype=torch.int64),
        lambda torch: torch.tensor([2]) ** -1,
        lambda torch: torch.tensor([2]) // 0,
        lambda torch: torch.tensor([2]).add(1, alpha=0.5),
        lambda torch: torch.ones(2).masked_fill(torch.tensor([True, False]), torch.tensor([1.0])),
    ],
)
def test_what_is_refused_is_refused_in_the_same_words(mytorch: ModuleType, call: Callable[[Any], Any]) -> None:
    kind, message = outcome(call, minitorch)
    assert outcome(call, mytorch) == (kind, message)


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
    x = mytorch.tensor([1.0, 0.5, 0.001], dtype=mytorch.float16)
    result = call(mytorch, x)
    assert (result.dtype, result.tolist()) == (mytorch.float16, expected)


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
        for library in (mytorch, minitorch):
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
        minitorch.set_default_dtype(minitorch.float32)
        mytorch.set_default_dtype(mytorch.float32)


@part("mytorch.promotion:result_type")
def test_three_groups_of_operands(mytorch: ModuleType) -> None:
    """minitorch's `result_type` takes two, so the third group is seen in `where`, whose condition has no say."""
    x, half = mytorch.tensor([1], dtype=mytorch.int8), mytorch.tensor(1.0, dtype=mytorch.float16)
    assert mytorch.result_type(x, half, 2.5) is mytorch.float16
    assert mytorch.result_type(2.5, mytorch.tensor(1), x) is mytorch.float32
    same(lambda torch: torch.where(torch.tensor([True, False]), torch.tensor([1, 2], dtype=torch.int8), 2.5), mytorch)


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
    same(lambda torch: call(torch.tensor(numbers).to(getattr(torch, dtype))), mytorch)


@part("mytorch.reduction:var")
def test_a_variance_far_from_zero(mytorch: ModuleType) -> None:
    same(lambda torch: torch.tensor([1e5, 1e5 + 1, 1e5 + 2]).var(), mytorch)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("count", [1, 15, 16, 17, 100])
def test_the_same_seed_gives_the_same_numbers(mytorch: ModuleType, dtype: str, count: int) -> None:
    """The normal numbers as printed, the stream to the last bit: what comes after them shows it."""

    def drawn(torch: Any) -> Any:
        torch.manual_seed(count)
        normal = torch.randn(count, dtype=getattr(torch, dtype))
        return normal, torch.rand(count, dtype=getattr(torch, dtype)).tolist(), torch.randperm(5)

    same(drawn, mytorch)


@pytest.mark.parametrize(("low", "high"), [(0, 10), (-3, 3), (0, 2**40)])
def test_the_same_seed_gives_the_same_integers(mytorch: ModuleType, low: int, high: int) -> None:
    same(lambda torch: (torch.manual_seed(2**32 + 1), torch.randint(low, high, (4,)), torch.rand(1))[1:], mytorch)


def test_a_layer_sees_each_call_once(mytorch: ModuleType) -> None:
    seen = []
    layers = mytorch.dispatch.LAYERS

    def note(op: Any, args: Any, below: Callable[..., Any]) -> Any:
        seen.append(op.name)
        return below(op, args)

    layers.append(note)
    try:
        x = mytorch.tensor([1.0, 2.0])
        mytorch.add(x, 1), x + 1, x.square()
    finally:
        layers.remove(note)
    assert seen == ["add", "add", "mul"]
