"""The same seed gives the numbers that PyTorch's CPU gives. Expected values come from torch, element for element."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from minitorch import random
from minitorch.kernels import sampling
from minitorch.kernels.sampling.binomial import _stirling_rest
from minitorch.random import Generator

torch = pytest.importorskip("torch", reason="torch, which the numbers are compared with, is not installed")

SIZES = (0, 1, 2, 7, 15, 16, 17, 31, 32, 100, 1000, 100003)
SEEDS = (0, 1, 42, 2**32 + 5, 2**63 - 1, -1)
FLOATING = {
    "float32": (np.float32, torch.float32),
    "float64": (np.float64, torch.float64),
    "float16": (np.float16, torch.float16),
    "bfloat16": (ml_dtypes.bfloat16, torch.bfloat16),
}
INTEGRAL = {
    name: (np.dtype(name), getattr(torch, name)) for name in ("uint8", "int8", "int16", "int32", "int64", "bool")
}
COMPLEX = {name: (np.dtype(name), getattr(torch, name)) for name in ("complex64", "complex128")}
REAL = {**FLOATING, **INTEGRAL}


def generators(seed: int) -> tuple[Generator, Any]:
    return Generator().manual_seed(seed), torch.Generator().manual_seed(seed)


def to_numpy(tensor: Any) -> Any:
    """A torch tensor as an array, bfloat16 included."""
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def bits(array: Any) -> Any:
    """The array's bits as integers that grow with the numbers, so that neighbours differ by 1."""
    array = np.ascontiguousarray(array)
    if array.dtype.kind in "iub":
        return array.astype(np.int64)
    if array.dtype.kind == "c":
        array = array.view(array.real.dtype)
    raw = array.view(f"i{array.dtype.itemsize}").astype(np.int64)
    return np.where(raw < 0, np.iinfo(f"i{array.dtype.itemsize}").min - raw, raw)


def assert_same(array: Any, tensor: Any, ulps: int = 0) -> None:
    expected = to_numpy(tensor)
    assert array.shape == expected.shape
    assert array.dtype == expected.dtype
    assert np.all(np.abs(bits(array) - bits(expected)) <= ulps)


def assert_same_state(generator: Generator, reference: Any) -> None:
    np.testing.assert_array_equal(generator.get_state_array(), reference.get_state().numpy())


def assert_same_error(ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    with pytest.raises((RuntimeError, NotImplementedError, ValueError, TypeError)) as expected:
        theirs()
    with pytest.raises(expected.type) as raised:
        ours()
    assert raised.type is expected.type
    assert str(raised.value) == str(expected.value).partition("\n")[0]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize(
    ("name", "arguments", "ulps"),
    [
        ("uniform_", (), 0),
        ("uniform_", (-0.1, 0.3), 0),
        ("uniform_", (2.0, 2.0), 0),
        ("normal_", (), 0),
        ("normal_", (0.3, 0.7), 0),
        ("normal_", (1.0, 0.0), 0),
        ("exponential_", (), 0),
        ("exponential_", (0.7,), 0),
        ("cauchy_", (0.5, 0.7), 0),
        ("log_normal_", (0.3, 0.7), 1),  # NumPy's vectorised exp is not the C library's
        ("geometric_", (0.3,), 0),
        ("bernoulli_", (0.3,), 0),
    ],
)
def test_floating(name: str, arguments: tuple[float, ...], ulps: int, dtype: str, seed: int) -> None:
    numpy_type, torch_type = FLOATING[dtype]
    generator, reference = generators(seed)
    for size in SIZES:
        array = np.empty(size, numpy_type)
        getattr(sampling, name)(array, generator, *arguments)
        tensor = getattr(torch.empty(size, dtype=torch_type), name)(*arguments, generator=reference)
        assert_same(array, tensor, ulps if dtype == "float64" else 0)
        assert_same_state(generator, reference)


@pytest.mark.parametrize("name", ["uniform_", "normal_"])
@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex(name: str, dtype: str) -> None:
    numpy_type, torch_type = COMPLEX[dtype]
    generator, reference = generators(3)
    for size in SIZES:
        array = np.empty(size, numpy_type)
        getattr(sampling, name)(array, generator)
        assert_same(array, getattr(torch.empty(size, dtype=torch_type), name)(generator=reference))
    array = np.zeros((3, 4), numpy_type)
    getattr(sampling, name)(array.T[1:], generator)
    tensor = torch.zeros(3, 4, dtype=torch_type)
    getattr(tensor.T[1:], name)(generator=reference)
    assert_same(array, tensor)


RANGES = [
    (),
    (0, 2),
    (0, 100),
    (-5, 100),
    (3, None),
    (0, 2**28 - 1),
    (0, 2**28),
    (-10, 2**40),
    (-(2**63), 2**63 - 1),
    (-(2**63), None),
    (16777210, 16777300),
    (2040, 2100),
    (-5000, -1000),
    (4097, 5000),
    (0, 65504),
    (0, 65519),
]


@pytest.mark.filterwarnings("ignore:.*is out of bounds")
@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("bounds", RANGES)
def test_random(bounds: tuple[int | None, ...], dtype: str) -> None:
    numpy_type, torch_type = REAL[dtype]
    for seed in SEEDS:
        generator, reference = generators(seed)
        for size in (0, 1, 7, 17, 1000):
            array, tensor = np.empty(size, numpy_type), torch.empty(size, dtype=torch_type)
            try:
                tensor.random_(*bounds, generator=reference)
            except RuntimeError:
                assert_same_error(
                    lambda array=array, generator=generator: sampling.random_(array, generator, *bounds),
                    lambda tensor=tensor, reference=reference: tensor.random_(*bounds, generator=reference),
                )
            else:
                sampling.random_(array, generator, *bounds)
                assert_same(array, tensor)
            assert_same_state(generator, reference)


def test_random_warns_where_float32_is_too_coarse() -> None:
    with warnings.catch_warnings(record=True) as expected:
        warnings.simplefilter("always")
        torch.set_warn_always(True)
        torch.empty(3).random_(0, 2**30)
        torch.set_warn_always(False)
    text = str(expected[0].message).partition(" (Triggered")[0]
    with pytest.warns(UserWarning) as warned:
        sampling.random_(np.empty(3, np.float32), Generator(), 0, 2**30)
    assert str(warned[0].message) == text


@pytest.mark.parametrize("seed", SEEDS)
def test_randperm(seed: int) -> None:
    generator, reference = generators(seed)
    for size in SIZES:
        assert_same(sampling.randperm(size, generator), torch.randperm(size, generator=reference))
        assert_same_state(generator, reference)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("size", [5, 128, 129, 256, 257, 2049, 2050])
def test_randperm_dtypes(size: int, dtype: str) -> None:
    numpy_type, torch_type = REAL[dtype]
    generator, reference = generators(5)
    try:
        expected = torch.randperm(size, generator=reference, dtype=torch_type)
    except RuntimeError:
        assert_same_error(
            lambda: sampling.randperm(size, generator, numpy_type),
            lambda: torch.randperm(size, generator=reference, dtype=torch_type),
        )
    else:
        assert_same(sampling.randperm(size, generator, numpy_type), expected)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("probability_dtype", FLOATING)
def test_bernoulli_of_an_array(dtype: str, probability_dtype: str) -> None:
    numpy_type, torch_type = REAL[dtype]
    generator, reference = generators(11)
    for size in SIZES:
        p = torch.rand(size).to(FLOATING[probability_dtype][1])
        array = np.empty(size, numpy_type)
        sampling.bernoulli_(array, generator, to_numpy(p))
        assert_same(array, torch.empty(size, dtype=torch_type).bernoulli_(p, generator=reference))
    array = np.empty((4, 3), numpy_type)
    sampling.bernoulli_(array, generator, np.array([0.1, 0.5, 0.9], np.float32))
    tensor = torch.empty(4, 3, dtype=torch_type)
    assert_same(array, tensor.bernoulli_(torch.tensor([0.1, 0.5, 0.9]), generator=reference))


@pytest.mark.parametrize(
    ("name", "p", "dtype"),
    [
        *(("bernoulli_", 0.3, dtype) for dtype in INTEGRAL),
        *(("geometric_", 0.4, dtype) for dtype in INTEGRAL if dtype != "bool"),
    ],
)
def test_integral(name: str, p: float, dtype: str) -> None:
    numpy_type, torch_type = INTEGRAL[dtype]
    generator, reference = generators(7)
    for size in SIZES:
        array = np.empty(size, numpy_type)
        getattr(sampling, name)(array, generator, p)
        assert_same(array, getattr(torch.empty(size, dtype=torch_type), name)(p, generator=reference))


VIEWS: dict[str, Callable[[Any], Any]] = {
    "every other column": lambda x: x[:, :, ::2],
    "a corner": lambda x: x[1:, 2:5, 3:],
    "one column": lambda x: x[..., 1],
    "an element": lambda x: x[1, 1, 1, ...],
    "exchanged axes": lambda x: x.swapaxes(0, 1),
    "exchanged axes of a corner": lambda x: x[1:, :4].swapaxes(1, 2).swapaxes(0, 2),
}


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("view", VIEWS)
def test_strided_targets(view: str, dtype: str) -> None:
    """They are filled in the order of memory, and normal_ never in groups of 16."""
    numpy_type, torch_type = FLOATING[dtype]
    generator, reference = generators(9)
    p = torch.rand(VIEWS[view](np.empty((5, 6, 7))).shape)
    for name, arguments in (("uniform_", ()), ("normal_", ()), ("random_", (0, 99)), ("bernoulli_", (p,))):
        array, tensor = np.zeros((5, 6, 7), numpy_type), torch.zeros(5, 6, 7, dtype=torch_type)
        ours = [to_numpy(each) if isinstance(each, torch.Tensor) else each for each in arguments]
        getattr(sampling, name)(VIEWS[view](array), generator, *ours)
        getattr(VIEWS[view](tensor), name)(*arguments, generator=reference)
        assert_same(array, tensor)


@pytest.mark.parametrize("name", ["uniform_", "normal_", "random_", "bernoulli_", "exponential_"])
def test_a_target_whose_elements_share_memory(name: str) -> None:
    array = np.broadcast_to(np.zeros(1, np.float32), (30,))
    assert_same_error(
        lambda: getattr(sampling, name)(array, Generator()),
        lambda: getattr(torch.zeros(1).expand(30), name)(),
    )


def test_interleaved_calls() -> None:
    """Draws of 24, 32, 53 and 64 bits and the waiting half of a pair of normals follow each other in one stream."""
    generator, reference = generators(2024)

    def filled(name: str, size: int, numpy_type: Any, *arguments: Any) -> Any:
        array = np.empty(size, numpy_type)
        getattr(sampling, name)(array, generator, *arguments)
        return array

    for _ in range(100):  # long enough to go round the 624 words of the state
        assert_same(filled("normal_", 3, np.float32), torch.randn(3, generator=reference))
        assert_same(filled("uniform_", 20, np.float32), torch.rand(20, generator=reference))
        assert_same(filled("random_", 5, np.int64, 0, 10), torch.randint(10, (5,), generator=reference))
        assert_same(filled("normal_", 5, np.float64), torch.randn(5, dtype=torch.float64, generator=reference))
        assert_same(filled("normal_", 33, np.float32), torch.randn(33, generator=reference))
        assert_same(filled("random_", 5, np.int64, 0, 2**40), torch.randint(2**40, (5,), generator=reference))
        assert_same(sampling.randperm(9, generator), torch.randperm(9, generator=reference))
        assert_same(filled("normal_", 2, np.float32, 1.0, 2.0), torch.empty(2).normal_(1, 2, generator=reference))
        assert_same_state(generator, reference)


def test_a_million_normals_bit_for_bit() -> None:
    generator, reference = generators(123)
    array = np.empty(1_000_000, np.float32)
    sampling.normal_(array, generator)
    assert_same(array, torch.randn(1_000_000, generator=reference))


ROW, TABLE = np.array([0.5, 0.0, 3.0], np.float32), np.ones((2, 3))


@pytest.mark.parametrize(
    ("mean", "std"), [(0.5, ROW), (0.5, TABLE), (ROW, 2.0), (TABLE, 2.0), (ROW, ROW), (ROW, TABLE), (TABLE, ROW)]
)
def test_normal_of_arrays(mean: Any, std: Any) -> None:
    generator, reference = generators(4)
    ours = sampling.normal(mean, std, generator)
    theirs = [torch.from_numpy(each) if isinstance(each, np.ndarray) else each for each in (mean, std)]
    assert_same(ours, torch.normal(*theirs, generator=reference))


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("dtype", FLOATING)
def test_dropout_mask(dtype: str, p: float) -> None:
    numpy_type, torch_type = FLOATING[dtype]
    for shape in ((5,), (100,), (2, 3, 4, 5)):
        generator = Generator().manual_seed(6)
        torch.manual_seed(6)
        array = np.empty(shape, numpy_type)
        sampling.dropout_mask(array, generator, p)
        assert_same(array, torch.nn.functional.dropout(torch.ones(shape, dtype=torch_type), p))
        assert_same_state(generator, torch.default_generator)


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize(
    ("shape", "num_samples"), [((10,), 1), ((10,), 3), ((10,), 10), ((5, 20), 1), ((5, 20), 7), ((3, 50), 4)]
)
def test_multinomial(shape: tuple[int, ...], num_samples: int, replacement: bool, dtype: str) -> None:
    if dtype in ("float16", "bfloat16") and not replacement:
        num_samples = 1  # of equal scores, frequent in 16 bits, topk takes any
    generator, reference = generators(12)
    for _ in range(10):
        weights = (torch.randperm(math.prod(shape)) + 1).view(shape).to(FLOATING[dtype][1])
        for each in (weights, weights.mT if weights.ndim == 2 else weights[::2]):
            count = min(num_samples, each.shape[-1])
            drawn = sampling.multinomial(to_numpy(each), count, replacement, generator)
            assert_same(drawn, torch.multinomial(each, count, replacement, generator=reference))
        assert_same_state(generator, reference)


def test_multinomial_never_draws_what_has_no_weight() -> None:
    generator, reference = generators(13)
    weights = torch.tensor([[0.0, 1.0, 0.0, 2.0], [3.0, 0.0, 0.0, 1.0]])
    for replacement, num_samples in ((False, 2), (True, 50)):
        drawn = sampling.multinomial(weights.numpy(), num_samples, replacement, generator)
        assert_same(drawn, torch.multinomial(weights, num_samples, replacement, generator=reference))
        assert np.all(np.take_along_axis(weights.numpy(), drawn, axis=1) > 0)
    assert sampling.multinomial(np.ones((0, 2)), 1, True, generator).shape == (0, 1)


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize(
    ("weights", "num_samples"),
    [
        (torch.tensor(0.5), 1),
        (torch.ones(2, 2, 2), 1),
        (torch.tensor([1, 2]), 1),
        (torch.ones(3), 0),
        (torch.tensor([0.5, -0.5]), 1),
        (torch.tensor([0.5, float("nan")]), 1),
        (torch.tensor([0.5, float("inf")]), 1),
        (torch.tensor([[0.0, 0.0], [1.0, 1.0]]), 2),
        (torch.ones(2, 0), 2),
        (torch.ones(1).expand(2**24 + 1), 1),
    ],
)
def test_multinomial_errors(weights: Any, num_samples: int, replacement: bool) -> None:
    assert_same_error(
        lambda: sampling.multinomial(weights.numpy(), num_samples, replacement, Generator()),
        lambda: torch.multinomial(weights, num_samples, replacement),
    )


@pytest.mark.parametrize("wrong", [-0.5, float("nan"), float("inf")])
def test_multinomial_says_the_same_of_wrong_weights_however_it_draws(wrong: float) -> None:
    with pytest.raises(RuntimeError, match="probability tensor contains either `inf`, `nan` or element < 0"):
        sampling.multinomial(np.array([0.5, wrong]), 2, True, Generator())


def test_multinomial_of_too_many_samples() -> None:
    assert_same_error(
        lambda: sampling.multinomial(np.ones(2), 3, False, Generator()),
        lambda: torch.multinomial(torch.ones(2), 3, False),
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gamma_and_dirichlet(dtype: str) -> None:
    generator, reference = generators(14)
    alpha = torch.cat([torch.rand(500), torch.rand(500) * 10, torch.tensor([0.0, 1e-6, 1.0, 1e6, -0.5, float("nan")])])
    alpha = alpha.to(FLOATING[dtype][1])
    assert_same(sampling.standard_gamma(alpha.numpy(), generator), torch._standard_gamma(alpha, generator=reference))
    assert_same_state(generator, reference)
    alpha = alpha[:1000].view(200, 5)
    shares = sampling.dirichlet(alpha.numpy(), generator)
    expected = torch._sample_dirichlet(alpha, generator=reference)
    assert_same(shares, expected, ulps=4 if dtype == "float64" else 0)  # the gammas' sum is rounded in another order
    assert_same_state(generator, reference)


@pytest.mark.parametrize("dtype", FLOATING)
def test_poisson(dtype: str) -> None:
    generator, reference = generators(15)
    rate = torch.cat([torch.rand(500) * 12, torch.rand(500) * 1000, torch.tensor([0.0, 10.0, 1e4])])
    rate = rate.to(FLOATING[dtype][1])
    assert_same(sampling.poisson(to_numpy(rate), generator), torch.poisson(rate, generator=reference))
    assert_same_state(generator, reference)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_binomial(dtype: str) -> None:
    generator, reference = generators(16)
    torch_type = FLOATING[dtype][1]
    nan = float("nan")
    special_count, special_prob = [5.0, -5, 5, 0, 7, 7.5, 1e7, 1e6], [0.5, 0.5, nan, 0.5, 0, 1, 0.3, 0.9]
    count = torch.cat([torch.randint(0, 200, (1000,)), torch.tensor(special_count)]).to(torch_type)
    prob = torch.cat([torch.rand(1000), torch.tensor(special_prob)]).to(torch_type)
    drawn = sampling.binomial(count.numpy(), prob.numpy(), generator)
    np.testing.assert_array_equal(drawn, torch.binomial(count, prob, generator=reference).numpy(), strict=True)
    assert_same_state(generator, reference)
    count, prob = count[:6].view(2, 3), prob[:3]
    drawn = sampling.binomial(count.numpy(), prob.numpy(), generator)
    assert_same(drawn, torch.binomial(count, prob.expand(2, 3), generator=reference))


@pytest.mark.parametrize("k", [0, 1, 5, 9, 10, 11, 30, 1000])
def test_what_stirlings_formula_leaves_out(k: int) -> None:
    stirling = (k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi)
    assert _stirling_rest(k) == pytest.approx(math.log(math.factorial(k)) - stirling, abs=1e-9)


@pytest.mark.parametrize(
    ("ours", "theirs", "arguments"),
    [
        (sampling.standard_gamma, torch._standard_gamma, [torch.ones(2, dtype=torch.float16)]),
        (sampling.standard_gamma, torch._standard_gamma, [torch.ones(2, dtype=torch.int64)]),
        (sampling.dirichlet, torch._sample_dirichlet, [torch.ones(2, dtype=torch.int64)]),
        (sampling.poisson, torch.poisson, [torch.tensor([1.0, -1.0])]),
        (sampling.poisson, torch.poisson, [torch.tensor([float("nan")])]),
        (sampling.poisson, torch.poisson, [torch.tensor([1])]),
        (sampling.binomial, torch.binomial, [torch.tensor([1]), torch.tensor([0.5])]),
        (sampling.binomial, torch.binomial, [torch.tensor([1.0]), torch.tensor([1])]),
        (sampling.binomial, torch.binomial, [torch.tensor([1.0]).double(), torch.tensor([0.5])]),
        (sampling.binomial, torch.binomial, [torch.ones(1).half(), torch.ones(1).half()]),
    ],
)
def test_rejection_sampler_errors(ours: Callable[..., Any], theirs: Callable[..., Any], arguments: list[Any]) -> None:
    assert_same_error(
        lambda: ours(*(argument.numpy() for argument in arguments), Generator()),
        lambda: theirs(*arguments),
    )


def empty(dtype: str = "float32", size: int = 3) -> tuple[Any, Any]:
    numpy_type, torch_type = {**REAL, **COMPLEX}[dtype]
    return np.empty(size, numpy_type), torch.empty(size, dtype=torch_type)


@pytest.mark.parametrize(
    ("name", "arguments", "dtype"),
    [
        ("uniform_", (2.0, 1.0), "float32"),
        ("uniform_", (0.0, 1e39), "float32"),
        ("uniform_", (-3e38, 3e38), "float32"),
        ("uniform_", (float("nan"), 1.0), "float64"),
        ("uniform_", (0.0, 1e5), "float16"),
        ("uniform_", (), "int32"),
        ("uniform_", (), "bool"),
        ("normal_", (0.0, -1.0), "float32"),
        ("normal_", (0.0, float("nan")), "float32"),
        ("normal_", (), "int64"),
        ("exponential_", (0.0,), "float32"),
        ("exponential_", (), "int16"),
        ("cauchy_", (0.0, 0.0), "float32"),
        ("cauchy_", (), "int16"),
        ("log_normal_", (0.0, 0.0), "float32"),
        ("log_normal_", (), "int8"),
        ("geometric_", (0.0,), "float32"),
        ("geometric_", (1.0,), "float32"),
        ("geometric_", (0.5,), "bool"),
        ("geometric_", (0.5,), "complex64"),
        ("bernoulli_", (2.0,), "float32"),
        ("bernoulli_", (-0.5,), "float32"),
        ("bernoulli_", (float("nan"),), "float32"),
        ("bernoulli_", (0.5,), "complex64"),
        ("random_", (5, 5), "float32"),
        ("random_", (5, 3), "int64"),
        ("random_", (-1, 3), "uint8"),
        ("random_", (0, 300), "uint8"),
        ("random_", (0, 3), "bool"),
        ("random_", (0, 70000), "float16"),
        ("random_", (-70000, 5), "float16"),
        ("random_", (2**62, None), "float32"),
        ("random_", (0, 3), "complex64"),
        ("random_", (), "complex64"),
    ],
)
def test_errors(name: str, arguments: tuple[Any, ...], dtype: str) -> None:
    array, tensor = empty(dtype)
    assert_same_error(
        lambda: getattr(sampling, name)(array, Generator(), *arguments),
        lambda: getattr(tensor, name)(*arguments),
    )


@pytest.mark.parametrize("p", [[0.5, 2.0], [-0.5, 0.5], [0.5, float("nan")], [0, 1]])
def test_bernoulli_errors_of_an_array(p: list[float]) -> None:
    array, tensor = empty(size=2)
    assert_same_error(
        lambda: sampling.bernoulli_(array, Generator(), np.array(p)),
        lambda: tensor.bernoulli_(torch.tensor(p)),
    )


def test_other_errors() -> None:
    assert_same_error(lambda: sampling.randperm(-1, Generator()), lambda: torch.randperm(-1))
    std = np.array([1.0, -1.0], np.float32)
    assert_same_error(
        lambda: sampling.normal(0.0, std, Generator()),
        lambda: torch.normal(0.0, torch.from_numpy(std)),
    )


@pytest.mark.parametrize("seed", [*SEEDS, True, np.int64(3)])
def test_manual_seed(seed: int) -> None:
    assert random.manual_seed(seed).initial_seed() == torch.manual_seed(seed).initial_seed()
    assert random.initial_seed() == torch.initial_seed()


@pytest.mark.parametrize("seed", ["a", None, 2**64, -(2**63) - 1])
def test_manual_seed_errors(seed: Any) -> None:
    assert_same_error(lambda: random.manual_seed(seed), lambda: torch.manual_seed(seed))
    assert_same_error(lambda: Generator().manual_seed(seed), lambda: torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("seed", [1.5, True, "5"])
def test_a_generator_is_stricter_about_its_seed(seed: Any) -> None:
    assert random.manual_seed(seed).initial_seed() == torch.manual_seed(seed).initial_seed()
    assert_same_error(lambda: Generator().manual_seed(seed), lambda: torch.Generator().manual_seed(seed))


def test_seed_is_new_every_time() -> None:
    generator = Generator()
    assert generator.initial_seed() == torch.Generator().initial_seed()
    seeds = {generator.seed() for _ in range(10)}
    assert len(seeds) == 10
    assert generator.initial_seed() in seeds
    assert random.seed() == random.initial_seed()


@pytest.mark.parametrize("drawn", [0, 3, 15, 200, 624, 1000])
def test_state_goes_to_torch_and_back(drawn: int) -> None:
    """`drawn` normals: an odd number below 16 leaves half a pair waiting, which is part of the state."""
    generator, reference = generators(2**32 + 5)
    array, strided = np.empty(9, np.float32), np.empty((drawn, 2), np.float32)[:, 0]
    sampling.normal_(strided, generator)
    reference.set_state(torch.from_numpy(generator.get_state_array()))
    assert reference.initial_seed() == generator.initial_seed()
    sampling.normal_(array, generator)
    assert_same(array, torch.randn(9, generator=reference))

    torch.randn(7, generator=reference)
    generator.set_state_array(reference.get_state().numpy())
    sampling.normal_(array, generator)
    assert_same(array, torch.randn(9, generator=reference))
    assert_same_state(generator, reference)


def test_state_as_a_tensor() -> None:
    random.manual_seed(5)
    state = random.get_rng_state()
    assert (tuple(state.shape), str(state.dtype)) == ((5056,), "torch.uint8")
    first, second = np.empty(9), np.empty(9)
    sampling.normal_(first, random.default_generator)
    random.set_rng_state(state)
    sampling.normal_(second, random.default_generator)
    np.testing.assert_array_equal(first, second)
    assert_same_error(lambda: random.default_generator.set_state([1]), lambda: torch.Generator().set_state([1]))


def test_state_errors() -> None:
    generator, reference = generators(0)
    good = generator.get_state_array()
    bad = {
        "zeros": np.zeros(5056, np.uint8),
        "size": np.zeros(5048, np.uint8),
        "dtype": np.zeros(5056, np.float32),
        "strides": np.stack([good, good], 1)[:, 0],
    }
    for state in bad.values():
        assert_same_error(
            lambda state=state: generator.set_state_array(state),
            lambda state=state: reference.set_state(torch.from_numpy(state)),
        )
    assert_same_error(generator.get_offset, reference.get_offset)
    assert_same_error(lambda: generator.set_offset(1), lambda: reference.set_offset(1))


@pytest.mark.parametrize("copy", [Generator.clone_state, lambda generator: pickle.loads(pickle.dumps(generator))])
def test_copies_go_on_with_the_same_numbers(copy: Callable[[Generator], Generator]) -> None:
    generator = Generator().manual_seed(-1)
    sampling.normal_(np.empty(3), generator)
    other = copy(generator)
    first, second = np.empty(50), np.empty(50)
    sampling.normal_(first[::2], generator)
    sampling.normal_(second[::2], other)
    np.testing.assert_array_equal(first[::2], second[::2])
    assert other.initial_seed() == generator.initial_seed()
    assert other.device == generator.device


def test_fork_rng() -> None:
    state = random.default_generator.get_state_array()
    with random.fork_rng():
        random.manual_seed(3)
    np.testing.assert_array_equal(random.default_generator.get_state_array(), state)
    with random.fork_rng(enabled=False):
        random.manual_seed(3)
    assert random.initial_seed() == 3
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"), random.fork_rng(devices=[0]):
        pass
    with pytest.raises(RuntimeError, match="Cannot get CUDA generator"):
        Generator("cuda")


def test_importing_draws_nothing() -> None:
    """numpy.random takes as long to import as the rest of NumPy: it waits for the first draw."""
    program = "import sys, minitorch.random, minitorch.kernels.sampling; sys.exit('numpy.random' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
