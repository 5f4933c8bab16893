"""Gradients and Jacobians of functions, inside each other and inside `vmap`; what they know of what is outside."""

from __future__ import annotations

from typing import Any

from tests.same import attempt, same


def inputs(torch: Any) -> tuple[Any, Any, Any]:
    """Three points, a matrix, and a scalar function of a point."""
    points = torch.arange(12.0).reshape(3, 4).cos()
    matrix = torch.arange(16.0).reshape(4, 4).sin()
    return points, matrix, lambda x: ((x @ matrix).sin() * x).sum()


@same
def test_gradients(torch: Any) -> Any:
    x, w, f = inputs(torch)
    grad = torch.func.grad
    return [
        grad(f)(x),
        grad(grad(grad(lambda a: a**5)))(torch.tensor(2.0)),
        grad(lambda a, b: (a * b).sum(), argnums=(0, -1))(x, x + 1),
        grad(lambda d, scale: (d["w"] * scale).sum() + d["b"][0].exp())({"w": w, "b": [x[0, 0]]}, scale=2.0),
        grad(lambda a: (a.pow(2).sum(), {"twice": a * 2}), has_aux=True)(x),
        torch.func.grad_and_value(f)(x),
        torch.func.grad_and_value(lambda a: (f(a), a), has_aux=True)(x),
        grad(lambda a: torch.ones(()))(x),
        grad(f).__name__,
    ]


@same
def test_per_example(torch: Any) -> Any:
    x, w, f = inputs(torch)
    grad, vmap = torch.func.grad, torch.vmap
    return [
        vmap(grad(f))(x),
        grad(lambda a: vmap(f)(a).sum())(x),
        vmap(grad(lambda v, a: (a @ v).tanh().sum()), in_dims=(None, 0))(w, x),
        vmap(lambda a: grad(lambda v: (a @ v).tanh().sum())(w))(x),
        vmap(vmap(grad(lambda a, b: a * b * b, argnums=(0, 1))))(x, x),
        vmap(grad(lambda a: vmap(lambda row: (row * a).sum().sin())(w).sum()))(x),
        vmap(torch.func.hessian(f))(x),
        vmap(torch.func.jacrev(lambda a: a @ w))(x),
        vmap(torch.func.jacfwd(lambda a: a @ w))(x),
        vmap(lambda t: torch.func.jvp(f, (x[0],), (t,))[1])(w),
        vmap(torch.func.vjp(lambda a: a @ w, x)[1])(torch.ones(2, 3, 4)),
        vmap(vmap(torch.func.vjp(lambda a: (a @ w).sin(), x)[1]))(torch.ones(2, 2, 3, 4)),
    ]


@same
def test_no_confusion_of_levels(torch: Any) -> Any:
    one, three = torch.tensor(1.0), torch.tensor(3.0)
    grad, jvp = torch.func.grad, torch.func.jvp
    return [
        grad(lambda x: x * grad(lambda y: x + y)(one))(three),
        grad(lambda x: x * grad(lambda y: x * y)(x))(three),
        jvp(lambda x: x * jvp(lambda y: x * y, (one,), (one,))[1], (three,), (one,)),
        grad(lambda x: jvp(lambda y: x * y * y, (x,), (x,))[1])(three),
    ]


@same
def test_jacobians(torch: Any) -> Any:
    x, w, f = inputs(torch)
    functions = torch.func

    def g(a: Any) -> Any:
        return {"a": a.exp(), "b": (a.sum() * a[0],)}

    return [
        *[each(lambda a: (a @ w).sin())(x) for each in (functions.jacrev, functions.jacfwd)],
        *[each(g)(x[0]) for each in (functions.jacrev, functions.jacfwd)],
        *[each(lambda a, b: a * b, argnums=(1, 0))(x[0], x[1]) for each in (functions.jacrev, functions.jacfwd)],
        functions.jacrev(g, chunk_size=2)(x[0]),
        functions.jacrev(g, chunk_size=1)(x[0]),
        functions.jacrev(lambda a: (a * 2, a.sum()), has_aux=True)(x[0]),
        functions.jacfwd(lambda a: (a * 2, a.sum()), has_aux=True)(x[0]),
        functions.hessian(f)(x[0]),
        *[
            outer(inner(f))(x[0])
            for outer in (functions.jacrev, functions.jacfwd)
            for inner in (functions.jacrev, functions.jacfwd)
        ],
        functions.jacrev(functions.jacrev(functions.jacrev(lambda a: (a**3).sum())))(x[0]),
        functions.hessian(lambda a, b: (a * b).sum() * a[0], argnums=(0, 1))(x[0], x[1]),
        functions.jacrev(lambda a: a[:0])(x[0]),
    ]


@same
def test_products(torch: Any) -> Any:
    x, w, f = inputs(torch)
    functions = torch.func
    output, products = functions.vjp(lambda a, b: (a @ b, a.sum()), x, w)
    return [
        output,
        products((x, x.sum())),
        functions.vjp(lambda a: (a * 2, a.exp()), x, has_aux=True)[2],
        functions.jvp(lambda a, b: a @ b, (x, w), (x, w)),
        functions.jvp(lambda a: (a * 2, a.exp()), (x,), (x,), has_aux=True),
        functions.jvp(lambda a: torch.ones(3), (x,), (x,)),
        functions.jvp(functions.grad(f), (x,), (x + 1,)),  # a product of the Hessian
        torch.vmap(lambda v: functions.jvp(functions.grad(f), (x,), (v,))[1])(torch.ones(2, 3, 4)),
    ]


def test_linearize_is_jvp() -> None:
    """At the point where it was made, for as many tangents as there are. Ours alone: PyTorch's takes a compiler."""
    import minitorch

    x, _, f = inputs(minitorch)
    output, product = minitorch.func.linearize(f, x)
    for tangent in (x, x * 2 + 1):
        expected = minitorch.func.jvp(f, (x,), (tangent,))
        assert minitorch.allclose(output, expected[0])
        assert minitorch.allclose(product(tangent), expected[1])
    message = (
        "tangent:0 with shape torch.Size([4]) in flattened pytree doesn't match the shape torch.Size([3, 4]) of the "
        "corresponding primal."
    )
    assert attempt(product, x[0]) == ("RuntimeError", message)


@same
def test_in_place_inside(torch: Any) -> Any:
    """Writes to views are differentiated with many cotangents at once, too."""

    def f(x: Any) -> Any:
        y = x.clone()
        y[1:] *= x[:-1]
        y.t()[0] = x.sum(1)
        return y

    x, _, _ = inputs(torch)
    return [each(f)(x) for each in (torch.func.jacrev, torch.func.jacfwd)]


@same
def test_large_gradients(torch: Any) -> Any:
    """The formulas of ReLU and of products overwrite such gradients, but not those of many examples."""
    x = torch.arange(40_000.0).cos()
    _, products = torch.func.vjp(lambda a: (a * 2).relu() * a.sin(), x)
    (found,) = torch.vmap(products)(torch.ones(2, 40_000))
    return found[:, :50], found.double().sum(1)


@same
def test_what_is_outside(torch: Any) -> Any:
    """A result has a history where, and only where, it depends on what requires a gradient outside."""
    x, w, f = inputs(torch)
    leaf = w.clone().requires_grad_()
    grad = torch.func.grad

    def without(a: Any) -> Any:
        with torch.no_grad():
            constant = a.pow(2).sum()
        return a.pow(3).sum() - constant * a[0, 0]

    captured = grad(lambda a: (a @ leaf).sin().sum())(x)
    captured.sum().backward()
    given = x.clone().requires_grad_()
    of_given = grad(f)(given)
    of_given.sum().backward()
    with torch.no_grad():
        quiet = grad(f)(given)
        nested = grad(lambda a: grad(f)(a).sum())(given)
    with torch.inference_mode():
        inferred = torch.arange(3.0)
        of_inferred = [each(lambda a: (a**3).sum())(inferred) for each in (grad, torch.func.hessian)]
    value = torch.func.grad_and_value(f)(x)[1]
    return [
        value,
        *of_inferred,
        captured,
        leaf.grad,
        of_given,
        given.grad,
        quiet,
        nested,
        grad(without)(x),
        grad(f)(x),
        x.requires_grad,
    ]


@same
def test_refused(torch: Any) -> Any:
    x, _, _ = inputs(torch)
    functions = torch.func
    return [
        attempt(functions.grad(lambda a: a), x),
        attempt(functions.grad(lambda a: a.sum().item()), x),
        attempt(functions.grad(lambda a: a.sum(), has_aux=True), x),
        attempt(functions.grad(lambda a: a.sum()), 3),
        attempt(functions.grad(lambda a: a.sum(), argnums=2), x),
        attempt(functions.grad(lambda a: a.sum(), argnums=()), x),
        attempt(functions.grad(lambda a, b: a.sum(), argnums=(0, 0)), x, x),
        attempt(functions.grad(lambda a: a.sum(), argnums="a"), x),
        attempt(functions.grad(lambda a: a.sum()), torch.ones(3, dtype=torch.int64)),
        attempt(functions.jacrev(lambda a: a.sum()), torch.ones(3, dtype=torch.complex64)),
        attempt(functions.jacfwd(lambda a: a.sum()), torch.ones(3, dtype=torch.complex64)),
        attempt(functions.jacrev(lambda a: 3), x),
        attempt(functions.jacfwd(lambda a: 3), x),
        attempt(functions.jacrev(lambda a: ()), x),
        attempt(lambda: functions.jacrev(lambda a: a, chunk_size=0)),
        attempt(functions.vjp, lambda a: a.long(), x),
        attempt(functions.vjp(lambda a: a, x)[1], x[0]),
        attempt(functions.vjp(lambda a: {"b": a}, x)[1], (x, [x])),
        attempt(functions.jvp, lambda a: a, x, x),
        attempt(functions.jvp, lambda a: a["b"], ({"b": x, "c": [x, x]},), (x, x)),
        attempt(functions.jvp, lambda a: a, (x,), (x[0],)),
        attempt(lambda: functions.jvp(lambda a: torch.ones(3), (x,), (x,), strict=True)),
    ]
