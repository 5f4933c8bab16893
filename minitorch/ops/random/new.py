"""New random tensors.

The numbers are drawn on the host by `minitorch.kernels.sampling`, which draws what PyTorch draws from the same seed,
and are moved to the tensor's device where that is another one.
Source: https://pytorch.org/docs/stable/torch.html#random-sampling
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

from minitorch.arrays import Array, Number
from minitorch.dispatch import apply, signatures
from minitorch.dispatch.declaration import composite, declare, zero_gradient
from minitorch.dispatch.errors import no_derivative
from minitorch.dispatch.formulas import NOT_IMPLEMENTED
from minitorch.dispatch.op import CASTS
from minitorch.dtypes import dtype, get_default_dtype, int64
from minitorch.kernels import sampling
from minitorch.layout import contiguous_format
from minitorch.ops.creation.factory import CANNOT_CREATE, FACTORY_KEYWORDS, checked_size, factory, tensor_of
from minitorch.ops.creation.filled import empty_like, like
from minitorch.ops.random.in_place import draw, is_meta, sample
from minitorch.random import Generator
from minitorch.size import as_int
from minitorch.tensor import Tensor

Sampler = Callable[..., None]


# From parameters that are tensors.


@declare(variants="", node="BernoulliBackward0", derivatives={"self": zero_gradient})
def bernoulli_sample(xp: Any, self: Array, generator: Generator | None) -> Array:
    """Ones with the probabilities that self holds, else zeros."""
    return draw(xp, xp.empty(self.shape, self.dtype), sampling.bernoulli_, generator, self)


@composite()
def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Ones with the probabilities that `input` holds, else zeros; or with probability `p`, in the shape of `input`."""
    if p is None:
        result: Tensor = bernoulli_sample(input, generator)
    else:
        result = empty_like(input, memory_format=contiguous_format).bernoulli_(p, generator=generator)
    return result if out is None else cast(Tensor, apply.write_out("bernoulli", out, result, CASTS))


@declare(variants="function out", derivatives={"self": zero_gradient})
def poisson(xp: Any, self: Array, generator: Generator | None = None) -> Array:
    """Poisson numbers of the given rates, of the shape and dtype of `input`.

    Raises RuntimeError for a negative rate.
    """
    return sample(xp, sampling.poisson, generator, self, self)


@declare(variants="function out", node=NOT_IMPLEMENTED, derivatives={"count, prob": no_derivative("binomial")})
def binomial(xp: Any, count: Array, prob: Array, generator: Generator | None = None) -> Array:
    """Successes of `count` trials with probability `prob`, a tensor of the shape that both broadcast to."""
    return sample(xp, sampling.binomial, generator, count, count, prob)


@declare(keyword_only="generator", row_major=True, variants="function method out")
def multinomial(
    xp: Any, self: Array, num_samples: int, replacement: bool = False, generator: Generator | None = None
) -> Array:
    """Indices drawn with weights: (n,) → (k,), (m, n) → (m, k), int64."""
    if is_meta(self):
        return xp.empty((*self.shape[:-1], num_samples), "int64")
    return sample(xp, sampling.multinomial, generator, self, self, num_samples, replacement)


def _node_of_normal(mean: Tensor | Number, std: Tensor | Number, generator: Generator | None) -> str:
    both = isinstance(mean, Tensor) and isinstance(std, Tensor)
    return f"NormalBackward{3 if both else 1 if isinstance(mean, Tensor) else 2}"


@declare(variants="", node=_node_of_normal, derivatives={"mean": zero_gradient, "std": zero_gradient})
def normal_sample(xp: Any, mean: Array | Number, std: Array | Number, generator: Generator | None) -> Array:
    """Normal numbers whose mean and standard deviation vary."""
    return sample(xp, sampling.normal, generator, mean if hasattr(mean, "dtype") else std, mean, std)


# Of a given shape.


def _drawn(
    xp: Any,
    name: str,
    sampler: Sampler,
    sizes: Sequence[Any],
    kind: dtype,
    generator: Generator | None,
    *parameters: Any,
) -> Array:
    """A new array, filled by a sampler."""
    if not sizes:
        raise TypeError(f"{name}() received an invalid combination of arguments - got (), but expected a size")
    array = xp.empty(checked_size(name, sizes, negative=CANNOT_CREATE), kind.numpy)
    return draw(xp, array, sampler, generator, *parameters)


@factory
def rand(xp: Any, dtype: dtype | None, *sizes: Any, size: Any = None, generator: Generator | None = None) -> Array:
    """rand(*size, generator=None, out, dtype, layout, device, requires_grad, pin_memory): uniform in [0, 1)."""
    sizes = sizes if size is None else (size,)
    return _drawn(xp, "rand", sampling.uniform_, sizes, dtype or get_default_dtype(), generator)


@factory
def randn(xp: Any, dtype: dtype | None, *sizes: Any, size: Any = None, generator: Generator | None = None) -> Array:
    """randn(*size, generator=None, out, dtype, layout, device, requires_grad, pin_memory): standard normal numbers."""
    sizes = sizes if size is None else (size,)
    return _drawn(xp, "randn", sampling.normal_, sizes, dtype or get_default_dtype(), generator)


@factory
def randint(
    xp: Any,
    dtype: dtype | None,
    *args: Any,
    low: int = 0,
    high: int | None = None,
    size: Any = None,
    generator: Generator | None = None,
) -> Array:
    """randint(low=0, high, size, generator=None, out, dtype=int64, ...): integers uniform in [low, high)."""
    given = list(args)
    size = given.pop() if size is None and given else size
    high = given.pop() if high is None and given else high
    low = given.pop() if not low and given else low
    if given or high is None or not isinstance(size, (tuple, list)):
        got = ", ".join(type(each).__name__ for each in args)
        raise TypeError(
            f"randint() received an invalid combination of arguments - got ({got}), but expected "
            "(int low = 0, int high, tuple of ints size)"
        )
    return _drawn(xp, "randint", sampling.random_, (size,), dtype or int64, generator, as_int(low), as_int(high))


@factory
def randperm(xp: Any, dtype: dtype | None, n: int, *, generator: Generator | None = None) -> Array:
    """A random permutation of 0 … n − 1."""
    return _drawn(xp, "randperm", sampling.randperm_, (n,), dtype or int64, generator, n)


@tensor_of
def _normal_of_size(
    xp: Any, dtype: dtype | None, mean: float, std: float, size: Any, generator: Generator | None
) -> Array:
    return _drawn(xp, "normal", sampling.normal_, (size,), dtype or get_default_dtype(), generator, mean, std)


@composite(variants="function")
def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    **options: Any,
) -> Tensor:
    """Normal numbers: of the shape of the tensors `mean` and `std`, or with two numbers, of a given size."""
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        if out is not None and not isinstance(std, Tensor):  # as PyTorch, which doesn't resize `out` here
            return out.normal_(0, std, generator=generator).add_(mean)
        result: Tensor = normal_sample(mean, std, generator)
        return result if out is None else cast(Tensor, apply.write_out("normal", out, result, CASTS))
    if size is None:
        raise TypeError("normal(): with two numbers, argument 'size' is required")
    return _normal_of_size(mean, std, size, generator, out=out, dtype=dtype, **options)


signatures.describe(normal, inspect.unwrap(normal), keywords=FACTORY_KEYWORDS)


# Like another.


@like
def rand_like(xp: Any, array: Array, *, generator: Generator | None = None) -> None:
    """rand_like(input, dtype, layout, device, requires_grad, memory_format): uniform in [0, 1).

    Returns a tensor of the shape, and by default the dtype and device, of `input`.
    """
    draw(xp, array, sampling.uniform_, generator)


@like
def randn_like(xp: Any, array: Array, *, generator: Generator | None = None) -> None:
    """randn_like(input, dtype, layout, device, requires_grad, memory_format): standard normal numbers.

    Returns a tensor of the shape, and by default the dtype and device, of `input`.
    """
    draw(xp, array, sampling.normal_, generator)


@like
def randint_like(
    xp: Any, array: Array, low: int | None = None, high: int | None = None, *, generator: Generator | None = None
) -> None:
    """randint_like(input, low=0, high, dtype, ...): integers uniform in [low, high).

    Returns a tensor of the shape, and by default the dtype, of `input`. Raises TypeError without `high`.
    """
    below = low if high is None else high
    if below is None:
        raise TypeError('randint_like() missing 1 required positional arguments: "high"')
    draw(xp, array, sampling.random_, generator, 0 if high is None or low is None else int(low), int(below))
