"""Random numbers on a GPU: what others show of torch on NVIDIA GPUs, and PyTorch's kernels one thread at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch.gpu_generator import GPUGenerator
from minitorch.kernels import philox
from minitorch.random import default_gpu_generator
from tests.kernels.one_thread import (
    BLOCKS,
    OFFSET,
    SEED,
    Thread,
    grid_stride,
    normal2,
    normal4,
    scalar_philox,
    single,
    uniform2,
    uniform4,
    words2,
    words4,
)

F = torch.nn.functional


@pytest.fixture(autouse=True)
def a_gpu() -> Iterator[None]:
    torch.cuda.simulate(1)
    yield
    torch.cuda.simulate(0)


@pytest.fixture
def small_gpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A generator of a GPU that runs two blocks at once, which has drawn some words."""
    monkeypatch.setattr(GPUGenerator, "_blocks", lambda self: BLOCKS)
    generator = torch.Generator("cuda").manual_seed(SEED)
    generator.set_offset(OFFSET)
    return generator


# What others show.


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((2**32 - 1,) * 4, (2**32 - 1,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_known_answers_of_random123(
    counter: tuple[int, ...], key: tuple[int, int], words: tuple[int, ...]
) -> None:
    made = philox.philox4x32(np, tuple(np.array([each], np.uint64) for each in counter), key)
    assert tuple(int(each[0]) for each in made) == words == scalar_philox(counter, key)


RANDN_64 = [-0.3104, -0.0343, 0.1756, -2.2804, 0.5039, 0.5596, -0.0750, 0.9691, -0.2357, -0.4582, 0.5661, 1.2851]
SHOWN: dict[str, tuple[int, Callable[[], Any], list[float]]] = {
    # issue 47347 of PyTorch, and TensorRT-LLM's tests
    "rand": (0, lambda: torch.rand(10, device="cuda"), [0.3990, 0.5167, 0.0249, 0.9401, 0.9459, 0.7967, 0.4150]),
    # stable-diffusion-webui's rng_philox.py
    "randn": (0, lambda: torch.randn(8, 8, device="cuda"), [-0.9247, -0.4253, -2.6438, 0.1452, -0.1209, -0.5797]),
    # issue 79496
    "randn of another seed": (10, lambda: torch.randn(3, device="cuda"), [-0.1029, 1.6810, -0.2708]),
    # the notes that a course's students published: a slice of a float64 tensor
    "randn, float64": (0, lambda: torch.randn(8, 8, device="cuda", dtype=torch.float64), RANDN_64),
    # comments in published training code
    "randint": (0, lambda: torch.randint(0, 100, (8,), device="cuda"), [41, 97, 91, 72, 53, 4, 3, 33]),
}


@pytest.mark.parametrize("name", SHOWN)
def test_numbers_are_those_that_pytorch_prints_on_a_gpu(name: str) -> None:
    seed, draw, shown = SHOWN[name]
    torch.manual_seed(seed)
    assert draw().flatten().tolist()[: len(shown)] == pytest.approx(shown, abs=5.1e-5)


def test_the_second_draw_goes_on_where_pytorch_does() -> None:
    torch.manual_seed(0)
    torch.rand(10, device="cuda")
    second = [0.9722, 0.7910, 0.4690, 0.3300, 0.3345, 0.3783, 0.7640, 0.6405, 0.1103, 0.3594]
    assert torch.rand(10, device="cuda").tolist() == pytest.approx(second, abs=5.1e-5)
    torch.manual_seed(0)
    torch.randn(2, 3, 8, 8, device="cuda", dtype=torch.float64)
    gradient = torch.randn(2, 3, 4, 4, device="cuda", dtype=torch.float64)
    assert gradient.flatten().tolist()[:5] == pytest.approx([0.3292, 0.2507, 0.9055, -0.4100, -0.9453], abs=5.1e-5)


def test_the_order_of_many_numbers_depends_on_the_multiprocessors() -> None:
    # Issue 143086 of PyTorch: an H100 has 132 of them, an A100 108, each with room for 8 blocks.
    for multiprocessors, last in ((132, [-0.6970, -0.7780, 0.3267]), (108, [0.1549, -0.6797, -0.1656])):
        numbers, _ = philox.fill(np, 49 * 12 * 112 * 144, 1, 0, 8 * multiprocessors, "normal")
        assert numbers[:3].tolist() == pytest.approx([-0.2963, 2.6764, -0.1408], abs=5.1e-5)
        assert numbers[-3:].tolist() == pytest.approx(last, abs=5.1e-5)


# One thread at a time.


def exponential(u: float, epsilon: float, rate: float) -> float:
    return -1 / rate * (-epsilon / 2 if u >= 1 - epsilon / 2 else math.log(u))


def cauchy(u: float) -> float:
    angle = single(single(math.pi) * (max(E32, min(u, 1 - E32)) - 0.5))  # which decides near the poles
    return 1 + 2 * math.tan(angle)


E32, E64 = 2.0**-23, 2.0**-52

Filled = tuple[Any, Callable[[Any, Any], Any], Callable[[Thread], list[Any]], Callable[[Any], Any]]
"""A dtype, a call that fills a tensor, what a thread draws at once, and what is made of each of that."""

FILLED: dict[str, Filled] = {
    "uniform": (torch.float32, lambda x, g: x.uniform_(generator=g), uniform4, lambda u: 0.0 if u == 1 else u),
    "uniform between bounds": (
        torch.float32, lambda x, g: x.uniform_(-3, 5, generator=g), uniform4, lambda u: 8 * u - 3,
    ),
    "uniform, float64": (torch.float64, lambda x, g: x.uniform_(-3, 5, generator=g), uniform2, lambda u: 8 * u - 3),
    "uniform, float16": (
        torch.float16, lambda x, g: x.uniform_(generator=g), uniform4, lambda u: float(np.float16(u)) % 1,
    ),
    "normal": (torch.float32, lambda x, g: x.normal_(1, 3, generator=g), normal4, lambda z: 3 * z + 1),
    "normal, float64": (torch.float64, lambda x, g: x.normal_(1, 3, generator=g), normal2, lambda z: 3 * z + 1),
    "log-normal": (torch.float32, lambda x, g: x.log_normal_(0, 0.5, generator=g), normal4, lambda z: math.exp(z / 2)),
    "log-normal, float64": (
        torch.float64, lambda x, g: x.log_normal_(generator=g), normal2, lambda z: math.exp(2 * z + 1),
    ),
    "exponential": (
        torch.float32, lambda x, g: x.exponential_(2, generator=g), uniform4, lambda u: exponential(u, E32, 2),
    ),
    "exponential, float64": (
        torch.float64, lambda x, g: x.exponential_(2, generator=g), uniform2, lambda u: exponential(u, E64, 2),
    ),
    "Cauchy": (torch.float32, lambda x, g: x.cauchy_(1, 2, generator=g), uniform4, cauchy),
    "Cauchy, float64": (
        torch.float64, lambda x, g: x.cauchy_(1, 2, generator=g), uniform2,
        lambda u: 1 + 2 * math.tan(math.pi * (u - 0.5)),
    ),
    "geometric": (
        torch.int64, lambda x, g: x.geometric_(0.2, generator=g), uniform4,
        lambda u: math.ceil(math.log(u) / math.log1p(-0.2)),
    ),
    "geometric, float64": (
        torch.float64, lambda x, g: x.geometric_(0.2, generator=g), uniform2,
        lambda u: math.ceil(math.log(u) / math.log1p(-0.2)),
    ),
    "Bernoulli": (torch.int8, lambda x, g: x.bernoulli_(0.3, generator=g), uniform4, lambda u: int(u < single(0.3))),
    "Bernoulli, float64": (
        torch.float64, lambda x, g: x.bernoulli_(0.3, generator=g), uniform2, lambda u: int(u < 0.3),
    ),
    "integers of 32 bits": (
        torch.int64, lambda x, g: x.random_(-5, 2**28 - 6, generator=g), words4, lambda w: w % (2**28 - 1) - 5,
    ),
    "integers of 64 bits": (
        torch.int64, lambda x, g: x.random_(-5, 2**28 - 5, generator=g), words2, lambda w: w % 2**28 - 5,
    ),
    "all integers": (torch.int64, lambda x, g: x.random_(generator=g), words2, lambda w: w % 2**63),
    "all integers, int32": (torch.int32, lambda x, g: x.random_(generator=g), words4, lambda w: w % 2**31),
    "all integers, uint8": (torch.uint8, lambda x, g: x.random_(generator=g), words4, lambda w: w % 2**8),
    "all integers, bool": (torch.bool, lambda x, g: x.random_(generator=g), words4, lambda w: w % 2),
    "all integers, float32": (torch.float32, lambda x, g: x.random_(generator=g), words4, lambda w: w % (2**24 + 1)),
    "all integers, float64": (torch.float64, lambda x, g: x.random_(generator=g), words2, lambda w: w % (2**53 + 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", FILLED)
@pytest.mark.parametrize("count", [3, 2500])
def test_a_tensor_is_filled_as_by_pytorchs_threads(name: str, count: int, small_gpu: Any) -> None:
    dtype, fill, draw, formula = FILLED[name]
    filled = torch.empty(count, device="cuda", dtype=dtype)
    fill(filled, small_gpu)
    drawn, further = grid_stride(count, draw)
    # A unit in the last place of float32's logarithm, sine or tangent, which a formula may make larger.
    wanted, relative = list(map(formula, drawn)), 2e-5 if dtype == torch.float32 else 1e-12
    assert filled.tolist() == pytest.approx(wanted, rel=relative, abs=1e-5 if dtype == torch.float32 else 1e-12)
    assert small_gpu.get_offset() == OFFSET + further


def test_complex_numbers_are_made_of_two(small_gpu: Any) -> None:
    made = torch.empty(700, device="cuda", dtype=torch.complex128).normal_(generator=small_gpu)
    drawn, _ = grid_stride(1400, normal2)
    assert torch.view_as_real(made).flatten().tolist() == pytest.approx([z / 2**0.5 for z in drawn], rel=1e-12)


def test_the_order_is_that_of_the_memory(small_gpu: Any) -> None:
    tensor = torch.empty(5, 7, device="cuda").t()
    tensor.uniform_(generator=small_gpu)
    drawn, _ = grid_stride(35, uniform4)
    assert tensor.t().flatten().tolist() == pytest.approx(drawn, rel=1e-6)


@pytest.mark.parametrize(
    ("dtype", "count"),
    [
        ("float32", 4096), ("float32", 8), ("float32", 4098), ("float32", 4099),
        ("float64", 4098), ("float64", 4099), ("float16", 8192), ("float16", 12),
    ],
)  # fmt: skip
def test_dropout_draws_as_pytorchs_kernel(dtype: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """`fused_dropout_kernel_vec`, or where the count is odd `fused_dropout_kernel`."""
    monkeypatch.setattr(GPUGenerator, "_blocks", lambda self: BLOCKS)
    torch.manual_seed(SEED)
    kept = F.dropout(torch.ones(count, device="cuda", dtype=getattr(torch, dtype)), 0.3).tolist()
    together = {"float16": 8, "float32": 4, "float64": 2}[dtype]
    while count % together:
        together //= 2
    threads = 256 * min(-(-count // 256), BLOCKS)
    wanted: list[Any] = [None] * count
    for index in range(threads):
        thread = Thread(index, offset=0)
        if together == 1:
            for start in range(index, count + 4 * threads, 4 * threads):
                for k, u in enumerate(uniform4(thread)):
                    if start + k * threads < count:
                        wanted[start + k * threads] = u
        else:
            for start in range(index * together, count, threads * together):
                drawn = [u for _ in range(-(-together // 4)) for u in uniform4(thread)]
                wanted[start : start + together] = drawn[:together]
    keep = 0.7 if dtype == "float64" else single(0.7)
    assert [each != 0 for each in kept] == [u < keep for u in wanted]
    assert max(kept) == pytest.approx(1 / 0.7, rel=1e-3 if dtype == "float16" else 1e-6)
    assert default_gpu_generator(0).get_offset() == ((count - 1) // (4 * threads) + 1) * 4


@pytest.mark.parametrize(
    ("dropout", "shape"),
    [
        (lambda x: F.dropout(x, inplace=True), (1, 16)),
        (lambda x: F.dropout2d(x[None, :, :, None])[0, :, :, 0], (16, 1)),
        (lambda x: F.alpha_dropout(x, training=True), (1, 16)),
    ],
)
def test_other_dropouts_draw_as_bernoulli(dropout: Callable[[Any], Any], shape: tuple[int, int]) -> None:
    torch.manual_seed(3)
    dropped = dropout(torch.full(shape, 2.0, device="cuda"))
    torch.manual_seed(3)
    assert torch.equal(dropped > 1, torch.empty(shape, device="cuda").bernoulli_(0.5) > 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tosses_with_probabilities_of_their_own(dtype: Any, small_gpu: Any) -> None:
    p = torch.linspace(0, 1, 1501, dtype=dtype, device="cuda")
    tossed = torch.bernoulli(p, generator=small_gpu).tolist()
    drawn = [u for index in range(376) for u in uniform4(Thread(index))]
    assert tossed == [u <= each for u, each in zip(drawn, p.tolist(), strict=False)]
    assert small_gpu.get_offset() == OFFSET + 12
    with pytest.raises(RuntimeError, match="expected probabilities tensor to have floating type, got Long"):
        torch.ones(3, device="cuda").bernoulli_(torch.ones(3, dtype=torch.int64, device="cuda"))


@pytest.mark.parametrize("n", [1, 10, 700, 30_000, 40_000])
def test_permutations_are_sorted_keys(n: int) -> None:
    """Of the 700 keys two are equal, and are exchanged."""
    generator = torch.Generator("cuda").manual_seed(SEED)
    permuted = torch.randperm(n, device="cuda", generator=generator).tolist()
    keys: Any = torch.empty(n, device="cuda", dtype=torch.int64 if n == 40_000 else torch.int32)
    low, high = torch.iinfo(keys.dtype).min, torch.iinfo(keys.dtype).max
    again = torch.Generator("cuda").manual_seed(SEED)
    keys = keys.random_(low, high, generator=again).tolist()
    bits = math.ceil(math.log2(n - (6 * n * n + 1) / (12 * math.log(0.9))))
    keys = keys if bits in (32, 64) else [key % 2**bits for key in keys]
    order = sorted(range(n), key=lambda place: keys[place])
    for first in range(n - 1):  # those of one key are shuffled by the thread of the first of them
        island = [place for place in range(first, min(first + 9, n)) if keys[order[place]] == keys[order[first]]]
        if len(island) > 1 and (first == 0 or keys[order[first - 1]] != keys[order[first]]):
            thread = Thread(first, offset=again.get_offset())
            for i in range(len(island) - 1, 0, -1):
                r = thread.word() % (i + 1)
                order[first + i], order[first + r] = order[first + r], order[first + i]
    assert permuted == order
    assert generator.get_offset() == again.get_offset() + -(-n // 4) * 4


def test_what_rounds_up_to_the_excluded_bound_becomes_the_other() -> None:
    made = torch.rand(50_000, device="cuda", dtype=torch.float16)
    assert (made.max() < 1).item() and (made == 0).sum().item() > 3  # of 12 that are expected


def test_multinomial_without_replacement_takes_the_largest_quotients(small_gpu: Any) -> None:
    weights = torch.linspace(1, 3, 300, device="cuda").reshape(3, 100)
    drawn = torch.multinomial(weights, 100, generator=small_gpu).tolist()
    exponentials = [exponential(u, E32, 1) for u in grid_stride(300, uniform4)[0]]
    for row in range(3):
        score = {j: weights[row, j].item() / exponentials[100 * row + j] for j in range(100)}
        assert drawn[row] == sorted(score, key=lambda j: -score[j])


def test_multinomial_with_replacement_looks_for_a_number_in_the_shares(small_gpu: Any) -> None:
    weights = torch.tensor([[0.0, 1, 2, 0, 1, 0], [1, 1, 1, 1, 1, 1], [0, 0, 0, 5, 0, 0]], device="cuda")
    drawn = torch.multinomial(weights, 200, replacement=True, generator=small_gpu).tolist()
    for row, each in enumerate(weights.tolist()):
        shares = np.cumsum(np.array(each) / sum(each))
        numbers = [Thread(row * 256 + sample).uniform() for sample in range(200)]  # two blocks of 128 for each row
        assert drawn[row] == [int(np.searchsorted(shares, u - 1e-9)) for u in numbers]
    assert small_gpu.get_offset() == OFFSET + 4


def scalar_poisson(rate: float, thread: Thread) -> int:
    if rate < 64:
        count, product = 0, math.exp(rate)
        while (product := product * thread.uniform()) > 1:
            count += 1
        return count
    if rate > 4000:
        return int(thread.normal_pair_double()[0] * math.sqrt(rate) + rate + 0.5)
    a = 1.43248035075540910 / math.sqrt(rate - 0.12400979329415655) + 0.00025361074907033
    b = 0.21096734870196546 / math.sqrt(rate - 1.97381164089999420) + 0.94201734077887530
    while True:
        x = math.floor(rate - (b + math.log(1 / math.sqrt(thread.uniform()) - 1)) / a)
        up_to = [1 / (1 + math.exp(a * (rate - each) - b)) ** 2 for each in (x + 1, x)]
        if thread.uniform() * (up_to[0] - up_to[1]) * 1.3 < math.exp(x * math.log(rate) - rate - math.lgamma(x + 1)):
            return x


def test_poisson_numbers(small_gpu: Any) -> None:
    rates = [0.0, 0.5, 3, 20, 63.9, 64, 100, 700, 3999, 4001, 1e6] * 20
    drawn = torch.poisson(torch.tensor(rates, device="cuda"), generator=small_gpu).tolist()
    assert drawn == [scalar_poisson(single(rate), Thread(index)) for index, rate in enumerate(rates)]
    assert small_gpu.get_offset() == OFFSET + 20


def scalar_gamma(alpha: float, thread: Thread) -> float:
    scale = 1.0
    if alpha < 1:
        scale, alpha = (1 - thread.uniform()) ** (1 / alpha), alpha + 1
    d = alpha - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = thread.normal()
        while (y := 1 + c * x) <= 0:
            x = thread.normal()
        v, u = y**3, 1 - thread.uniform()
        if u < 1 - 0.0331 * x**4 or math.log(u) < x * x / 2 + d * (1 - v + math.log(v)):
            return scale * d * v


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gamma_numbers(dtype: Any, small_gpu: Any) -> None:
    alphas = [0.05, 0.3, 1, 1.01, 2.5, 40] * 100
    drawn = torch._standard_gamma(torch.tensor(alphas, device="cuda", dtype=dtype), generator=small_gpu).tolist()
    wanted = [scalar_gamma(alpha, Thread(index)) for index, alpha in enumerate(alphas)]
    assert drawn == pytest.approx(wanted, rel=2e-5, abs=1e-30)
    assert small_gpu.get_offset() == OFFSET + 12


def test_dirichlet_numbers_are_shares_of_gamma_numbers(small_gpu: Any) -> None:
    alpha = torch.tensor([[0.5, 2, 3], [1, 1, 9]], device="cuda", dtype=torch.float64)
    drawn = torch._sample_dirichlet(alpha, generator=small_gpu)
    small_gpu.set_offset(OFFSET)
    gamma = torch._standard_gamma(alpha, generator=small_gpu)
    torch.testing.assert_close(drawn, gamma / gamma.sum(-1, keepdim=True))


def tail(k: float) -> float:
    return math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi))


def scalar_binomial(n: float, p: float, thread: Thread) -> float:
    if p > 0.5:
        return n - scalar_binomial(n, 1 - p, thread) if n > 0 and p < 1 else max(n, 0)
    if n <= 0 or p <= 0:
        return 0

    def uniform() -> float:
        return (thread.word() & 0xFFFFFF) * 2.0**-24

    count, trials = 0, 0.0
    if n * p < 10:
        while (trials := trials + math.ceil(math.log(uniform()) / math.log1p(-p))) <= n:
            count += 1
        return count
    deviation, odds, m = math.sqrt(n * p * (1 - p)), p / (1 - p), math.floor((n + 1) * p)
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + n * p + 0.5)
        if not 0 <= k <= n:
            continue
        if us >= 0.07 and v <= 0.92 - 4.2 / b:
            return k
        limit = (m + 0.5) * math.log((m + 1) / (odds * (n - m + 1))) + (n + 1) * math.log((n - m + 1) / (n - k + 1))
        limit += (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1)) + tail(m) + tail(n - m) - tail(k) - tail(n - k)
        if math.log(v * (2.83 + 5.1 / b) * deviation / (a / (us * us) + b)) <= limit:
            return k


def test_binomial_numbers(small_gpu: Any) -> None:
    n = [10.0, 50, 200, 1000, 0, 7] * 400
    p = [0.3, 0.5, 0.9, 0.01, 0.5, 1] * 400
    given = (torch.tensor(each, device="cuda", dtype=torch.float64) for each in (n, p))
    drawn = torch.binomial(*given, generator=small_gpu).tolist()
    threads = {number: Thread(number) for number in range(3 * 128)}
    for element, (trials, probability) in enumerate(zip(n, p, strict=True)):
        thread = threads[element // 1024 * 128 + element % 128]  # 128 threads have 1024 elements, one after the other
        assert drawn[element] == scalar_binomial(trials, probability, thread)
    assert small_gpu.get_offset() == OFFSET + 44


def test_normal_numbers_around_given_ones(small_gpu: Any) -> None:
    mean, std = torch.arange(4.0, device="cuda"), torch.arange(1.0, 5.0, device="cuda")
    drawn = torch.normal(mean, std, generator=small_gpu).tolist()
    wanted = [z * (i + 1) + i for i, z in enumerate(grid_stride(4, normal4)[0])]
    assert drawn == pytest.approx(wanted, rel=1e-5)


def test_rrelu_draws_for_each_element(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GPUGenerator, "_blocks", lambda self: BLOCKS)
    torch.manual_seed(SEED)
    x = torch.linspace(-3, 1, 2500, device="cuda")
    drawn, _ = grid_stride(2500, uniform4, 0)
    wanted = [each * (0.25 * u + 0.25) if each <= 0 else each for each, u in zip(x.tolist(), drawn, strict=True)]
    assert F.rrelu(x, 0.25, 0.5, training=True).tolist() == pytest.approx(wanted, rel=1e-5)


def test_no_elements_take_no_numbers(small_gpu: Any) -> None:
    none = torch.empty(0, 3, device="cuda")
    assert torch.normal(none, none, generator=small_gpu).shape == none.uniform_(generator=small_gpu).shape == (0, 3)
    assert small_gpu.get_offset() == OFFSET
    assert torch.poisson(none).shape == torch._standard_gamma(none).shape == torch.binomial(none, none).shape == (0, 3)


# What is refused.


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: x.uniform_(2, 1), RuntimeError, r"uniform_ expects to return a \[from, to\) range, but found from"),
        (lambda x: x.normal_(0, -1), RuntimeError, "normal expects std >= 0.0, but found std -1"),
        (lambda x: x.exponential_(0), RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=0"),
        (lambda x: x.bernoulli_(1.5), RuntimeError, r"bernoulli_ expects p to be in \[0, 1\], but got p=1.5"),
        (lambda x: x.random_(3, 3), RuntimeError, "random_ expects 'from' to be less than 'to', but got from=3"),
        (lambda x: x.long().normal_(), NotImplementedError, "\"normal_kernel_cuda\" not implemented for 'Long'"),
        (lambda x: torch.rand(2, device="cuda", generator=torch.Generator()), RuntimeError, "Expected a 'cuda' device"),
        (lambda x: torch.poisson(x, generator=torch.Generator()), RuntimeError, "Expected a 'cuda' device"),
    ],
)  # fmt: skip
def test_what_is_refused(call: Callable[[Any], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(torch.zeros(3, device="cuda"))
