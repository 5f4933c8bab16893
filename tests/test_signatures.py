"""The parameters of functions and methods: PyTorch's names, order and defaults, as its stubs and schemas have them.

Methods and functions of `torch` are described by torch's stub files, one entry an overload; those of `torch.linalg`,
`torch.special` and `torch.fft` by the schemas of operators; those of `torch.nn.functional` that are Python by
themselves.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import minitorch
from minitorch.dispatch.schema import ALIASES

torch = pytest.importorskip("torch", reason="the expected parameters are torch's")
functional = importlib.import_module("minitorch.nn.functional")

MISSING = inspect.Parameter.empty
LAYOUT = "None stands for the default layout"
OVERLOADS = "one function for several overloads, whose defaults depend on which is meant"
STUB = "the stub says something else than PyTorch does"
OLD = "a constructor of PyTorch's old interface: data and sizes are told apart by their types"
NUMPY = "NumPy's names are accepted as keywords, but not shown"

DIFFERENT: dict[str, str] = {
    "addmm baddbmm bmm mm: out_dtype": "for GPUs alone",
    "full: names": "named tensors are out of scope",
    "std std_mean var var_mean Tensor.std Tensor.var: unbiased": OVERLOADS,
    "trapezoid trapz cumulative_trapezoid: dx": OVERLOADS,
    "arange: step": OVERLOADS,
    "conv1d conv2d conv3d: padding": OVERLOADS,
    "gradient: spacing": OVERLOADS,
    "result_type: scalar scalar1 scalar2": OVERLOADS,
    "linspace logspace: steps": "required, as PyTorch's own error says",
    "tensor Tensor.new_tensor: pin_memory order": STUB,
    "linalg.cholesky linalg.cholesky_ex linalg.eig linalg.eigh linalg.pinv: order": "the argument is called A",
    "special.log_softmax: order": "the function of torch, whose third argument is dtype",
    "set_num_threads set_num_interop_threads: num order": "positional-only, as in PyTorch",
    "fft.fftfreq fft.rfftfreq: pin_memory": "None and False mean the same",
    "Tensor.is_contiguous: order": STUB,
    "Tensor.requires_grad_: mode order": STUB,
    "Tensor.new: cls args storage other size order": OLD,
    "swapaxes Tensor.swapaxes Tensor.swapaxes_: order": NUMPY,
    "det inverse Tensor.det Tensor.inverse: order": "linalg's functions, whose argument is A",
    "tensor_split Tensor.tensor_split: order": OVERLOADS,
    "orgqr Tensor.orgqr: input2 order": "linalg.householder_product, whose argument is tau",
}
"""What differs, and why: functions, a colon, and parameters, or "order" for the order of positional ones."""


@dataclass
class Parameters:
    """One overload: the names of positional parameters in order, those of all, and what defaults they have."""

    positional: list[str]
    names: list[str]
    defaults: dict[str, Any]


def of_stub(arguments: ast.arguments) -> Parameters:
    positional = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    defaults = dict(zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True))
    named = [each.arg for each in arguments.kwonlyargs]
    defaults |= {name: each for name, each in zip(named, arguments.kw_defaults, strict=True) if each is not None}
    rest = [] if arguments.vararg is None else ["*" + arguments.vararg.arg]
    values = {name: evaluated(each) for name, each in defaults.items()}
    return Parameters(positional + rest, positional + named, values)


def evaluated(expression: ast.expr) -> Any:
    return eval(ast.unparse(expression), {"torch": torch, "strided": torch.strided, "inf": float("inf")})


def stubs(body: list[ast.stmt]) -> dict[str, list[Parameters]]:
    found = defaultdict(list)
    for each in body:
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
            found[each.name].append(of_stub(each.args))
    return dict(found)


def stub_file(name: str) -> list[ast.stmt]:
    return ast.parse((Path(torch.__file__).parent / "_C" / name).read_text("utf-8")).body


def of_schemas(name: str) -> list[Parameters]:
    """The overloads of an operator, without those that only add `out`."""
    packet = getattr(torch.ops.aten, name, None)
    found = []
    for overload in packet.overloads() if packet is not None else ():
        arguments = [each for each in getattr(packet, overload)._schema.arguments if not each.is_out]
        names = [{"self": "input"}.get(each.name, each.name) for each in arguments]
        positional = [name for name, each in zip(names, arguments, strict=True) if not each.kwarg_only]
        given = zip(names, arguments, strict=True)
        defaults = {name: each.default_value for name, each in given if each.has_default_value()}
        found.append(Parameters(positional, names, defaults))
    return found


def of_python(function: Callable[..., Any]) -> Parameters:
    parameters = inspect.signature(function).parameters.values()
    positional = [
        "*" * (each.kind is each.VAR_POSITIONAL) + each.name
        for each in parameters
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.VAR_POSITIONAL)
    ]
    named = [each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    defaults = {each.name: each.default for each in named if each.default is not MISSING}
    return Parameters(positional, [each.name for each in named], defaults)


def problems(function: Callable[..., Any], overloads: list[Parameters]) -> Iterator[tuple[str, str]]:
    """The parameters that differ, and how; "order" for the order of positional ones."""
    ours = of_python(function)
    accepted_names = {"self", "input", *ours.names, *(each.lstrip("*") for each in ours.positional)}
    for theirs in overloads:
        for name in theirs.names:
            if name not in accepted_names and accepted_names.isdisjoint(ALIASES.get(name, ())):
                yield name, "is missing"
        for name, default in theirs.defaults.items():
            if name in ours.names:
                own = ours.defaults.get(name, MISSING)
                if not same_default(name, default, own):
                    yield name, f"has the default {own!r}, torch's is {default!r}"
    accepted = [shown(each.positional) for each in overloads]
    if shown(ours.positional) not in accepted and not is_variadic(ours.positional, overloads):
        yield "order", f"is {ours.positional}, torch's {accepted}"


def shown(names: list[str]) -> list[str]:
    return [{"self": "input"}.get(name, name) for name in names]


def is_variadic(names: list[str], overloads: list[Parameters]) -> bool:
    """Whether the last parameters are told apart by their number and types, as sizes are."""
    fixed = shown([name for name in names if not name.startswith("*")])
    return len(fixed) < len(names) and any(shown(each.positional)[: len(fixed)] == fixed for each in overloads)


def same_default(name: str, theirs: Any, ours: Any) -> bool:
    if theirs is None and name == "layout":  # LAYOUT
        return ours is None or ours is minitorch.strided
    empty = ((), [], None)
    if isinstance(theirs, list) and isinstance(ours, tuple):
        return theirs == list(ours)
    return str(theirs) == str(ours) or theirs == ours or (theirs in empty and ours in empty)


def differences(label: str, function: Callable[..., Any], overloads: list[Parameters]) -> list[str]:
    return [f"{name} {what}" for name, what in problems(function, overloads) if name not in expected(label)]


def expected(label: str) -> set[str]:
    found = set()
    for key in DIFFERENT:
        functions, _, names = key.partition(":")
        if label in functions.split():
            found |= set(names.split())
    return found


FUNCTIONS = stubs(stub_file("_VariableFunctions.pyi"))
METHODS = stubs(
    next(
        each for each in stub_file("__init__.pyi") if isinstance(each, ast.ClassDef) and each.name == "TensorBase"
    ).body
)


def compared() -> dict[str, tuple[Callable[..., Any], list[Parameters]]]:
    """What both libraries have: by label the function, and torch's overloads."""
    found = {}
    for name, overloads in FUNCTIONS.items():
        if hasattr(minitorch, name):
            found[name] = getattr(minitorch, name), overloads
    for name, overloads in METHODS.items():
        method = getattr(minitorch.Tensor, name, None)
        if callable(method):
            without_out = [
                Parameters(each.positional, [n for n in each.names if n != "out"], each.defaults) for each in overloads
            ]
            found[f"Tensor.{name}"] = method, without_out
    for namespace in ("linalg", "special", "fft"):
        ours, theirs = getattr(minitorch, namespace), getattr(torch, namespace)
        for name in dir(theirs):
            overloads = of_schemas(f"{namespace}_{name}")
            if overloads and callable(getattr(ours, name, None)):
                found[f"{namespace}.{name}"] = getattr(ours, name), overloads
    for name in dir(torch.nn.functional):
        theirs, ours = getattr(torch.nn.functional, name), getattr(functional, name, None)
        if inspect.isfunction(theirs) and callable(ours) and of_python(theirs).positional != ["*args"]:
            found[f"nn.functional.{name}"] = ours, [of_python(theirs)]
    return found


COMPARED = compared()


def test_parameters_are_those_of_torch() -> None:
    found = {label: differences(label, function, overloads) for label, (function, overloads) in COMPARED.items()}
    assert {label: each for label, each in found.items() if each} == {}


def test_what_differs_is_listed_once_and_still_differs() -> None:
    for key in DIFFERENT:
        functions, _, names = key.partition(":")
        for label in functions.split():
            found = {name for name, _ in problems(*COMPARED[label])}
            assert found & set(names.split()), f"{label} differs in none of {names}"


def test_signatures_are_shown() -> None:
    assert str(inspect.signature(minitorch.add)) == "(input, other, *, alpha=1, out=None)"
    assert str(inspect.signature(minitorch.Tensor.add_)) == "(self, other, *, alpha=1)"
    assert str(inspect.signature(functional.relu)) == "(input, inplace=False)"
    assert list(inspect.signature(minitorch.zeros).parameters)[:2] == ["sizes", "size"]
    assert list(inspect.signature(minitorch.linalg.svdvals).parameters) == ["A", "driver", "out"]
