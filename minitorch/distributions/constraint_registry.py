"""Transforms that take unconstrained numbers into a constraint's set.

Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.constraint_registry
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.distributions import constraints, transforms
from minitorch.distributions.utils import NUMBER

Factory = Callable[[Any], transforms.Transform]


class ConstraintRegistry:
    """Maps a kind of constraint to what makes a transform for it; called with a constraint, it makes one.

    Raises NotImplementedError for a constraint that nothing is registered for.
    """

    def __init__(self) -> None:
        self._registry: dict[type, Factory] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Registers a factory for a class of constraints, or for that of an instance; also as a decorator.

        Raises TypeError for what is neither.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: constraints.Constraint) -> transforms.Transform:
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
"""Bijections: densities can be transformed with them."""

transform_to = ConstraintRegistry()
"""Transforms that need not be bijections: simpler and better conditioned, for optimization."""


def _to_greater_than(constraint: Any) -> transforms.Transform:
    exp = transforms.ExpTransform()
    return transforms.ComposeTransform([exp, transforms.AffineTransform(constraint.lower_bound, 1)])


def _to_less_than(constraint: Any) -> transforms.Transform:
    exp = transforms.ExpTransform()
    return transforms.ComposeTransform([exp, transforms.AffineTransform(constraint.upper_bound, -1)])


def _to_interval(constraint: Any) -> transforms.Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    sigmoid = transforms.SigmoidTransform()
    if isinstance(low, NUMBER) and isinstance(high, NUMBER) and (low, high) == (0, 1):
        return sigmoid
    return transforms.ComposeTransform([sigmoid, transforms.AffineTransform(low, high - low)])


def _independent(registry: ConstraintRegistry) -> Factory:
    def factory(constraint: Any) -> transforms.Transform:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    return factory


def _cat(registry: ConstraintRegistry) -> Factory:
    return lambda each: transforms.CatTransform([registry(part) for part in each.cseq], each.dim, each.lengths)


def _stack(registry: ConstraintRegistry) -> Factory:
    return lambda each: transforms.StackTransform([registry(part) for part in each.cseq], each.dim)


# A constraint stands for all of its class: `positive` is `greater_than(0.0)`, `unit_interval` is `interval(0.0, 1.0)`.
_BOTH: dict[Any, Factory] = {
    constraints.real: lambda constraint: transforms.identity_transform,
    constraints.greater_than: _to_greater_than,
    constraints.greater_than_eq: _to_greater_than,
    constraints.less_than: _to_less_than,
    constraints.interval: _to_interval,
    constraints.half_open_interval: _to_interval,
    constraints.corr_cholesky: lambda constraint: transforms.CorrCholeskyTransform(),
}
for _registry in (biject_to, transform_to):
    for _constraint, _factory in _BOTH.items():
        _registry.register(_constraint, _factory)
    _registry.register(constraints.independent, _independent(_registry))
    _registry.register(constraints.cat, _cat(_registry))
    _registry.register(constraints.stack, _stack(_registry))

biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform())
transform_to.register(constraints.positive_definite, lambda constraint: transforms.PositiveDefiniteTransform())
transform_to.register(constraints.positive_semidefinite, lambda constraint: transforms.PositiveDefiniteTransform())
