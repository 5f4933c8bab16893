"""PyTorch's random numbers on a GPU: the counter-based generator Philox4x32-10, and which thread fills which element.

Sources: Salmon and others 2011, "Parallel random numbers: as easy as 1, 2, 3" (doi:10.1145/2063384.2063405); cuRAND's
`curand_uniform4`, `curand_normal4`, `curand_uniform2_double` and `curand_normal2_double`; PyTorch's
`distribution_nullary_kernel` and `fused_dropout_kernel_vec`.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from minitorch.arrays import Array
from minitorch.arrays.kernel import on_gpu, threads

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
LOW = 0xFFFFFFFF

Kind = Literal["uniform", "normal", "integer"]

BLOCK = 256  # threads
INVERSE, WIDE_INVERSE = 2.0**-32, 2.0**-53


def philox4x32(xp: Any, counter: tuple[Array, ...], key: tuple[int, int]) -> list[Array]:
    """Four words of 32 random bits for each counter of four words, all as uint64."""
    words, (low_key, high_key) = list(counter), key
    mask, shift = xp.uint64(LOW), xp.uint64(32)
    for _ in range(ROUNDS):
        first, second = (words[2 * i] * xp.uint64(MULTIPLIERS[i]) for i in range(2))
        words = [
            (second >> shift) ^ words[1] ^ xp.uint64(low_key),
            second & mask,
            (first >> shift) ^ words[3] ^ xp.uint64(high_key),
            first & mask,
        ]
        low_key, high_key = (low_key + KEY_STEPS[0]) & LOW, (high_key + KEY_STEPS[1]) & LOW
    return words


def _by_thread(words: Array, seed: int, step: int) -> tuple[int, tuple[Any, ...]]:
    """A thread of the GPU for each four words of `philox.cu`. It knows 64 bits as integers with a sign."""
    pieces, _, count = words.shape
    return threads(pieces * count), (words, _signed(seed), step, pieces, count)


def _signed(seed: int) -> int:
    return seed - (1 << 64) if seed >> 63 else seed


@on_gpu("philox.cu", _by_thread)
def draw_words(xp: Any, words: Array, seed: int, step: int) -> None:
    """words[p, :, t] = the four words of thread t that come after step + p fours."""
    pieces, _, count = words.shape
    thread = xp.arange(count, dtype="uint64")
    zeros = xp.zeros_like(thread)
    for piece in range(pieces):
        now = step + piece
        counter = (zeros + xp.uint64(now & LOW), zeros + xp.uint64(now >> 32), thread, zeros)
        for number, word in enumerate(philox4x32(xp, counter, (seed & LOW, seed >> 32))):
            words[piece, number] = word.astype("uint32")


def grid(count: int, blocks: int, width: int = 4) -> tuple[int, int]:
    """How many threads draw `count` numbers, and how many times `width` each of them."""
    number = BLOCK * max(1, min(-(-count // BLOCK), blocks))
    return -(-count // (width * number)), number


def _by_thread_and_type(
    numbers: Array, normal: bool, seed: int, step: int, pieces: int, number: int
) -> tuple[int, tuple[Any, ...]]:
    passed = (numbers, int(normal), _signed(seed), step, pieces, number, numbers.size)
    return threads(pieces * number), passed


@on_gpu("philox.cu", _by_thread_and_type)
def draw_numbers(xp: Any, numbers: Array, normal: bool, seed: int, step: int, pieces: int, number: int) -> None:
    """Numbers in (0, 1] or normal ones, as float32 of a word or two, as float64 of two or four: see `fill`."""
    words = xp.empty((pieces, 4, number), "uint32")
    draw_words(xp, words, seed, step)
    made = (normals if normal else uniforms)(xp, [words[:, k] for k in range(4)], numbers.dtype.itemsize == 8)
    numbers[...] = xp.stack(made, axis=1).reshape(-1)[: numbers.size]


def fill(xp: Any, count: int, seed: int, offset: int, blocks: int, kind: Kind, wide: bool = False) -> tuple[Array, int]:
    """`count` random numbers in the order of PyTorch's kernel, and the generator's next offset.

    Thread `t` of the grid draws four words at once. They make four numbers, or two if they are `wide`, which belong to
    the elements t, t + T, t + 2T and t + 3T of each piece of 4T elements, where T is the number of threads.

    Args:
        seed: the generator's, 64 bits.
        offset: how many words each thread has drawn so far; a multiple of 4.
        blocks: as many blocks of 256 threads run on the GPU at once.
        kind: "uniform" in (0, 1] and "normal" numbers are float32, float64 if they are wide; "integer" are the words
            themselves, uint32, or two of them, uint64, of which the first is the high half.
    """
    pieces, number = grid(count, blocks, 2 if wide else 4)
    if kind == "integer":
        words = xp.empty((pieces, 4, number), "uint32")
        draw_words(xp, words, seed, offset // 4)
        numbers = words
        if wide:
            numbers = words[:, ::2].astype("uint64") << xp.uint64(32) | words[:, 1::2].astype("uint64")
        numbers = numbers.reshape(-1)[:count]
    else:
        numbers = xp.empty(count, "float64" if wide else "float32")
        draw_numbers(xp, numbers, kind == "normal", seed, offset // 4, pieces, number)
    return numbers, offset + 4 * pieces


def _by_four(
    noise: Array, keep: float, seed: int, step: int, steps: int, number: int, together: int
) -> tuple[int, tuple[Any, ...]]:
    return threads(steps * number), (noise, float(keep), _signed(seed), step, steps, number, together, noise.size)


@on_gpu("philox.cu", _by_four)
def draw_noise(
    xp: Any, noise: Array, keep: float, seed: int, step: int, steps: int, number: int, together: int
) -> None:
    """noise = 1 / keep with probability keep, else 0.

    A thread draws for so many neighbours `together`: with 8 all words of two steps, with 2 the first two of a step.
    With 1, its words are for elements as far apart as in `fill`.
    """
    words = xp.empty((steps, 4, number), "uint32")
    draw_words(xp, words, seed, step)
    if together > 1:
        halves = max(together // 4, 1)
        words = words[:, :together].reshape(steps // halves, halves, -1, number).transpose(0, 3, 1, 2)
    kept = _open(xp, words.reshape(-1)[: noise.size]).astype(noise.dtype) < noise.dtype.type(keep)
    noise[...] = (kept * noise.dtype.type(1 / float(noise.dtype.type(keep)))).reshape(noise.shape)


def noise(xp: Any, into: Array, keep: float, seed: int, offset: int, blocks: int, together: int) -> int:
    """Dropout's factors: each element of `into` becomes 1 / keep with probability keep, else 0. The next offset."""
    pieces, number = grid(into.size, blocks)
    steps = -(-into.size // (together * number)) * max(together // 4, 1) if together > 1 else pieces
    draw_noise(xp, into, keep, seed, offset // 4, steps, number, together)
    return offset + 4 * pieces


def _by_drawer(words: Array, drawn: Array, who: Array, seed: int, step: int) -> tuple[int, tuple[Any, ...]]:
    return threads(who.size), (words, drawn, who, _signed(seed), step, who.size)


@on_gpu("philox.cu", _by_drawer)
def next_words(xp: Any, words: Array, drawn: Array, who: Array, seed: int, step: int) -> None:
    """words = the next word of each of the threads `who`, which have drawn so many words since `step`; one more now."""
    position = drawn[who].astype("uint64")
    drawn[who] += 1
    now, zeros = position // xp.uint64(4) + xp.uint64(step), xp.zeros_like(position)
    counter = (now & xp.uint64(LOW), now >> xp.uint64(32), who.astype("uint64"), zeros)
    four = xp.stack(philox4x32(xp, counter, (seed & LOW, seed >> 32)))
    words[...] = xp.take_along_axis(four, (position % xp.uint64(4)).astype("int64")[None], 0)[0].astype("uint32")


class Streams:
    """What each of many threads draws word by word, some of them more than others (cuRAND's `curand`)."""

    def __init__(self, xp: Any, count: int, seed: int, offset: int) -> None:
        self.xp, self._seed, self._step = xp, seed, offset // 4
        self._drawn = xp.zeros(count, "int64")

    def words(self, who: Array) -> Array:
        """The next word of each thread in `who`, as uint32."""
        words = self.xp.empty(who.size, "uint32")
        next_words(self.xp, words, self._drawn, who, self._seed, self._step)
        return words

    def uniforms(self, who: Array) -> Array:
        """The next number in (0, 1] of each, as float32."""
        return _open(self.xp, self.words(who))

    def pairs(self, who: Array, wide: bool = False) -> list[Array]:
        """The next two normal numbers of each."""
        words = [self.words(who) for _ in range(4 if wide else 2)]
        return normals(self.xp, words, True) if wide else _box_muller(self.xp, *words)


def uniforms(xp: Any, words: list[Array], wide: bool) -> list[Array]:
    """Numbers in (0, 1]: float32 of a word, float64 if they are wide, of two."""
    if wide:
        return [each.astype("float64") * WIDE_INVERSE + WIDE_INVERSE / 2 for each in _fifty_three_bits(xp, words)]
    return [_open(xp, each) for each in words]


def normals(xp: Any, words: list[Array], wide: bool) -> list[Array]:
    """Normal numbers, float32 or, if they are wide, float64, by Box and Muller's method."""
    if wide:
        first, second = _fifty_three_bits(xp, words)
        radius = xp.sqrt(-2 * xp.log(first.astype("float64") * WIDE_INVERSE + WIDE_INVERSE / 2))
        angle = math.pi * (second.astype("float64") * (2 * WIDE_INVERSE) + WIDE_INVERSE)
        return [xp.sin(angle) * radius, xp.cos(angle) * radius]
    return _box_muller(xp, *words[:2]) + _box_muller(xp, *words[2:])


def _box_muller(xp: Any, first: Array, second: Array) -> list[Array]:
    turn = float(xp.float32(2 * math.pi)) * INVERSE
    radius = xp.sqrt(xp.float32(-2) * xp.log(_open(xp, first)))
    # A GPU rounds the product and the sum once; float64 holds both exactly, or nearly.
    angle = (second.astype("float32").astype("float64") * turn + turn / 2).astype("float32")
    return [xp.sin(angle) * radius, xp.cos(angle) * radius]


def _open(xp: Any, word: Array) -> Array:
    """A word as a float32 number in (0, 1]."""
    return word.astype("float32") * xp.float32(INVERSE) + xp.float32(INVERSE / 2)


def _fifty_three_bits(xp: Any, words: list[Array]) -> list[Array]:
    """Two integers below 2⁵³ of four words."""
    low, high, other_low, other_high = (each.astype("uint64") for each in words)
    return [low ^ high << xp.uint64(21), other_low ^ other_high << xp.uint64(21)]
