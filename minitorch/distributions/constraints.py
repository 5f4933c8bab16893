"""Constraints: sets of values, such as a parameter or a sample may take, and the test whether a value is in the set.

Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.constraints
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.dtypes import bool_, finfo
from minitorch.linalg import eigvalsh
from minitorch.ops.creation import full
from minitorch.tensor import Tensor

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
    "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
    "real", "real_vector", "simplex", "square", "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A set of values. An element of it has `event_dim` dimensions; `is_discrete` says whether it is countable."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each event is in the set: (batch…, event…) → bool (batch…)."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}()"


class _Dependent(Constraint):
    """A set that depends on other parameters, so that membership can't be told from a value alone."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    @property
    def is_discrete(self) -> bool:
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return bool(self._is_discrete)

    @property
    def event_dim(self) -> int:
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return int(self._event_dim)

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: object) -> bool:
    """Whether a constraint depends on other parameters."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """Makes a method a property that is, read from the class, a dependent constraint.

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self): ...
    """

    def __init__(
        self,
        function: Callable[[Any], Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        property.__init__(self, function)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, function: Any) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(function, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _OfBase(Constraint):
    """A constraint made from another one."""

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        return bool(self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        return int(self.base_constraint.event_dim)


class _IndependentConstraint(_OfBase):
    """Events of more dimensions: all elements along the last `reinterpreted_batch_ndims` must be in the base set."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        super().__init__(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int):
            kind = type(reinterpreted_batch_ndims).__name__
            raise AssertionError(f"reinterpreted_batch_ndims must be an int, got {kind}")
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def event_dim(self) -> int:
        return int(self.base_constraint.event_dim) + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_from(result, result.dim() - self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_OfBase):
    """The events that are in the base set for each component of a mixture."""

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_from(result, value.dim() - self.event_dim)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


def _all_from(result: Tensor, dim: int) -> Tensor:
    return result.reshape((*result.shape[:dim], -1)).all(-1)


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    """Vectors of one 1 and otherwise 0."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Bounded(Constraint):
    """Numbers with bounds, which may be tensors. The representation shows them."""

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({', '.join(f'{name}={bound}' for name, bound in vars(self).items())})"


class _Below(_Bounded):
    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound


class _Above(_Bounded):
    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound


class _Between(_Bounded):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound


class _IntegerInterval(_Between):
    """Integers from one bound to the other, both included."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Below):
    """Integers up to a bound, which is included."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Above):
    """Integers from a bound on, which is included."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    """Everything but NaN."""

    def check(self, value: Tensor) -> Tensor:
        return value == value


class _GreaterThan(_Above):
    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(_Below):
    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Between):
    """Both bounds are included."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """The upper bound is excluded."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _Simplex(Constraint):
    """Vectors of non-negative numbers with sum 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts with a sum of at most `upper_bound`."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: int) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    """Matrices with zeros above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return _all_from(value.tril() == value, value.dim() - 2)


class _LowerCholesky(_LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Cholesky factors of correlation matrices: rows have length 1."""

    def check(self, value: Tensor) -> Tensor:
        tolerance = finfo(value.dtype).eps * value.size(-1) * 10
        lengths = value.detach().square().sum(-1).sqrt()
        return super().check(value) & (lengths - 1).abs().le(tolerance).all(-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        square: Tensor = full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=bool_, device=value.device)
        return square


class _Symmetric(_Square):
    """Symmetric matrices."""

    def check(self, value: Tensor) -> Tensor:
        square = super().check(value)
        return value.isclose(value.mT, atol=1e-6).all(-2).all(-1) if square.all() else square


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        return eigvalsh(value).ge(0).all(-1) if symmetric.all() else symmetric


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        return eigvalsh(value).gt(0).all(-1) if symmetric.all() else symmetric


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
