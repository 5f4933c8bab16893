"""Gradients of functions, by backward passes.

Source: https://docs.pytorch.org/docs/stable/func.api.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.dispatch.layers import without
from minitorch.dtypes import FLOATING
from minitorch.func.arguments import Argnums, check_outputs, chosen, replaced, shape_of, split_aux
from minitorch.func.tape import Tape
from minitorch.tensor import Tensor
from minitorch.utils._pytree import tree_flatten, tree_unflatten

_CALL = "grad_and_value(f)(*args)"


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of `func`, which returns a scalar tensor.

    Args:
        argnums: the argument, or the tuple of arguments, with respect to which it is; each a tensor, or a tree of some.
        has_aux: whether `func` returns (output, aux); then the new function returns (gradient, aux).

    Raises:
        RuntimeError: when it is called, if `func` returns something else, or `argnums` don't fit the arguments.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.grad.html
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of `func` and its value, or (gradient, (value, aux)).

    The arguments are those of `grad`.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.grad_and_value.html
    """

    @functools.wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        tape = Tape(chosen(args, argnums))
        outputs = tape.run(functools.partial(func, **kwargs), replaced(args, argnums, tape.inputs))
        output, aux = split_aux(_CALL, outputs, has_aux)
        if not isinstance(output, Tensor):
            raise RuntimeError(f"{_CALL}: Expected f(*args) to return a Tensor, got {type(output)}")
        if output.dim():
            raise RuntimeError(
                f"{_CALL}: Expected f(*args) to return a scalar Tensor, got tensor with {output.dim()} dims. Maybe you "
                "wanted to use the vjp or jacrev APIs instead?"
            )
        whole = tape.whole(output)
        with without(tape.levels):
            create_graph = tape.recorded and tape.leads_outside(whole)
            found = tape.gradients([whole], [whole.new_ones(whole.shape)], tape.sources, create_graph)
        gradient = tape.released(tree_unflatten([tape.seen(each) for each in found], tape.spec))
        value = tape.released(output)
        return gradient, (value, tape.released(aux)) if has_aux else value

    return gradient_and_value


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """func(*primals), and a function that maps cotangents of that to their products with the Jacobian, vᵀJ.

    Args:
        has_aux: whether `func` returns (output, aux); then aux is returned as the third.

    Returns:
        The outputs, and the function: it takes a tree like theirs and returns the tuple of gradients. Called inside
        `vmap`, it computes the products of many cotangents at once.

    Raises:
        RuntimeError: if `func` returns integers or no tensors; when the function is called, for another tree.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.vjp.html
    """
    results = vjp_of(func, primals, None, has_aux)
    return results if has_aux else results[:2]


def vjp_of(
    func: Callable[..., Any], args: tuple[Any, ...], argnums: Argnums | None, has_aux: bool
) -> tuple[Any, Callable[..., Any], Any]:
    """The same of the arguments that are differentiated, by default all."""
    argnums = tuple(range(len(args))) if argnums is None else argnums
    tape = Tape(chosen(args, argnums))
    found = tape.run(func, replaced(args, argnums, tape.inputs))
    outputs, aux = split_aux("vjp(f, *primals)", found, has_aux)
    leaves, spec = tree_flatten(outputs)
    check_outputs("vjp(f, *primals)", leaves)
    for each in leaves:
        if each._dtype.category < FLOATING:
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                f"{each.dtype}"
            )
    wholes = [tape.whole(each) for each in leaves]

    def products(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given, found_spec = tree_flatten(cotangents)
        if found_spec != spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {shape_of(cotangents)}, primal output: {shape_of(outputs)}"
            )
        recorded = grad_mode.enabled if create_graph is None else create_graph
        weights = [tape.whole(each) for each in given]
        with without(tape.levels):
            known = any(each.requires_grad for each in weights) or any(map(tape.leads_outside, wholes))
            found = tape.gradients(wholes, weights, tape.sources, recorded and known)
        return tape.released(tree_unflatten([tape.seen(each) for each in found], tape.spec))

    return tape.released(outputs), products, tape.released(aux)
