"""Jacobians, Hessians and their products: values, histories and errors are PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.same import attempt, same

Function = Callable[..., Any]

FUNCTIONS: dict[str, Function] = {
    "cube": lambda x: x**3,
    "linear": lambda x: 2 * x,
    "constant": lambda x: x.new_ones(3),
    "a number": lambda x: 5,
    "a tensor and a number": lambda x: (x, 5),
    "sum of cubes": lambda x: (x**3).sum(),
    "sum": lambda x: x.sum(),
    "sum of squares": lambda x: x.pow(2).sum(),
    "a tuple of one": lambda x: (x.pow(2).sum(),),
    "a number with two dimensions": lambda x: x.pow(3).sum().view(1, 1),
}
OF_TWO: dict[str, Function] = {
    "three outputs": lambda x, y: (x * y, (x**2).sum(), y.exp().view(3, 1)),
    "one unused": lambda x, y: x * 2,
    "a scalar": lambda x, y: (x**2 * y).sum(),
    "a scalar, one unused": lambda x, y: x.exp().sum(),
}


def inputs(torch: Any, count: int, requires_grad: bool = False) -> Any:
    given = [torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.5, 1.5, 2.5])][:count]
    for each in given:
        each.requires_grad_(requires_grad)
    return given[0] if count == 1 else tuple(given)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("strict, vectorize", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("what", ["jacobian", "hessian"])
@pytest.mark.parametrize("name", [*FUNCTIONS, *OF_TWO])
@same
def test_derivatives(torch: Any, name: str, what: str, strict: bool, vectorize: bool, create_graph: bool) -> Any:
    one = name in FUNCTIONS
    function, given = (FUNCTIONS if one else OF_TWO)[name], inputs(torch, 1 if one else 2, create_graph)
    options = {"create_graph": create_graph, "strict": strict, "vectorize": vectorize}
    return attempt(lambda: values(getattr(torch.autograd.functional, what)(function, given, **options)))


def values(results: Any) -> Any:
    """Without histories: zeros that the library fills in have one in PyTorch here and there."""
    return results.detach() if hasattr(results, "detach") else [values(each) for each in results]


HVP = pytest.param("hvp", marks=pytest.mark.beyond("minitorch.autograd.functional:hvp"))
"""An exercise's `hvp` takes one tensor and has no options."""


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("what", ["vjp", "jvp", "vhp", HVP])
@pytest.mark.parametrize("name", [*FUNCTIONS, *OF_TWO])
@same
def test_products(torch: Any, name: str, what: str, strict: bool, create_graph: bool) -> Any:
    count = 1 if name in FUNCTIONS else 2
    product = getattr(torch.autograd.functional, what)
    function = (FUNCTIONS if count == 1 else OF_TWO)[name]
    v = torch.tensor([1.0, -1.0, 2.0])
    vector: Any = v if count == 1 else (v, v + 1)
    if what == "vjp":
        vector = {"three outputs": (v, v.sum(), v.view(3, 1)), "one unused": v}.get(name, v)
        vector = v.sum() if name in ("sum of cubes", "sum of squares", "sum", "a scalar") else vector
    given = inputs(torch, count, create_graph)
    return attempt(lambda: product(function, given, vector, create_graph=create_graph, strict=strict))


CALLS: dict[str, Callable[[Any], Any]] = {
    "vjp of a scalar": lambda f: f.vjp(FUNCTIONS["sum"], x_of(f)),
    "vjp without v": lambda f: f.vjp(FUNCTIONS["cube"], x_of(f)),
    "v of another size": lambda f: f.vjp(FUNCTIONS["cube"], x_of(f), x_of(f)[:2]),
    "a v too many": lambda f: f.vjp(FUNCTIONS["cube"], x_of(f), (x_of(f), x_of(f))),
    "a v too few": lambda f: f.jvp(OF_TWO["one unused"], (x_of(f), x_of(f)), (x_of(f),)),
    "an entry of another size": lambda f: f.jvp(OF_TWO["one unused"], (x_of(f), x_of(f)), (x_of(f), x_of(f)[:2])),
    "no tensor": lambda f: f.vjp(FUNCTIONS["cube"], 5),
    "no tensor among several": lambda f: f.vjp(FUNCTIONS["cube"], (x_of(f), 5)),
    "v is no tensor": lambda f: f.vjp(FUNCTIONS["cube"], x_of(f), 5),
    "jvp of a number": lambda f: f.jvp(FUNCTIONS["cube"], x_of(f)[:1]),
    "jvp without v": lambda f: f.jvp(FUNCTIONS["cube"], x_of(f)),
    "hvp without v": lambda f: f.hvp(FUNCTIONS["sum"], x_of(f)),
    "vhp without v": lambda f: f.vhp(FUNCTIONS["sum"], x_of(f)),
    "an unknown strategy": lambda f: f.jacobian(FUNCTIONS["cube"], x_of(f), strategy="sideways"),
    "another unknown strategy": lambda f: f.hessian(FUNCTIONS["sum"], x_of(f), outer_jacobian_strategy="sideways"),
}


def x_of(functional: Any) -> Any:
    import importlib

    return importlib.import_module(functional.__name__.partition(".")[0]).tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize("name", [pytest.param(each, marks=HVP.marks if "hvp" in each else ()) for each in CALLS])
@same
def test_arguments(torch: Any, name: str) -> Any:
    return attempt(lambda: CALLS[name](torch.autograd.functional))


@pytest.mark.parametrize(
    "create_graph, strict, vectorize", [(False, False, True), (True,) * 3, (False, True, True), (False,) * 3]
)
@same
def test_forward_mode(torch: Any, create_graph: bool, strict: bool, vectorize: bool) -> Any:
    functional = torch.autograd.functional
    options = {"create_graph": create_graph, "strict": strict, "vectorize": vectorize}
    one, two = inputs(torch, 1), inputs(torch, 2)
    return [
        attempt(lambda: functional.jacobian(FUNCTIONS["cube"], one, strategy="forward-mode", **options)),
        attempt(lambda: functional.jacobian(OF_TWO["three outputs"], two, strategy="forward-mode", **options)),
        attempt(  # PyTorch's requires a gradient, which leads to copies of the inputs
            lambda: [
                [each.detach() for each in row]
                for row in functional.hessian(
                    OF_TWO["a scalar"], two, outer_jacobian_strategy="forward-mode", **options
                )
            ]
        ),
    ]


@same
def test_results_are_differentiable_with_create_graph(torch: Any) -> Any:
    x = inputs(torch, 1, requires_grad=True)
    hessian = torch.autograd.functional.hessian(lambda x: (x**4).sum(), x, create_graph=True)
    _, product = torch.autograd.functional.jvp(lambda x: x**3, x, torch.ones(3), create_graph=True)
    hessian.sum().backward()
    return x.grad, torch.autograd.grad(product.sum(), x)
