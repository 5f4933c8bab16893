"""The fast ways of `xp` on the CPU: NumPy's numbers and torch's, across blocks and at special values."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch.arrays import fast_numpy as xp
from minitorch.arrays.blocks import CACHE, LIVE, in_blocks
from tests.same import exactly_the_same, same_within

BLOCK = CACHE // (4 * LIVE)
"""The elements of a block in float32."""

SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 1e-5, -1e30, 2.0**24, np.inf, -np.inf, np.nan], np.float32)


def numbers(seed: int, dtype: str = "float32", low: float = -6, high: float = 6) -> Any:
    """Random numbers in more than two blocks; among the first, all pairs of special ones for seeds 0 and 1."""
    array = np.random.default_rng(seed).uniform(low, high, 2 * BLOCK + 5).astype(dtype)
    pairs = np.tile(SPECIAL, len(SPECIAL)) if seed else np.repeat(SPECIAL, len(SPECIAL))
    array[BLOCK - 70 : BLOCK - 70 + pairs.size] = pairs
    return array


def called(torch: Any, name: str, *arrays: Any) -> Any:
    with np.errstate(all="ignore"):
        return reduce(getattr, name.split("."), torch)(*(torch.from_numpy(each.copy()) for each in arrays))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["remainder", "logaddexp", "logaddexp2"])
@same_within(1e-6)
def test_two_tensors(torch: Any, name: str, dtype: str) -> Any:
    return called(torch, name, numbers(0, dtype), numbers(1, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["fmod", "floor_divide", "nextafter"])
@exactly_the_same
def test_two_tensors_to_the_last_digit(torch: Any, name: str, dtype: str) -> Any:
    return called(torch, name, numbers(0, dtype), numbers(1, dtype))


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64", "uint8"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((40, 1, 100), (1, 50, 100)),
        ((1, 50, 100), (40, 1, 100)),
        ((40, 50, 100), (100,)),
        ((3, 20, 50, 30), (3, 1, 1, 30)),
        ((40, 50, 100), (40, 50, 1)),
        ((40, 50, 100), ()),
        ((50, 100), (40, 1, 1, 100)),
        ((2, 1, 8), (40_000, 8)),
    ],
)
@pytest.mark.parametrize("name", ["mul", "sub"])
@exactly_the_same
def test_broadcast(torch: Any, name: str, one: tuple[int, ...], other: tuple[int, ...], dtype: str) -> Any:
    random = np.random.default_rng(0)
    arrays = [np.asarray(100 * random.standard_normal(shape)).astype(dtype) for shape in (one, other)]
    results = [called(torch, name, *pair) for pair in (arrays, arrays[::-1])]
    return results, [each.stride() for each in results]


ONE_TENSOR = (
    "nan_to_num nn.functional.relu nn.functional.elu nn.functional.selu nn.functional.softshrink nn.functional.gelu "
    "nn.functional.hardshrink nn.functional.hardtanh nn.functional.hardswish nn.functional.leaky_relu erf erfc erfinv "
    "lgamma digamma sign special.ndtri special.i0e special.i1e i0 special.i1"
)


@pytest.mark.parametrize("name", ONE_TENSOR.split())
@same_within(2e-6)
def test_one_tensor(torch: Any, name: str) -> Any:
    x = numbers(0)
    if name == "nn.functional.gelu":
        x[np.isposinf(x)] = 9  # torch says NaN
    return called(torch, name, x)


@in_blocks
def scaled_sum(xp: Any, x: Any, y: Any, factor: float) -> Any:
    return (x + y) * factor


def test_blocks_are_the_whole() -> None:
    x, y = numbers(2), numbers(3)
    lengths = []
    for one, other in ((x, y), (x, y[:1].reshape(())), (x[::2], y[::2]), (x[:, None], y[None, :3])):
        whole = (one + other) * 2.0
        assert np.array_equal(scaled_sum(xp, one, other, 2.0), whole, equal_nan=True)
    in_blocks(lambda xp, x: lengths.append(len(x)) or x)(xp, x)
    assert lengths == [BLOCK, BLOCK, 5]


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64", "complex64", "complex128"])
def test_where(dtype: str) -> None:
    x, y = np.nan_to_num(numbers(0)).astype(dtype), np.nan_to_num(numbers(1)).astype(dtype)
    mask = np.random.default_rng(0).random(x.shape) < 0.5
    for one, other in ((x, y), (x[0], y[:1]), (x, 0), (x, y.astype("complex128"))):
        expected = np.where(mask, one, other)
        np.testing.assert_array_equal(xp.where(mask, one, other), expected)
        assert xp.where(mask, one, other).dtype == expected.dtype
    np.testing.assert_array_equal(xp.where(mask)[0], np.where(mask)[0])


def test_bounds() -> None:
    """NaN stays NaN, and −0 is not below 0."""
    for x in (numbers(0), SPECIAL, np.arange(-5, 5)):
        np.testing.assert_array_equal(xp.clip(x, -1, 2), np.minimum(np.maximum(x, -1), 2))
        np.testing.assert_array_equal(xp.minimum(x, 2), np.minimum(x, 2))
        for least in (xp.maximum(0, x), xp.maximum(x, 0)):
            np.testing.assert_array_equal(least, np.maximum(x, 0))
            np.testing.assert_array_equal(np.signbit(least), np.signbit(x) & (x == 0))


def test_one_expanded_element_is_divided_once() -> None:
    x = np.broadcast_to(np.float32(1), (xp.FEW, 3))
    quotient = xp.true_divide(x, 3)
    np.testing.assert_array_equal(quotient, np.true_divide(x, 3))
    assert quotient.flags.c_contiguous and quotient.flags.writeable


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "nansum", "var"])
@pytest.mark.parametrize("shape", [(20_003,), (3, 8191), (4099, 3), (5, 7, 1031), (2, 16_390)])
def test_reductions_of_many(name: str, shape: tuple[int, ...]) -> None:
    """Over the last dimension, the first, the outer ones, and all: what torch gets in float64."""
    torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")
    array = np.random.default_rng(0).uniform(0.999, 1.001, shape).astype("float32")
    outer = [] if name == "prod" else [tuple({0, len(shape) - 1})]
    for arguments in [(-1,), (0,), (), *((dims,) for dims in outer)]:
        ours = getattr(minitorch.from_numpy(array), name)(*arguments)
        theirs = getattr(torch.from_numpy(array).double(), name)(*arguments).numpy()
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-4 if name == "prod" else 2e-6, atol=1e-9)
        assert ours.shape == theirs.shape


@pytest.mark.parametrize("rows", [1, 7, 5000])
@pytest.mark.parametrize("name", ["index_add", "index_reduce"])
@same_within(1e-12)
def test_many_values_of_one_place(torch: Any, name: str, rows: int) -> Any:
    rng = np.random.default_rng(0)
    target, source, places = rng.random((3, rows)), rng.random((3, 2999)), rng.integers(0, rows, 2999)
    more = ("amax",) if name == "index_reduce" else ()
    return getattr(torch.from_numpy(target), name)(1, torch.from_numpy(places), torch.from_numpy(source), *more)


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("topk", (5,)), ("topk", (5, False)), ("kthvalue", (7,)), ("kthvalue", (300,)), ("median", ()), ("nanmedian", ())],
)
@exactly_the_same
def test_ranks_among_many(torch: Any, name: str, arguments: tuple[Any, ...], missing: bool, dim: int) -> Any:
    """Without sorting all: the values and, as no two are equal, the indices."""
    array = np.random.default_rng(0).permutation(300 * 301).reshape(300, 301).astype("float32")
    if missing:
        array[7] = array[:, 9] = np.nan
        array[7, 9] = 0
    values, indices = getattr(torch.from_numpy(array), name)(*arguments[:1], dim, *arguments[1:])
    return values if missing else (values, indices)
