"""Constraints, transforms and the registries between them, compared with torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import minitorch
from tests.same import attempt, same_within

VALUES = {
    "numbers": [-1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.5, float("nan"), float("inf")],
    "vectors": [
        [0.0, 1.0, 0.0],
        [0.2, 0.3, 0.5],
        [0.2, 0.3, 0.501],
        [1.0, 1.0, 0.0],
        [-0.1, 0.6, 0.5],
        [3.0, 0.0, 4.0],
    ],
    "matrices": [
        [[1.0, 0.0], [0.5, 2.0]],
        [[1.0, 0.5], [0.5, 2.0]],
        [[-1.0, 0.0], [0.0, 2.0]],
        [[1.0, 0.0], [0.6, 0.8]],
        [[0.0, 0.0], [0.0, 0.0]],
    ],
    "oblong matrices": [[[1.0, 0.0, 0.0], [0.5, 2.0, 0.0]]],
}
PLAIN = (
    "boolean", "corr_cholesky", "dependent", "lower_cholesky", "lower_triangular", "nonnegative", "nonnegative_integer",
    "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector",
    "simplex", "square", "symmetric", "unit_interval",
)  # fmt: skip
CONSTRAINTS: dict[str, Callable[[Any], Any]] = {
    **{name: lambda c, name=name: getattr(c, name) for name in PLAIN},
    "greater_than": lambda c: c.greater_than(0.5),
    "greater_than_eq": lambda c: c.greater_than_eq(0.5),
    "less_than": lambda c: c.less_than(0.5),
    "interval": lambda c: c.interval(-0.5, 1.0),
    "half_open_interval": lambda c: c.half_open_interval(-0.5, 1.0),
    "integer_interval": lambda c: c.integer_interval(0, 2),
    "multinomial": lambda c: c.multinomial(7),
    "independent": lambda c: c.independent(c.positive, 1),
    "independent twice": lambda c: c.independent(c.independent(c.real, 1), 1),
    "independent of nothing": lambda c: c.independent(3, 1),
    "independent of half": lambda c: c.independent(c.real, 0.5),
    "independent of less": lambda c: c.independent(c.real, -1),
    "cat": lambda c: c.cat([c.positive, c.real, c.interval(0.0, 0.4)], -1),
    "cat of lengths": lambda c: c.cat([c.positive, c.real], -1, [2, 1]),
    "cat of rows": lambda c: c.cat([c.positive, c.simplex], 0),
    "cat of too few": lambda c: c.cat([c.positive], 0, [1, 2]),
    "cat of nothing": lambda c: c.cat([3]),
    "stack": lambda c: c.stack([c.positive, c.real, c.nonnegative], -1),
    "stack of rows": lambda c: c.stack([c.positive, c.boolean, c.real], -2),
    "stack of vectors": lambda c: c.stack([c.simplex, c.real_vector], 0),
    "stack along what isn't there": lambda c: c.stack([c.positive], 4),
    "stack of nothing": lambda c: c.stack([3]),
    "mixture": lambda c: c.MixtureSameFamilyConstraint(c.positive),
    "mixture of vectors": lambda c: c.MixtureSameFamilyConstraint(c.simplex),
    "mixture of nothing": lambda c: c.MixtureSameFamilyConstraint(0),
    "dependent with a known dimension": lambda c: c.dependent(event_dim=2),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
@same_within(1e-12)
def test_constraints(library: Any, name: str) -> Any:
    def make() -> Any:
        return CONSTRAINTS[name](library.distributions.constraints)

    questions: dict[str, Callable[[], Any]] = {
        "repr": lambda: repr(make()),
        "event_dim": lambda: make().event_dim,
        "is_discrete": lambda: make().is_discrete,
        "is_dependent": lambda: library.distributions.constraints.is_dependent(make()),
    }
    for about, values in VALUES.items():
        if about != "oblong matrices" or "cholesky" not in name:  # torch compares the row of one shape with the other's
            questions[about] = lambda values=values: make().check(library.tensor(values))
    return {about: attempt(ask) for about, ask in questions.items()}


TRANSFORMS: dict[str, Callable[[Any, Any], Any]] = {
    "Exp": lambda d, t: d.ExpTransform(),
    "Sigmoid": lambda d, t: d.SigmoidTransform(),
    "Softplus": lambda d, t: d.SoftplusTransform(),
    "Tanh": lambda d, t: d.TanhTransform(),
    "Tanh with cache": lambda d, t: d.TanhTransform(cache_size=1),
    "Abs": lambda d, t: d.AbsTransform(),
    "Power": lambda d, t: d.PowerTransform(2),
    "Power of tensors": lambda d, t: d.PowerTransform(t.tensor([1.0, 2.0, 0.5])),
    "Affine": lambda d, t: d.AffineTransform(1.0, -2.0),
    "Affine of events": lambda d, t: d.AffineTransform(t.tensor([1.0, 2.0, 3.0]), t.tensor([-2.0, 1.0, 0.5]), 1),
    "Affine of tensors": lambda d, t: d.AffineTransform(t.tensor([1.0, 2.0, 3.0]), t.tensor([-2.0, 1.0, 0.5])),
    "identity": lambda d, t: d.identity_transform,
    "Compose": lambda d, t: d.ComposeTransform([d.AffineTransform(1.0, 2.0), d.SigmoidTransform()]),
    "Compose of dimensions": lambda d, t: d.ComposeTransform([d.ExpTransform(), d.SoftmaxTransform()]),
    "Compose from vectors": lambda d, t: d.ComposeTransform([d.StickBreakingTransform(), d.AffineTransform(0.0, 2.0)]),
    "Compose with cache": lambda d, t: d.ComposeTransform([d.TanhTransform(), d.AffineTransform(0.0, 2.0)], 1),
    "Independent": lambda d, t: d.IndependentTransform(d.ExpTransform(), 1),
    "Reshape": lambda d, t: d.ReshapeTransform((3,), (1, 3)),
    "Softmax": lambda d, t: d.SoftmaxTransform(),
    "StickBreaking": lambda d, t: d.StickBreakingTransform(),
    "CorrCholesky": lambda d, t: d.CorrCholeskyTransform(),
    "CumulativeDistribution": lambda d, t: d.CumulativeDistributionTransform(d.Normal(0.5, 2.0)),
    "Cat": lambda d, t: d.CatTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0)], -1, [1, 2]),
    "Cat of ones": lambda d, t: d.CatTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0)], cache_size=1),
    "Cat of events": lambda d, t: d.CatTransform([d.ExpTransform(), d.IndependentTransform(d.TanhTransform(), 1)], -2),
    "Cat of other lengths": lambda d, t: d.CatTransform([d.ExpTransform()], -1, [1, 2]),
    "Cat along a third dimension": lambda d, t: d.CatTransform([d.ExpTransform()], 2),
    "Cat of nothing": lambda d, t: d.CatTransform([d.ExpTransform(), 3]),
    "Stack": lambda d, t: d.StackTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0), d.TanhTransform()], -1),
    "Stack of rows": lambda d, t: d.StackTransform([d.ExpTransform(), d.SoftmaxTransform()], 0, 1),
    "Stack of too few": lambda d, t: d.StackTransform([d.ExpTransform()], 1),
    "Stack of nothing": lambda d, t: d.StackTransform([3]),
    "LowerCholesky": lambda d, t: d.LowerCholeskyTransform(),
    "PositiveDefinite": lambda d, t: d.PositiveDefiniteTransform(),
    "Reshape to another size": lambda d, t: d.ReshapeTransform((3,), (2, 3)),
    "cache of two": lambda d, t: d.ExpTransform(cache_size=2),
}


@pytest.mark.parametrize("inverse", [False, True], ids=["forward", "inverse"])
@pytest.mark.parametrize("name", TRANSFORMS)
@same_within(1e-9)
def test_transforms(library: Any, name: str, inverse: bool) -> Any:
    shape = (2, 3, 3) if name in ("LowerCholesky", "PositiveDefinite") else (2, 3)

    def make() -> Any:
        made = TRANSFORMS[name](library.distributions, library)
        return made.inv if inverse else made

    def values() -> tuple[Any, Any]:
        x = library.linspace(-1.2, 1.5, math.prod(shape), dtype=library.float64).reshape(shape).requires_grad_()
        y = TRANSFORMS[name](library.distributions, library)(x)
        if inverse:
            x = y.detach().requires_grad_()
            y = make()(x)
        return x, y

    def gradient() -> Any:
        x, y = values()
        return library.autograd.grad(y.sum(), x)

    questions: dict[str, Callable[[], Any]] = {
        "repr": lambda: repr(make()),
        "bijective": lambda: make().bijective,
        "sign": lambda: make().sign,
        "event_dim": lambda: make().event_dim,
        "domain": lambda: (repr(make().domain), make().domain.event_dim),
        "codomain": lambda: (repr(make().codomain), make().codomain.event_dim),
        "value": lambda: values()[1],
        "gradient": gradient,
        "Jacobian": lambda: make().log_abs_det_jacobian(*values()),
        "equal": lambda: make() == make(),
        "equal to exp": lambda: make() == library.distributions.ExpTransform(),
        "with_cache": lambda: repr(make().with_cache()),
        "size of the cache": lambda: make().with_cache()._cache_size,
    }
    for size in ((3,), (2, 4), (), (3, 3), (5, 1, 3), (1, 3)):
        questions[f"forward {size}"] = lambda size=size: tuple(make().forward_shape(library.Size(size)))
        questions[f"inverse {size}"] = lambda size=size: tuple(make().inverse_shape(library.Size(size)))
    return {about: attempt(ask) for about, ask in questions.items()}


@pytest.mark.parametrize("name", ["Tanh", "Compose", "Independent", "Affine"])
def test_a_cache_gives_the_very_input_back(name: str) -> None:
    transform = TRANSFORMS[name](minitorch.distributions, minitorch).with_cache()
    x = minitorch.tensor([0.5, 9.0])
    y = transform(x)
    assert transform.inv(y) is x
    assert transform(x) is y
    assert transform.inv(y.clone()) is not x


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", CONSTRAINTS)
@same_within(1e-6)
def test_registries(library: Any, name: str, registry: str) -> Any:
    def transform() -> Any:
        return getattr(library.distributions, registry)(CONSTRAINTS[name](library.distributions.constraints))

    values = library.tensor([[0.5, -1.0, 2.0]] * 3)
    return attempt(lambda: repr(transform())), attempt(lambda: transform()(values))


@same_within(1e-12)
def test_a_constraint_of_ones_own(library: Any) -> Any:
    d = library.distributions

    class Even(d.constraints.Constraint):  # type: ignore[misc]
        pass

    @d.transform_to.register(Even)
    def double(constraint: Any) -> Any:
        return d.AffineTransform(0, 2)

    return [
        d.transform_to(Even())(library.tensor(3.0)),
        attempt(d.biject_to, Even()),
        attempt(d.transform_to.register, 3, double),
        double is not None,
    ]
