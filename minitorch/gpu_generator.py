"""The generator of a GPU: a seed, and how many numbers each thread has drawn.

Source: https://pytorch.org/docs/stable/generated/torch.Generator.html
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.arrays import gpus
from minitorch.devices import device as Device
from minitorch.devices import gpu
from minitorch.kernels import philox
from minitorch.random import DEFAULT_SEED, KINDS, Generator

STATE = np.dtype([("seed", "u8"), ("offset", "i8")])


class GPUGenerator(Generator):
    """A stream of Philox4x32-10. `Generator(device="cuda")` makes one."""

    __slots__ = ("_offset",)

    def __init__(self, device: str | int | Device = "cuda") -> None:
        if gpus.library() is None:
            raise RuntimeError("Cannot get CUDA generator without ATen_cuda library.")
        self.device = gpu(Device(device).index)
        self._seed = DEFAULT_SEED
        self._offset = 0
        self._engine = self._memory = self.next_normal = None

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream that belongs to `seed`. Raises as the CPU's generator does."""
        Generator.manual_seed(self, seed)
        self._offset = 0
        return self

    def get_offset(self) -> int:
        """How many words of 32 bits each thread has drawn."""
        return self._offset

    def set_offset(self, offset: int) -> None:
        """Go on from there. Raises RuntimeError if it isn't a multiple of 4."""
        if offset % 4:
            raise RuntimeError("offset must be a multiple of 4")
        self._offset = offset

    def get_state_array(self) -> Any:
        """The seed and the offset, in 16 bytes as PyTorch stores them."""
        return np.frombuffer(np.array((self._seed, self._offset), STATE).tobytes(), np.uint8).copy()

    def set_state_array(self, array: Any) -> None:
        """Go on from a state of `get_state_array`. Raises TypeError or RuntimeError for what is none."""
        if array.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if array.size != STATE.itemsize:
            raise RuntimeError("RNG state is wrong size")
        state = np.frombuffer(array.tobytes(), STATE)[0]
        self._seed, self._offset = int(state["seed"]), int(state["offset"])

    def draw(self, xp: Any, count: int, kind: philox.Kind, wide: bool = False) -> Any:
        """`count` numbers made of the next words, see `philox.fill`."""
        numbers, self._offset = philox.fill(xp, count, self._seed, self._offset, self._blocks(), kind, wide)
        return numbers

    def draw_noise(self, xp: Any, into: Any, keep: float, together: int) -> None:
        """Fills an array with dropout's factors, see `philox.noise`."""
        self._offset = philox.noise(xp, into, keep, self._seed, self._offset, self._blocks(), together)

    def streams(self, xp: Any, count: int, words: int) -> philox.Streams:
        """The streams of `count` threads. The next kernel goes on after `words`, though they may have drawn more."""
        streams = philox.Streams(xp, count, self._seed, self._offset)
        self._offset += -(-words // 4) * 4
        return streams

    def _blocks(self) -> int:
        """As many blocks of threads run on the GPU at once."""
        known = self.device.backend.library.properties(self.device.index)  # type: ignore[attr-defined]
        return int(known["multi_processor_count"] * (known["max_threads_per_multi_processor"] // philox.BLOCK))


KINDS["cuda"] = GPUGenerator
