"""PyTorch's random numbers: words of Matsumoto and Nishimura's Mersenne Twister (1998), and what is made of them."""

# 02 · Tensors and storage
from __future__ import annotations

from typing import Any

import numpy as np

from .creation import new, one_tuple
from .settings import TYPE_NAMES, dtype, float64, int64, settings
from .strides import count_of
from .tensor import Tensor


class Generator:
    """A stream of random words. Equal seeds give equal streams."""

    def __init__(self, seed: int = 67280421310721) -> None:
        self.manual_seed(seed)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream that belongs to a seed; its lowest 32 bits count."""
        self.twister = np.random.MT19937()
        self.twister._legacy_seeding(seed & 0xFFFFFFFF)
        self.waiting: float | None = None
        return self

    def words(self, count: int) -> Any:
        """The next words, each a number of 32 bits."""
        return self.twister.random_raw(count)

    def uniform(self, count: int, bits: int = 24) -> Any:
        """Numbers in [0, 1): the lowest 24 bits of a word, or the lowest 53 of two words, over 2^bits."""
        if bits == 24:
            return (self.words(count) & 0xFFFFFF) / 2.0**24
        pairs = self.words(2 * count)
        return ((pairs[0::2] << np.uint64(32) | pairs[1::2]) & np.uint64(2**53 - 1)) / 2.0**53

    def normal(self) -> float:
        """One normal number. They come in pairs; the second waits for the next call."""
        if self.waiting is not None:
            number, self.waiting = self.waiting, None
            return number
        u, v = self.uniform(2, 53)
        radius = np.sqrt(-2 * np.log1p(-v))
        self.waiting = float(radius * np.sin(2 * np.pi * u))
        return float(radius * np.cos(2 * np.pi * u))


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Start the default generator's stream anew."""
    return default_generator.manual_seed(seed)


def bits_of(type_: dtype) -> int:
    """How many random bits a uniform number of this type has."""
    return 53 if type_ is float64 else 24


def rand(*size: Any, dtype: dtype | None = None, device: Any = None, generator: Any = None) -> Tensor:
    """Uniform numbers in [0, 1)."""
    shape, type_ = one_tuple(size), dtype or settings.default_dtype
    if not type_.is_floating_point:
        raise NotImplementedError(f"\"check_uniform_bounds\" not implemented for '{TYPE_NAMES[type_.name]}'")
    numbers = (generator or default_generator).uniform(count_of(shape), bits_of(type_))
    rounded = numbers.astype(type_.numpy)
    rounded[rounded == 1] = 0  # 16 bits may round up to what isn't in the interval
    return new(rounded.reshape(shape), device)


def randn(
    *size: Any, dtype: dtype | None = None, device: Any = None, generator: Any = None, requires_grad: bool = False
) -> Tensor:
    """Normal numbers, mean 0 and variance 1."""
    shape, type_, source = one_tuple(size), dtype or settings.default_dtype, generator or default_generator
    count = count_of(shape)
    if count < 16:
        numbers = np.array([source.normal() for _ in range(count)])
    else:
        exact = np.float64 if type_ is float64 else np.float32
        whole = count // 16 * 16
        # A last group that isn't full takes words in vain, but for types of 16 bits.
        uniform = source.uniform(whole if type_.itemsize == 2 else count, bits_of(type_)).astype(exact)
        numbers = np.append(box_muller(uniform[:whole]), np.zeros(count - whole, exact))
        if count % 16:
            numbers[-16:] = box_muller(source.uniform(16, bits_of(type_)).astype(exact))
    return new(numbers.astype(type_.numpy).reshape(shape), device, requires_grad)


def box_muller(uniform: Any) -> Any:
    """Box and Muller's normal numbers (1958), in groups of 16: the first 8 give the radius, the other 8 the angle."""
    groups = uniform.reshape(-1, 2, 8)
    radius, angle = np.sqrt(-2 * np.log(1 - groups[:, 0])), 2 * np.pi * groups[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)


def rand_like(x: Tensor, *, dtype: dtype | None = None) -> Tensor:
    """Uniform numbers in [0, 1) with the shape, type and device of `x`."""
    return rand(x.shape, dtype=dtype or x.dtype, device=x.device)


def randn_like(x: Tensor, *, dtype: dtype | None = None) -> Tensor:
    """Normal numbers with the shape, type and device of `x`."""
    return randn(x.shape, dtype=dtype or x.dtype, device=x.device)


def randint(
    low: int, high: Any, size: Any = None, *, dtype: dtype = int64, device: Any = None, generator: Any = None
) -> Tensor:
    """Integers from `low` up to, without, `high`: `randint(2, 10, (3,))`, or from 0 on, `randint(10, (3,))`."""
    if size is None:
        low, high, size = 0, low, high
    words = (generator or default_generator).words(count_of(size) * (1 if high - low < 2**28 else 2))
    if high - low >= 2**28:
        words = words[0::2] << np.uint64(32) | words[1::2]
    numbers = (words % np.uint64(high - low)).astype(np.int64) + low
    return new(numbers.astype(dtype.numpy).reshape(size), device)


def randperm(n: int, *, generator: Any = None) -> Tensor:
    """The numbers below n in random order: each place changes with one of those from it on (Fisher and Yates)."""
    order = list(range(n))
    for place, word in enumerate((generator or default_generator).words(max(n - 1, 0)).tolist()):
        other = place + word % (n - place)
        order[place], order[other] = order[other], order[place]
    return new(np.array(order, np.int64))


def bernoulli(probability: float, size: tuple[int, ...]) -> Any:
    """An array of booleans, each True with this probability; dropout draws from it."""
    return (default_generator.uniform(count_of(size), 53) < probability).reshape(size)


# 14 · Attention
from .checks import refuse
from .dispatch import method
from .tensor import on_host


@method
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Places drawn with these weights, whatever their sum: (n,) to (num_samples,), or (m, n) row by row."""
    check_weights(input, num_samples, replacement)
    source, weights = generator or default_generator, on_host(input)
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        shares = np.cumsum(rows, -1)
        drawn = source.uniform(len(rows) * num_samples, 53).reshape(len(rows), num_samples, 1)
        places = ((shares / shares[:, -1:])[:, None] < drawn).sum(-1).reshape(*input.shape[:-1], num_samples)
    else:
        with np.errstate(all="ignore"):
            scores = weights / exponential(source, weights.size, weights.dtype).reshape(weights.shape)
        places = np.argsort(-scores, -1, kind="stable")[..., :num_samples]
    return new(places.astype(np.int64), input.device)


def exponential(source: Generator, count: int, dtype: Any) -> Any:
    """An array of exponentially distributed numbers: -log(1 - u) of uniform ones."""
    return -np.log1p(-source.uniform(count, 53)).astype(dtype)


def check_weights(weights: Tensor, num_samples: int, replacement: bool) -> None:
    """Refuse what nothing can be drawn from, in PyTorch's words."""
    refuse(weights.ndim not in (1, 2), "prob_dist must be 1 or 2 dim")
    found = f"got: {TYPE_NAMES[weights.dtype.name]}"
    refuse(not weights.is_floating_point(), f"multinomial only supports floating-point dtypes for input, {found}")
    refuse(num_samples <= 0, "cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    array = on_host(weights)
    wrong = not np.all((array >= 0) & (array < np.inf))
    refuse(wrong, "probability tensor contains either `inf`, `nan` or element < 0")
    refuse(not np.all(np.any(array > 0, -1)), "invalid multinomial distribution (sum of probabilities <= 0)")


# 19 · The training loop
def get_rng_state() -> Tensor:
    """All that the next random numbers of the default generator depend on, as bytes."""
    return state_of(default_generator)


def set_rng_state(new_state: Tensor) -> None:
    """Draw from now on what was drawn after `get_rng_state` gave this."""
    set_state(default_generator, new_state)


def state_of(generator: Generator) -> Tensor:
    """A generator's state as bytes: 624 words, a place in them, and the normal that waits."""
    state, waiting = generator.twister.state["state"], generator.waiting
    return new(np.array([*state["key"], state["pos"], waiting], np.float64).view(np.uint8), "cpu")


def set_state(generator: Generator, new_state: Tensor) -> None:
    """Let a generator continue from a state that `state_of` returned."""
    *key, pos, waiting = on_host(new_state).view(np.float64)
    state: Any = {"key": np.array(key, np.uint32), "pos": int(pos)}
    generator.twister.state = {"bit_generator": "MT19937", "state": state}
    generator.waiting = None if np.isnan(waiting) else float(waiting)
