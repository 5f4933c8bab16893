"""The in-place samplers: uniform_, normal_ and so on.

On the CPU `minitorch.kernels.sampling` draws what PyTorch draws from the same seed, on a GPU `on_gpu`.
Source: https://pytorch.org/docs/stable/torch.html#in-place-random-sampling
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitorch.arrays import Array, Double, Number
from minitorch.arrays.quiet import quiet
from minitorch.dispatch.declaration import declare, zero_gradient
from minitorch.kernels import sampling
from minitorch.ops.random.on_gpu import draw_on_gpu, sample_on_gpu
from minitorch.random import Generator, default_generator
from minitorch.tensor import Tensor

Sampler = Callable[..., None]


def draw(xp: Any, array: Array, sampler: Sampler, generator: Generator | None, *parameters: Any) -> Array:
    """Fills an array on any device, in its own memory: the order of the draws depends on its strides."""
    if xp.is_host:
        sampler(array, default_generator if generator is None else _of_cpu(generator), *parameters)
    elif hasattr(array, "get"):  # an array on a GPU; one of the meta device has no elements
        return draw_on_gpu(xp, array, sampler, generator, *parameters)
    return array


def sample(xp: Any, sampler: Callable[..., Array], generator: Generator | None, like: Array, *parameters: Any) -> Array:
    """A new array of what a sampler makes of its parameters, on the device of the array `like`."""
    if is_meta(like):
        return xp.empty(functools.reduce(xp.add, parameters).shape, like.dtype)
    with quiet():  # from the beginning, since what has been drawn can't be drawn again
        if hasattr(like, "get"):
            return sample_on_gpu(xp, like, sampler, generator, *parameters)
        return sampler(*parameters, default_generator if generator is None else _of_cpu(generator))


def _of_cpu(generator: Generator) -> Generator:
    """The generator itself. Raises RuntimeError for one of a GPU."""
    if generator.device.type != "cpu":
        raise RuntimeError("Expected a 'cpu' device type for generator but found 'cuda'")
    return generator


def is_meta(value: Any) -> bool:
    """Whether this is an array of the meta device, which has no elements to be drawn."""
    return hasattr(value, "ndim") and not hasattr(value, "__array_interface__") and not hasattr(value, "get")


def _numbers(*given: Double) -> list[float]:
    """The parameters of a sampler: numbers, or 0-d tensors without a gradient, which PyTorch takes for numbers."""
    return [each.item() if isinstance(each, Tensor) and not each.requires_grad else float(each) for each in given]


@declare(keyword_only="generator", variants="inplace", edits=True, derivatives={"self": zero_gradient})
def uniform(xp: Any, self: Array, from_: Double = 0, to: Double = 1, generator: Generator | None = None) -> Array:
    """Numbers uniform in [from, to). https://pytorch.org/docs/stable/generated/torch.Tensor.uniform_.html"""
    return draw(xp, self, sampling.uniform_, generator, *_numbers(from_, to))


@declare(keyword_only="generator", variants="inplace", edits=True, derivatives={"self": zero_gradient})
def normal(xp: Any, self: Array, mean: Double = 0, std: Double = 1, generator: Generator | None = None) -> Array:
    """Normal numbers. https://pytorch.org/docs/stable/generated/torch.Tensor.normal_.html"""
    return draw(xp, self, sampling.normal_, generator, *_numbers(mean, std))


@declare(keyword_only="generator", variants="inplace", edits=True, derivatives={"self": zero_gradient})
def log_normal(xp: Any, self: Array, mean: Double = 1, std: Double = 2, generator: Generator | None = None) -> Array:
    """Numbers whose logarithm is normal. https://pytorch.org/docs/stable/generated/torch.Tensor.log_normal_.html"""
    return draw(xp, self, sampling.log_normal_, generator, *_numbers(mean, std))


@declare(keyword_only="generator", variants="inplace", edits=True, derivatives={"self": zero_gradient})
def exponential(xp: Any, self: Array, lambd: Double = 1, generator: Generator | None = None) -> Array:
    """Numbers of density λ exp(−λx). https://pytorch.org/docs/stable/generated/torch.Tensor.exponential_.html"""
    return draw(xp, self, sampling.exponential_, generator, *_numbers(lambd))


@declare(keyword_only="generator", variants="inplace", edits=True, derivatives={"self": zero_gradient})
def cauchy(xp: Any, self: Array, median: Double = 0, sigma: Double = 1, generator: Generator | None = None) -> Array:
    """Cauchy numbers. https://pytorch.org/docs/stable/generated/torch.Tensor.cauchy_.html"""
    return draw(xp, self, sampling.cauchy_, generator, *_numbers(median, sigma))


@declare(keyword_only="generator", variants="inplace", edits=True, derivatives={"self": zero_gradient})
def geometric(xp: Any, self: Array, p: Double, generator: Generator | None = None) -> Array:
    """The number of trials up to a success. https://pytorch.org/docs/stable/generated/torch.Tensor.geometric_.html"""
    return draw(xp, self, sampling.geometric_, generator, *_numbers(p))


def _random_node(self: Tensor, from_: int | None, to: int | None, generator: Generator | None) -> str:
    return f"RandomBackward{2 if from_ is None else 1 if to is None else 0}"


@declare(
    keyword_only="generator", variants="inplace", edits=True, derivatives={"self": zero_gradient}, node=_random_node
)
def random(xp: Any, self: Array, from_: int | None = None, to: int | None = None, generator: Any = None) -> Array:
    """Integers uniform in [from, to); with one number in [0, number); with none all that the dtype holds exactly.

    https://pytorch.org/docs/stable/generated/torch.Tensor.random_.html
    """
    if from_ is not None and to is None:
        from_, to = 0, from_
    return draw(xp, self, sampling.random_, generator, from_, to)


@declare(
    keyword_only="generator",
    variants="inplace",
    edits=True,
    derivatives={"self": zero_gradient, "p": zero_gradient},
    node=lambda self, p, generator: "BernoulliBackward1" if isinstance(p, Tensor) else "BernoulliBackward2",
)
def bernoulli(xp: Any, self: Array, p: Array | Number = 0.5, generator: Generator | None = None) -> Array:
    """Ones with probability p, else zeros. https://pytorch.org/docs/stable/generated/torch.Tensor.bernoulli_.html"""
    return draw(xp, self, sampling.bernoulli_, generator, p)
