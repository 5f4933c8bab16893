"""Random numbers on a GPU: PyTorch's, from its own generator. `kernels.sampling.on_gpu` has the samplers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.arrays import Array
from minitorch.arrays.quiet import quiet
from minitorch.gpu_generator import GPUGenerator
from minitorch.kernels.sampling import on_gpu, rejection_on_gpu
from minitorch.random import Generator, default_gpu_generator


def draw_on_gpu(
    xp: Any, array: Array, sampler: Callable[..., None], generator: Generator | None, *parameters: Any
) -> Array:
    """Fills an array of a GPU. Raises RuntimeError for a generator of the CPU, and what the CPU's sampler raises."""
    chosen = _chosen(generator, array)
    try:
        on_gpu.check_parameters(sampler, array, parameters)
        if array.size:
            with array.device, quiet():  # what is too small becomes 0; what has been drawn can't be drawn again
                getattr(on_gpu, sampler.__name__)(xp, array, chosen, *parameters)
    except NotImplementedError as error:  # says for which kernel
        raise NotImplementedError(str(error).replace("_cpu", "_cuda")) from None
    return array


def sample_on_gpu(
    xp: Any, like: Array, sampler: Callable[..., Array], generator: Generator | None, *parameters: Any
) -> Array:
    """A new array of the sampler's numbers, on the GPU of the array `like`."""
    function = getattr(on_gpu, sampler.__name__, None) or getattr(rejection_on_gpu, sampler.__name__)
    with like.device:
        return function(xp, *parameters, _chosen(generator, like))


def _chosen(generator: Generator | None, array: Array) -> GPUGenerator:
    chosen = generator or default_gpu_generator(array.device.id)
    if not isinstance(chosen, GPUGenerator):
        raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
    return chosen
