"""Which dimensions a `vmap` maps over, given as one int or for each part of nested arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from minitorch.tensor import Tensor
from minitorch.utils._pytree import tree_flatten, tree_leaves


def name_of(function: Callable[..., Any]) -> str:
    """What errors call a function."""
    if hasattr(function, "__name__"):
        return str(function.__name__)
    if isinstance(function, partial):
        return f"functools.partial({name_of(function.func)}, ...)"
    return repr(function)


def spread(dims: Any, tree: Any) -> list[Any] | None:
    """One entry of `dims` for each leaf of a tree, whose first levels they must resemble; None where they don't."""
    if not isinstance(dims, (list, tuple, dict)):
        return [dims] * len(tree_leaves(tree))
    if type(dims) is not type(tree) or len(dims) != len(tree):
        return None
    if isinstance(dims, dict) and isinstance(tree, dict):
        if dims.keys() != tree.keys():
            return None
        pairs = [(dims[key], tree[key]) for key in tree]
    else:
        pairs = list(zip(dims, tree, strict=True))
    parts = [spread(*pair) for pair in pairs]
    return None if any(part is None for part in parts) else [each for part in parts for each in part or ()]


def in_dims_of(function: Callable[..., Any], in_dims: Any, args: tuple[Any, ...]) -> list[int | None]:
    """The dimension, counted from the front, along which each leaf of the arguments has its examples.

    Raises ValueError where the dimensions don't fit the arguments.
    """
    call = f"vmap({name_of(function)}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{call}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name_of(function)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to "
            "vmap over a function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = spread(in_dims, args)
    if dims is None:
        raise ValueError(
            f"{call}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    return [_in_dim(call, dim, leaf) for dim, leaf in zip(dims, leaves, strict=True)]


def _in_dim(call: str, dim: Any, leaf: Any) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{call}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
        )
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"{call}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
            "non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -leaf.dim() <= dim < leaf.dim():
        raise ValueError(
            f"{call}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.dim()} so "
            f"expected in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
        )
    return dim % leaf.dim()


def check_out_dims(function: Callable[..., Any], out_dims: Any) -> None:
    """Raises ValueError unless all are ints or None."""
    if not all(each is None or isinstance(each, int) for each in tree_leaves(out_dims)):
        raise ValueError(
            f"vmap({name_of(function)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
            "collection of ints representing where in the outputs the vmapped dimension should appear."
        )


def out_dims_of(function: Callable[..., Any], out_dims: Any, outputs: Any) -> Sequence[int | None]:
    """The dimension at which each leaf of the outputs is to have its examples.

    Raises ValueError where the dimensions don't fit the outputs.
    """
    if isinstance(outputs, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        return out_dims
    dims = spread(out_dims, outputs)
    if dims is None:
        raise ValueError(
            f"vmap({name_of(function)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the "
            f"structure of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure "
            f"{tree_flatten(outputs)[1]}."
        )
    return dims
