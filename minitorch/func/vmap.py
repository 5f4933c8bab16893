"""Functions of one example as functions of many.

Source: https://docs.pytorch.org/docs/stable/generated/torch.func.vmap.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.dispatch.batched import batched, unbatched
from minitorch.dispatch.layers import pushed
from minitorch.func.dims import check_out_dims, in_dims_of, name_of, out_dims_of
from minitorch.func.mapping import RANDOMNESS, Vmap
from minitorch.func.rules import maps
from minitorch.ops.indexing.joining import cat
from minitorch.tensor import Tensor
from minitorch.utils._pytree import tree_flatten, tree_unflatten


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that maps `func` over a dimension of its arguments, computing all examples at once.

    Args:
        func: takes and returns tensors, also nested in tuples, lists and dicts.
        in_dims: over which dimension of each argument it maps, None for one that is the same for all examples. One
            int for all, or a tuple that follows the structure of the arguments.
        out_dims: at which dimension the results have the examples, likewise.
        randomness: whether random numbers inside are an "error", the "same" or "different" for the examples.
        chunk_size: how many examples are computed at once, by default all.

    Raises:
        ValueError: when it is called, for dimensions that don't fit, examples of different number, or results that
            are no tensors.
        RuntimeError: for another word for `randomness`; when it is called, for what needs the values of one example
            (`item`, `if`), and for random numbers in "error" mode.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.vmap.html
    """
    if randomness not in RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        check_out_dims(func, out_dims)
        dims = in_dims_of(func, in_dims, args)
        leaves, spec = tree_flatten(args)
        sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
        if not sizes:
            raise ValueError("vmap: Expected at least one Tensor to vmap over")
        if len(set(sizes)) > 1:
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                f"{sizes} for the mapped dimension"
            )
        if chunk_size is None or chunk_size >= sizes[0]:
            return _mapped(func, leaves, spec, dims, out_dims, randomness, kwargs)
        results = []
        for start in range(0, sizes[0], chunk_size):
            length = min(chunk_size, sizes[0] - start)
            chunk = [
                leaf if dim is None else leaf.narrow(dim, start, length) for leaf, dim in zip(leaves, dims, strict=True)
            ]
            results.append(_mapped(func, chunk, spec, dims, out_dims, randomness, kwargs))
        return _joined(func, results, out_dims)

    return mapped


def _mapped(
    func: Callable[..., Any],
    leaves: Sequence[Any],
    spec: Any,
    dims: Sequence[int | None],
    out_dims: Any,
    randomness: str,
    kwargs: dict[str, Any],
) -> Any:
    """What the function returns of the examples in the leaves of its arguments."""
    pairs = list(zip(leaves, dims, strict=True))
    level = Vmap(next(leaf.shape[dim] for leaf, dim in pairs if dim is not None), randomness)
    inputs = [leaf if dim is None else batched(leaf.movedim(dim, 0), level) for leaf, dim in pairs]
    with pushed(level):
        outputs = func(*tree_unflatten(inputs, spec), **kwargs)
    found, spec = tree_flatten(outputs)
    pairs = list(zip(found, out_dims_of(func, out_dims, outputs), strict=True))
    return tree_unflatten([_output(func, each, dim, level) for each, dim in pairs], spec)


def _output(func: Callable[..., Any], output: Any, dim: int | None, level: Vmap) -> Any:
    """An output with its examples along a dimension; as it is if that is None."""
    name = name_of(func)
    if dim is None:
        if maps(level, output):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return output
    if not isinstance(output, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(output)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    return unbatched(output, level).movedim(0, dim)


def _joined(func: Callable[..., Any], results: Sequence[Any], out_dims: Any) -> Any:
    """The results of chunks as one."""
    dims, spec = out_dims_of(func, out_dims, results[0]), tree_flatten(results[0])[1]
    columns = zip(*(tree_flatten(each)[0] for each in results), strict=True)
    return tree_unflatten([cat(column, dim) for column, dim in zip(columns, dims, strict=True)], spec)
