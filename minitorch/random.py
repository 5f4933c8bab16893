"""Where random numbers come from: the generators and their seeds.

The CPU generator is the Mersenne Twister mt19937 (Matsumoto and Nishimura 1998, doi:10.1145/272991.272995), seeded and
stored as PyTorch does, so that equal seeds and equal states give equal streams.
Source: https://docs.pytorch.org/docs/stable/random.html
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from minitorch.devices import device as Device
from minitorch.devices import gpu
from minitorch.interop import from_numpy
from minitorch.tensor import Tensor

if TYPE_CHECKING:
    from numpy.random import MT19937, RandomState
    from numpy.typing import NDArray

    from minitorch.kernels.sampling.reserve import Reserve

WORDS: Final = 624  # 32-bit words in the state of mt19937
DEFAULT_SEED: Final = 67280421310721  # of every new Generator in PyTorch
FEW: Final = 2000  # numbers for which RandomState's start costs more than what it saves

# The bytes of a CPU generator's state. Only `normal_y`, the second half of a Box-Muller pair, is still in use of the
# normal_ fields; CPU normals are computed in float64, so that the float sample is never set.
STATE: Final = np.dtype(
    [
        ("initial_seed", "u8"),
        ("left", "i4"),
        ("seeded", "i4"),
        ("next", "u8"),
        ("words", "u8", WORDS),
        ("normal_x", "f8"),
        ("normal_y", "f8"),
        ("normal_rho", "f8"),
        ("normal_is_valid", "i4"),
        ("next_float_normal", "f4"),
        ("next_float_normal_is_valid", "?"),
    ],
    align=True,
)


class Source(Protocol):
    """Where samplers that go from number to number draw from: a generator, or numbers drawn ahead."""

    next_normal: float | None

    def uniform(self) -> float:
        """One number uniform in [0, 1), of 53 bits."""


class Generator:
    """A stream of random numbers: mt19937 and, where one is left over, the second number of a pair of normals.

    `bits` hands out the raw draws; `minitorch.kernels.sampling` makes distributions of them.
    With the device of a GPU it is a `minitorch.gpu_generator.GPUGenerator`. Raises RuntimeError for other devices.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.Generator.html
    """

    __slots__ = ("_engine", "_memory", "_random_state", "_seed", "device", "next_normal", "reserve")

    def __new__(cls, device: str | int | Device = "cpu") -> Generator:
        return object.__new__(KINDS.get(Device(device).type, cls))

    def __init__(self, device: str | int | Device = "cpu") -> None:
        self.device = Device(device)
        if self.device.type != "cpu":
            raise RuntimeError(f"Device type {self.device.type.upper()} is not supported for torch.Generator() api.")
        self._seed = DEFAULT_SEED
        self._engine: MT19937 | None = None
        self._memory: NDArray[np.uint32] | None = None
        self.next_normal: float | None = None
        self.reserve: Reserve | None = None

    @property
    def engine(self) -> MT19937:
        """NumPy's mt19937, made at the first draw: numpy.random is slow to import. What is in reserve goes back."""
        if self._engine is None:
            from numpy.random import MT19937, RandomState

            self._engine = MT19937()
            self._random_state: RandomState = RandomState(self._engine)
            self._start()
        elif self.reserve is not None:
            unused, self.reserve = self.reserve, None
            self.memory[:] = unused.before
            self._engine.random_raw(unused.used, False)
        return self._engine

    def _start(self) -> None:
        """Fill the state as Matsumoto and Nishimura's init_genrand does, which NumPy keeps for RandomState."""
        self._random_state.seed(self._seed & 0xFFFFFFFF)

    @property
    def memory(self) -> NDArray[np.uint32]:
        """The engine's state, as `memory_of` shows it."""
        engine = self.engine
        if self._memory is None:
            self._memory = memory_of(engine)
        return self._memory

    def bits(self, count: int, width: int) -> NDArray[Any]:
        """The lowest `width` bits of the next `count` draws of 32 bits, unsigned.

        For more than 32, those of numbers of 64 bits, each made of two draws, of which the first gives the high half.
        """
        engine = self._engine if self._engine and self.reserve is None else self.engine
        if count >= FEW:
            # Of a range that is a power of two RandomState takes the lowest bits, and its stream never changes.
            return self._random_state.randint(0, 1 << width, count, np.uint32 if width <= 32 else np.uint64)
        mask = np.uint64((1 << width) - 1)
        if width <= 32:
            return engine.random_raw(count) & mask
        draws = engine.random_raw(2 * count)
        return (draws[0::2] << np.uint64(32) | draws[1::2]) & mask

    def uniform(self) -> float:
        """One number uniform in [0, 1), of 53 bits."""
        draw = self.engine.random_raw
        high: int = draw() & 0x1FFFFF
        return (high << 32 | draw()) * 2.0**-53

    def skip(self, count: int) -> None:
        """Draw `count` times 32 bits and throw them away."""
        self.engine.random_raw(count, False)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream that belongs to `seed`, of which mt19937 takes the lowest 32 bits.

        Raises RuntimeError when the seed is not an integer, ValueError when it has more than 64 bits.
        """
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = operator.index(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._seed = seed % 2**64
        self.reserve = None
        if self._engine is not None:
            self._start()
        self.next_normal = None
        return self

    def seed(self) -> int:
        """Seed with 64 bits from the operating system and return them."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that the stream started from, as an unsigned number of 64 bits."""
        return self._seed

    def get_state_array(self) -> NDArray[np.uint8]:
        """The state in the 5056 bytes that PyTorch stores it in."""
        words, position = self.memory[:WORDS], int(self.memory[WORDS])
        state = np.zeros((), STATE)
        state["initial_seed"] = self._seed
        state["left"] = WORDS + 1 - position
        state["seeded"] = True
        # PyTorch's engine counts from 0 until the first draw, NumPy's starts at the end. Right after seeding, and then
        # only, the first word is the seed itself.
        state["next"] = 0 if position == WORDS and words[0] == self._seed & 0xFFFFFFFF else position
        state["words"] = words
        if self.next_normal is not None:
            state["normal_is_valid"], state["normal_y"] = True, self.next_normal
        return np.frombuffer(state.tobytes(), np.uint8).copy()

    def set_state_array(self, array: NDArray[np.uint8]) -> None:
        """Go on from a state of `get_state_array`, ours or PyTorch's.

        Raises TypeError when the array is not of bytes, RuntimeError when it is not contiguous, of the wrong size, or
        no state of mt19937.
        """
        if array.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if not array.flags.c_contiguous:
            raise RuntimeError("RNG state must be contiguous")
        if array.size != STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE.itemsize} "
                f"but found the input RNG state size to be {array.size}"
            )
        state = np.frombuffer(array.tobytes(), STATE)[0]
        left, position = int(state["left"]), WORDS + 1 - int(state["left"])
        if not state["seeded"] or not 0 < left <= WORDS or (left > 1 and state["next"] != position):
            raise RuntimeError("Invalid mt19937 state")
        self.memory[:WORDS], self.memory[WORDS] = state["words"], position
        self._seed = int(state["initial_seed"])
        self.next_normal = float(state["normal_y"]) if state["normal_is_valid"] else None

    def get_state(self) -> Tensor:
        """The state as a uint8 tensor of 5056 elements."""
        return from_numpy(self.get_state_array())

    def set_state(self, new_state: Tensor) -> Generator:
        """Go on from a state of `get_state`. Raises TypeError or RuntimeError as `set_state_array` does."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        self.set_state_array(new_state.numpy())
        return self

    def clone_state(self) -> Generator:
        """A second generator that goes on with the same numbers as this one."""
        clone = Generator(self.device)
        clone.set_state_array(self.get_state_array())
        return clone

    def get_offset(self) -> int:
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> None:
        raise RuntimeError("CPU Generator does not use offset")

    def __reduce__(self) -> tuple[Any, ...]:
        return Generator, (self.device,), (self.initial_seed(), None, self.get_state())

    def __setstate__(self, state: tuple[int, None, Tensor]) -> None:
        seed, _, numbers = state
        self.manual_seed(seed)
        self.set_state(numbers)


KINDS: dict[str, type[Generator]] = {}
"""The classes of generators by type of device, the CPU's left out."""


def memory_of(engine: MT19937) -> NDArray[np.uint32]:
    """The state in place: 624 words, and how many of them were drawn. `engine` must live longer.

    `engine.state` copies it word by word, which takes a hundred times as long.
    """
    from ctypes import c_uint32

    return np.ctypeslib.as_array((c_uint32 * (WORDS + 1)).from_address(engine.ctypes.state_address))


default_generator: Final = Generator()
default_generator.seed()

gpu_generators: dict[int, Generator] = {}
"""The default generators of the GPUs that have been used, by number."""

gpu_seed: int | None = None
"""What those get that are used later."""


def manual_seed(seed: Any) -> Generator:
    """Seed the default generators of all devices, and return the CPU's. `seed` is anything that `int` takes.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.manual_seed.html
    """
    seed_gpus(int(seed))
    return default_generator.manual_seed(int(seed))


def default_gpu_generator(index: int) -> Generator:
    """The default generator of a GPU."""
    if index not in gpu_generators:
        gpu_generators[index] = Generator(Device("cuda", index))
        if gpu_seed is None:
            gpu_generators[index].seed()
        else:
            gpu_generators[index].manual_seed(gpu_seed)
    return gpu_generators[index]


def seed_gpus(seed: int) -> None:
    """Seed the default generators of all GPUs, also of those that are used later."""
    global gpu_seed
    gpu_seed = seed
    for generator in gpu_generators.values():
        generator.manual_seed(seed)


def seed() -> int:
    """Seeds the default generator from the operating system and returns the seed, an int.

    Source: https://pytorch.org/docs/stable/generated/torch.seed.html
    """
    return default_generator.seed()


def initial_seed() -> int:
    """Returns the seed that the default generator started from, an int.

    Source: https://pytorch.org/docs/stable/generated/torch.initial_seed.html
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Returns the default generator's state as a uint8 tensor.

    Source: https://pytorch.org/docs/stable/generated/torch.get_rng_state.html
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Lets the default generator go on from `new_state`, a uint8 tensor. Returns None.

    Raises TypeError for another dtype, RuntimeError for another size.
    Source: https://pytorch.org/docs/stable/generated/torch.set_rng_state.html
    """
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Iterable[Any] | None = None, enabled: bool = True) -> Iterator[None]:
    """Inside the block the default generators may be used at will: outside they go on as if nothing had been drawn.

    `devices` are the GPUs whose generators are meant beside the CPU's; by default all that have been used.
    Raises AssertionError for a GPU where there is none.
    Source: https://docs.pytorch.org/docs/stable/random.html#torch.random.fork_rng
    """
    if not enabled:
        yield
        return
    chosen = [default_generator, *gpu_generators.values()]
    if devices is not None:
        indices = [gpu(Device(each).index).index for each in devices]
        chosen = [default_generator, *[default_gpu_generator(index) for index in indices if index is not None]]
    states = [each.get_state_array() for each in chosen]
    try:
        yield
    finally:
        for generator, state in zip(chosen, states, strict=True):
            generator.set_state_array(state)
