"""Random programs that autograd records: ops, views, writes in place, modes, hooks, and backward passes."""

from __future__ import annotations

import cmath
import math
from typing import Any

from tests.random_programs.drawing import Draw
from tests.random_programs.interpreter import Fact, Library, Twins
from tests.random_programs.lines import BINARY, GRADS, MODES, PASSES, UNARY, VIEWS, WRITES
from tests.random_programs.views import overlaps_itself

ORDERED = ("atan2", "clamp", "fmod", "hypot", "imum", "xlogy")
"""Of two tensors, and not of complex ones."""
MATRICES = ("linear", "matmul", "mm", "mv")
"""Whose shapes may not fit even if they are the same."""


def leaf(draw: Draw) -> str:
    shape = draw.of(((3,), (2, 3), (), (2, 2), (1, 3), (2, 2, 2), (2, 0) if draw.seldom() else (3,)))
    dtype = draw.of(("float64",) * 6 + ("float32", "complex128" if shape else "float64"))
    kind = "float64" if dtype == "complex128" else dtype
    real, imaginary = (
        f"torch.linspace({ends}, {math.prod(shape)}, dtype=torch.{kind})" for ends in ("-0.7, 0.9", "0.4, -0.3")
    )
    numbers = f"torch.complex({real}, {imaginary})" if dtype == "complex128" else real
    return f"{numbers}.reshape({shape}){draw.of(('.requires_grad_()', '', '.requires_grad_()'))}"


def step(draw: Draw, tensors: dict[str, Any], new: str) -> str:
    """The next line of a program."""
    if not tensors or (len(tensors) < 3 and draw.of((False, True))):
        return f"{new} = {leaf(draw)}"
    names = list(tensors)[::-1]
    family = draw.of((UNARY, BINARY, VIEWS, WRITES, PASSES, GRADS, WRITES, VIEWS))
    one, others = draw.of(names), [draw.of(names) for _ in range(2)]
    if family is VIEWS:
        others = [one, one]
    if family is WRITES:
        others = [other + ".clone()" * _is_other_view(tensors[one], tensors[other]) for other in others]
    form = draw.of(family)
    if _is_open(form, tensors[one]) or _has_two_faults(form, [tensors[name.split(".")[0]] for name in (one, *others)]):
        family, form = VIEWS, VIEWS[0]
    result = {UNARY: f"{new} = ", VIEWS: f"{new} = ", BINARY: f"{new} = ", GRADS: f"g{new[1:]} = "}.get(family, "")
    line = result + form.format(one, *others)
    if tensors[one].is_inference():  # outside the mode, PyTorch refuses to write when it has written already
        return f"with torch.inference_mode(): {line}"
    if family is WRITES and (_is_recorded_leaf(tensors[one]) or "detach_" in line):
        return line  # unrecorded, a change of its shape would leave PyTorch with gradients that don't fit
    return (draw.of(MODES) if family not in (PASSES, GRADS) else "") + line


def _is_open(form: str, x: Any) -> bool:
    """Whether a line has several outcomes in PyTorch, or none that is meant, because elements of x share a place."""
    if "set_(" in form and x._is_view():
        return True  # whose history may show more than the base has
    if "median" in form and 0 in x.stride():
        return True  # PyTorch reads beyond the tensor
    return form in WRITES and (overlaps_itself(x) or 0 in x.stride())


def _has_two_faults(form: str, inputs: list[Any]) -> bool:
    """Whether shapes and something else can be refused: which of the two PyTorch says first depends on the op."""
    if any(x.is_complex() for x in inputs) and any(name in form for name in ORDERED):
        return True
    return any(x.is_inference() for x in inputs) and (
        len({x.shape for x in inputs}) > 1 or any(name in form for name in MATRICES)
    )


def _is_other_view(one: Any, other: Any) -> bool:
    """Whether two tensors may overlap: then the order in which elements are written decides the outcome."""
    return other is not one and other.untyped_storage().data_ptr() == one.untyped_storage().data_ptr()


def _is_recorded_leaf(x: Any) -> bool:
    try:
        return bool(x.is_leaf and x.requires_grad)
    except RuntimeError:  # a view that was written to against the rules
        return False


class Numbers:
    """Values that count as equal when they differ by rounding."""

    def __init__(self, tensor: Any, signed: bool = True) -> None:
        self.signed = signed
        self.shape = tuple(tensor.shape)
        values = (
            tensor.detach().clone().flatten().tolist()
        )  # PyTorch has gradients of zeros without memory, which a clone gets
        self.values = values if isinstance(values, list) else [values]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Numbers)
            and self.shape == other.shape
            and all(_close(a, b, self.signed) for a, b in zip(self.values, other.values, strict=True))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.values} of shape {self.shape}"


def _close(a: complex, b: complex, signed: bool) -> bool:
    if isinstance(a, complex) and isinstance(b, complex):
        return _close(a.real, b.real, False) and _close(a.imag, b.imag, False)
    if signed and a == 0 == b:
        return str(a) == str(b)
    return cmath.isclose(a, b, rel_tol=1e-5, abs_tol=1e-7) or (a != a and b != b)


def _history(library: Library, x: Any) -> Any:
    """The node that made a tensor, and the nodes before it, less the number of their overload; or why there is none."""
    try:
        node = x.grad_fn
    except RuntimeError as error:
        return str(error)
    if node is None:
        return None
    before = [each.name().rstrip("0123456789") for each, _ in node.next_functions if each is not None]
    return node.name(), x.output_nr, before


def _version(library: Library, x: Any) -> Any:
    try:
        return x._version
    except RuntimeError as error:
        return str(error)


def _grad(library: Library, x: Any) -> Any:
    try:
        if not x.is_leaf and not x.retains_grad:
            return None
    except RuntimeError:
        return None
    return None if x.grad is None else (Numbers(x.grad), x.grad.requires_grad)


def _gradient(library: Library, name: str) -> Any:
    """What `torch.autograd.grad` returned: its history is that of a formula, which may be written in several ways."""
    x = library.variables.get(name)
    return None if x is None else (Numbers(x, signed=False), x.requires_grad)


FACTS: dict[str, Fact] = {
    "value": lambda library, x: Numbers(x),
    "requires_grad": lambda library, x: x.requires_grad,
    "history": _history,
    "grad": _grad,
    "version": _version,
    "inference": lambda library, x: x.is_inference(),
    "retains_grad": lambda library, x: x.retains_grad,
    "base": lambda library, x: (x._is_view(), library.name_of(x._base)),
}


def program(draw: Draw, torch: Any, steps: int) -> None:
    twins = Twins(torch, FACTS)
    for number in range(draw.integer(1, steps)):
        twins.run(step(draw, twins.theirs.tensors(), f"t{number}"))
        twins.same(f"gradient {number}", *(_gradient(each, f"g{number}") for each in (twins.ours, twins.theirs)))
