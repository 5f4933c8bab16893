"""New random tensors.

The numbers are drawn on the host by `minitorch.sampling`, which draws what PyTorch draws from the same seed, and are
moved to the tensor's device where that is another one.
Source: https://pytorch.org/docs/stable/torch.html#random-sampling
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from minitorch import sampling
from minitorch.backend import Array
from minitorch.devices import tensor_device
from minitorch.dtypes import dtype, get_default_dtype, int64
from minitorch.layout import check_layout, contiguous_format, strided
from minitorch.ops import apply, signatures
from minitorch.ops.creation import empty_like
from minitorch.ops.declaration import composite, declare
from minitorch.ops.errors import no_derivative
from minitorch.ops.factory import FACTORY_KEYWORDS, checked_dtype, checked_size, finish, write_out
from minitorch.ops.plan import NOT_IMPLEMENTED
from minitorch.ops.sampling_in_place import draw, no_gradient
from minitorch.random import Generator, default_generator
from minitorch.tensor import Tensor

Number = Any
Sampler = Callable[..., None]


# From parameters that are tensors.


def _host(array: Any) -> Any:
    return array.get() if hasattr(array, "get") else array


@declare(variants="", node="BernoulliBackward0", derivatives={"self": no_gradient})
def bernoulli_sample(xp: Any, self: Array, generator: Generator | None) -> Array:
    """Ones with the probabilities that self holds, else zeros."""
    return draw(xp, xp.empty(self.shape, self.dtype), sampling.bernoulli_, generator, _host(self))


@composite()
def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Ones with the probabilities that `input` holds, else zeros; or with probability `p`, in the shape of `input`.

    https://pytorch.org/docs/stable/generated/torch.bernoulli.html
    """
    if p is None:
        result: Tensor = bernoulli_sample(input, generator)
    else:
        result = empty_like(input, memory_format=contiguous_format).bernoulli_(p, generator=generator)
    return result if out is None else cast(Tensor, apply.write_out("bernoulli", out, result))


@declare(variants="function out", derivatives={"self": no_gradient})
def poisson(xp: Any, self: Array, generator: Generator | None = None) -> Array:
    """Poisson numbers of the given rates. https://pytorch.org/docs/stable/generated/torch.poisson.html"""
    return xp.asarray(sampling.poisson(_host(self), generator or default_generator))


@declare(variants="function out", node=NOT_IMPLEMENTED, derivatives={"count, prob": no_derivative("binomial")})
def binomial(xp: Any, count: Array, prob: Array, generator: Generator | None = None) -> Array:
    """Successes of `count` trials. https://pytorch.org/docs/stable/generated/torch.binomial.html"""
    return xp.asarray(sampling.binomial(_host(count), _host(prob), generator or default_generator))


@declare(row_major=True, variants="function method out")
def multinomial(
    xp: Any, self: Array, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Array:
    """Indices drawn with weights: (n,) → (k,), (m, n) → (m, k), int64.

    https://pytorch.org/docs/stable/generated/torch.multinomial.html
    """
    return xp.asarray(sampling.multinomial(_host(self), num_samples, replacement, generator or default_generator))


def _node_of_normal(mean: Tensor | Number, std: Tensor | Number, generator: Generator | None) -> str:
    both = isinstance(mean, Tensor) and isinstance(std, Tensor)
    return f"NormalBackward{3 if both else 1 if isinstance(mean, Tensor) else 2}"


@declare(variants="", node=_node_of_normal, derivatives={"mean": no_gradient, "std": no_gradient})
def normal_sample(xp: Any, mean: Array | Number, std: Array | Number, generator: Generator | None) -> Array:
    """Normal numbers whose mean and standard deviation vary."""
    return xp.asarray(sampling.normal(_host(mean), _host(std), generator or default_generator))


# Of a given shape.


def _factory(
    name: str,
    sampler: Sampler,
    parameters: tuple[Any, ...],
    sizes: Sequence[Any],
    generator: Generator | None,
    dtype: dtype,
    options: dict[str, Any],
) -> Tensor:
    """A new tensor, filled by a sampler. `options` are the keywords that all factories take."""
    out, device = options.pop("out", None), options.pop("device", None)
    requires_grad, pin_memory = options.pop("requires_grad", False), options.pop("pin_memory", False)
    check_layout(name, options.pop("layout", strided))
    for unknown in options:
        raise TypeError(f"{name}() got an unexpected keyword argument '{unknown}'")
    where = tensor_device(device)
    if out is not None:
        where, dtype = out._device, out._dtype
    array = where.xp.empty(_checked_shape(name, sizes), dtype.numpy)
    draw(where.xp, array, sampler, generator, *parameters)
    if out is None:
        return finish(array, where, requires_grad, pin_memory)
    write_out(out, array)
    return out.requires_grad_() if requires_grad else out


def _checked_shape(name: str, sizes: Sequence[Any]) -> tuple[int, ...]:
    if not sizes:
        raise TypeError(f"{name}() received an invalid combination of arguments - got (), but expected a size")
    sizes = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    negative = next((each for each in sizes if isinstance(each, int) and each < 0), None)
    if negative is not None:
        raise RuntimeError(f"Trying to create tensor with negative dimension {negative}: {list(sizes)}")
    return checked_size(name, sizes)


@composite(variants="function")
def rand(
    *sizes: Any, size: Any = None, generator: Generator | None = None, dtype: Any = None, **options: Any
) -> Tensor:
    """rand(*size, generator=None, out, dtype, layout, device, requires_grad, pin_memory): uniform in [0, 1).

    https://pytorch.org/docs/stable/generated/torch.rand.html
    """
    kind = checked_dtype("rand", dtype) or get_default_dtype()
    return _factory("rand", sampling.uniform_, (), sizes if size is None else (size,), generator, kind, options)


@composite(variants="function")
def randn(
    *sizes: Any, size: Any = None, generator: Generator | None = None, dtype: Any = None, **options: Any
) -> Tensor:
    """randn(*size, generator=None, out, dtype, layout, device, requires_grad, pin_memory): standard normal numbers.

    https://pytorch.org/docs/stable/generated/torch.randn.html
    """
    kind = checked_dtype("randn", dtype) or get_default_dtype()
    return _factory("randn", sampling.normal_, (), sizes if size is None else (size,), generator, kind, options)


@composite(variants="function")
def randint(*args: Any, generator: Generator | None = None, dtype: Any = None, **options: Any) -> Tensor:
    """randint(low=0, high, size, generator=None, out, dtype=int64, ...): integers uniform in [low, high).

    https://pytorch.org/docs/stable/generated/torch.randint.html
    """
    given = list(args)
    size = options.pop("size") if "size" in options else given.pop() if given else None
    high = options.pop("high") if "high" in options else given.pop() if given else None
    low = options.pop("low") if "low" in options else given.pop() if given else 0
    if given or high is None or not isinstance(size, (tuple, list)):
        got = ", ".join(type(each).__name__ for each in args)
        raise TypeError(
            f"randint() received an invalid combination of arguments - got ({got}), but expected "
            "(int low = 0, int high, tuple of ints size)"
        )
    kind = checked_dtype("randint", dtype) or int64
    return _factory("randint", sampling.random_, (int(low), int(high)), (size,), generator, kind, options)


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
    """Normal numbers: of the shape of the tensors `mean` and `std`, or with two numbers, of a given size.

    https://pytorch.org/docs/stable/generated/torch.normal.html
    """
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        if out is not None and not isinstance(std, Tensor):  # as PyTorch, which doesn't resize `out` here
            filled: Tensor = out.normal_(0, std, generator=generator).add_(mean)
            return filled
        result: Tensor = normal_sample(mean, std, generator)
        return result if out is None else cast(Tensor, apply.write_out("normal", out, result))
    if size is None:
        raise TypeError("normal(): with two numbers, argument 'size' is required")
    kind = checked_dtype("normal", dtype) or get_default_dtype()
    options["out"] = out
    return _factory("normal", sampling.normal_, (mean, std), (size,), generator, kind, options)


@composite(variants="function")
def randperm(n: int, *, generator: Generator | None = None, dtype: Any = None, **options: Any) -> Tensor:
    """A random permutation of 0 … n − 1. https://pytorch.org/docs/stable/generated/torch.randperm.html"""
    kind = checked_dtype("randperm", dtype) or int64
    array = sampling.randperm(n, generator or default_generator, kind.numpy)

    def put(target: Array, generator: Generator) -> None:
        target[...] = array

    return _factory("randperm", put, (), (array.shape,), generator, kind, options)


def _like(
    input: Tensor, sampler: Sampler, parameters: tuple[Any, ...], generator: Generator | None, options: dict[str, Any]
) -> Tensor:
    requires_grad = options.pop("requires_grad", False)
    tensor: Tensor = empty_like(input, **options)
    draw(tensor._device.xp, tensor._array, sampler, generator, *parameters)
    return tensor.requires_grad_() if requires_grad else tensor


for _function in (rand, randn, normal, randperm):
    signatures.describe(_function, _function, keywords=FACTORY_KEYWORDS)
signatures.describe(randint, randint, keywords={"low": 0, "high": None, "size": None, **FACTORY_KEYWORDS})


@composite(variants="function")
def rand_like(input: Tensor, *, generator: Generator | None = None, **options: Any) -> Tensor:
    """rand_like(input, dtype, layout, device, requires_grad, memory_format): uniform in [0, 1)."""
    return _like(input, sampling.uniform_, (), generator, options)


@composite(variants="function")
def randn_like(input: Tensor, *, generator: Generator | None = None, **options: Any) -> Tensor:
    """randn_like(input, dtype, layout, device, requires_grad, memory_format): standard normal numbers."""
    return _like(input, sampling.normal_, (), generator, options)


@composite(variants="function")
def randint_like(
    input: Tensor, low: int, high: int | None = None, *, generator: Generator | None = None, **options: Any
) -> Tensor:
    """randint_like(input, low=0, high, dtype, ...): integers uniform in [low, high)."""
    bounds = (0, int(low)) if high is None else (int(low), int(high))
    return _like(input, sampling.random_, bounds, generator, options)


_LIKE_KEYWORDS = {
    "dtype": None,
    "layout": None,
    "device": None,
    "requires_grad": False,
    "pin_memory": False,
    "memory_format": None,
}
for _function in (rand_like, randn_like, randint_like):
    signatures.describe(_function, _function.__wrapped__, keywords=_LIKE_KEYWORDS)
