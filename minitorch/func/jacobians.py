"""Whole Jacobians: a product with each vector of the standard basis, all at once by `vmap`.

Source: https://docs.pytorch.org/docs/stable/func.api.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.func.arguments import Argnums, check_real, chosen
from minitorch.func.forward import linearized
from minitorch.func.reverse import vjp_of
from minitorch.func.vmap import vmap
from minitorch.ops.creation.filled import eye
from minitorch.tensor import Tensor
from minitorch.utils._pytree import tree_flatten, tree_unflatten


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that returns the Jacobian of `func`, by backward passes: for functions with fewer outputs than inputs.

    Args:
        argnums: the argument, or the tuple of arguments, with respect to which it is.
        has_aux: whether `func` returns (output, aux); then the new function returns (Jacobian, aux).
        chunk_size: how many rows are computed at once, by default all.

    Returns:
        For each output a tensor of shape output.shape + input.shape, or a tree of them like the inputs.

    Raises:
        ValueError: for a `chunk_size` below 1.
        RuntimeError: when the function is called, for complex inputs or outputs.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.jacrev.html
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def jacobian(*args: Any) -> Any:
        check_real("jacrev", args, "inputs")
        outputs, product, aux = vjp_of(func, args, argnums, has_aux)
        check_real("jacrev", outputs, "outputs")
        leaves, spec = tree_flatten(outputs)
        inputs, inputs_spec = tree_flatten(chosen(args, argnums))
        found = vmap(product, chunk_size=chunk_size)(_basis(outputs))
        rows = tree_flatten(found)[0]
        blocks = [each.split([output.numel() for output in leaves]) for each in rows]
        columns = [
            [each[i].reshape(*output.shape, *inputs[j].shape) for j, each in enumerate(blocks)]
            for i, output in enumerate(leaves)
        ]
        result = tree_unflatten([tree_unflatten(each, inputs_spec) for each in columns], spec)
        return (result, aux) if has_aux else result

    return jacobian


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """A function that returns the Jacobian of `func`, column by column: for functions with fewer inputs than outputs.

    The arguments, but for the rows at once, and the result are those of `jacrev`. `func` runs once, so that
    `randomness` makes no difference.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.jacfwd.html
    """

    @functools.wraps(func)
    def jacobian(*args: Any) -> Any:
        check_real("jacfwd", args, "inputs")
        outputs, product, aux = linearized(func, args, argnums, has_aux, False)
        check_real("jacfwd", outputs, "outputs")
        spec = tree_flatten(outputs)[1]
        primals = chosen(args, argnums)
        inputs, inputs_spec = tree_flatten(primals)
        found = tree_flatten(vmap(product, out_dims=-1)(_basis(primals)))[0]
        rows = [
            tree_unflatten(_shaped(each.split([one.numel() for one in inputs], -1), inputs), inputs_spec)
            for each in found
        ]
        result = tree_unflatten(rows, spec)
        return (result, aux) if has_aux else result

    return jacobian


def _shaped(blocks: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[Tensor]:
    """Blocks whose last dimension has the shape of an input."""
    return [block.reshape(*block.shape[:-1], *one.shape) for block, one in zip(blocks, inputs, strict=True)]


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that returns the matrix of the second derivatives of `func`, a scalar: `jacfwd` of `jacrev`.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.hessian.html
    """
    return jacfwd(jacrev(func, argnums), argnums)


def _basis(tree: Any) -> Any:
    """The vectors of the standard basis in the shapes of a tree of tensors, along a new first dimension."""
    leaves, spec = tree_flatten(tree)
    total, start, result = sum(each.numel() for each in leaves), 0, []
    for each in leaves:
        rows = eye(total, dtype=each.dtype, device=each.device).narrow(1, start, each.numel())
        result.append(rows.reshape(total, *each.shape))
        start += each.numel()
    return tree_unflatten(result, spec)
