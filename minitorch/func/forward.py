"""Products of Jacobians and vectors, Jv, as forward-mode differentiation gives them.

There are backward passes alone, and it takes two: wᵀJ is linear in w, so its derivative with respect to w in the
direction v is Jv. Source: https://j-towns.github.io/2017/06/12/A-new-trick.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.autograd.grad_mode import inference_mode
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.dispatch.layers import without
from minitorch.dtypes import FLOATING
from minitorch.func.arguments import Argnums, check_outputs, chosen, replaced, split_aux
from minitorch.func.tape import Tape
from minitorch.tensor import Tensor
from minitorch.utils._pytree import tree_flatten, tree_unflatten

_CALL = "jvp(f, primals, tangents)"


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """func(*primals), and Jv for the tangents v: how the outputs change when the primals change so.

    Args:
        primals: the tuple of arguments, tensors or trees of them.
        tangents: likewise, of the same shapes.
        strict: whether an output that doesn't depend on the primals is an error; otherwise its tangent is zero.
        has_aux: whether `func` returns (output, aux); then aux is returned as the third.

    Raises:
        RuntimeError: for primals that are no tuple, tangents unlike them, or a `func` that returns no tensors.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.jvp.html
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{_CALL}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    given, spec = tree_flatten(primals)
    along, tangents_spec = tree_flatten(tangents)
    if spec != tangents_spec:
        raise RuntimeError(
            f"{_CALL}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and tangents with structure "
            f"{tangents_spec}"
        )
    for tensor, tangent in zip(given, along, strict=True):
        if isinstance(tensor, Tensor) and isinstance(tangent, Tensor):
            check_tangent(tensor, tangent)
    outputs, product, aux = linearized(func, primals, None, has_aux, strict)
    found = product(tangents)
    return (outputs, found, aux) if has_aux else (outputs, found)


def check_tangent(tensor: Tensor, tangent: Tensor) -> None:
    """Raises RuntimeError for a tangent of another size."""
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """func(*primals), and the function that maps tangents to Jv there, which may be called many times.

    Raises:
        RuntimeError: when the function is called, for tangents unlike the primals in structure, shape or type.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.linearize.html
    """
    outputs, product, _ = linearized(func, primals, None, False, False)
    given, spec = tree_flatten(primals)

    def checked(*tangents: Any) -> Any:
        along, found = tree_flatten(tangents)
        if found != spec:
            raise RuntimeError(f"Expected the tangents {found} to have the same argspec as the primals {spec}")
        for number, (primal, tangent) in enumerate(zip(given, along, strict=True)):
            for name in ("shape", "device", "dtype"):
                one, other = getattr(tangent, name), getattr(primal, name)
                if one != other:
                    raise RuntimeError(
                        f"tangent:{number} with {name} {one} in flattened pytree doesn't match the {name} {other} of "
                        "the corresponding primal."
                    )
        return product(tangents)

    return outputs, checked


def linearized(
    func: Callable[..., Any], args: tuple[Any, ...], argnums: Argnums | None, has_aux: bool, strict: bool
) -> tuple[Any, Callable[..., Any], Any]:
    """func(*args), the function that maps tangents of the arguments that are differentiated to Jv, and aux."""
    argnums = tuple(range(len(args))) if argnums is None else argnums
    tape = Tape(chosen(args, argnums))
    found = tape.run(func, replaced(args, argnums, tape.inputs))
    outputs, aux = split_aux(_CALL, found, has_aux)
    leaves, spec = tree_flatten(outputs)
    check_outputs(_CALL, leaves)
    wholes = [tape.whole(each) for each in leaves]
    if strict and not all(map(tape.is_reached_from, wholes)):
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
            "with strict=True."
        )
    product = LinearMap(tape, wholes)

    def of_tangents(tangents: Any) -> Any:
        found = product([tape.whole(each) for each in tree_flatten(tangents)[0]])
        return tape.released(tree_unflatten([tape.seen(each) for each in found], spec))

    return tape.released(outputs), of_tangents, tape.released(aux)


class LinearMap:
    """The map from tangents of a tape's sources to those of outputs."""

    def __init__(self, tape: Tape, outputs: list[Tensor]) -> None:
        self.tape = tape
        with without(tape.levels), inference_mode(False):
            real = [each if each._dtype.category >= FLOATING else each.new_zeros(each.shape) for each in outputs]
            # The result is the same for all weights. Some formulas take their logarithm, which zero has none of.
            self.weights = [each.new_ones(each.shape).requires_grad_() for each in real]
            tape.own += self.weights
            self.gradients = tape.gradients(real, self.weights, tape.sources, create_graph=True)

    def __call__(self, tangents: list[Tensor]) -> list[Tensor]:
        """The tangents of the outputs, recorded as far as these or the function depend on what requires gradients."""
        tape = self.tape
        with without(tape.levels):
            known = any(map(tape.leads_outside, (*self.gradients, *tangents)))
            return tape.gradients(self.gradients, tangents, self.weights, grad_mode.enabled and known)
