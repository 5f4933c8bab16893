"""What every probability distribution is: a shape of independent copies, a shape of one event, and what can be asked.

Source: https://pytorch.org/docs/stable/distributions.html#distribution
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

from minitorch import Size, Tensor, no_grad
from minitorch.distributions import constraints
from minitorch.distributions.constraints import Constraint
from minitorch.distributions.utils import Shape, are_broadcastable, lazy_property


class Distribution:
    """A batch of independent probability distributions.

    A sample has the shape sample_shape + batch_shape + event_shape; `log_prob` takes such a sample and gives back
    sample_shape + batch_shape. Arguments are checked unless `validate_args` is False.
    Raises ValueError for parameters and values that break `arg_constraints` or lie outside of `support`.
    """

    has_rsample: bool = False
    has_enumerate_support: bool = False
    _validate_args: bool = __debug__
    _members: ClassVar[tuple[str, ...]] = ()
    """The attributes that `expand` expands besides the parameters: tensors and distributions."""
    _kept: ClassVar[tuple[str, ...]] = ()
    """Those that it carries over as they are."""

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Says whether distributions check their arguments where `validate_args` isn't given."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Shape = (), event_shape: Shape = (), validate_args: bool | None = None) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. "
                "Please set `arg_constraints = {}` or initialize the distribution "
                "with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # it is computed from another one, which is checked
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Self:
        """The same distribution with its parameters expanded, without copying, to a larger batch.

        A subclass that overrides it hands the instance to fill as `_instance`.
        """
        owner = next(each for each in type(self).__mro__ if "torch.distributions" in each.__module__)
        if owner is Distribution:
            raise NotImplementedError
        new = self._get_checked_instance(owner, _instance)
        batch_shape = Size(batch_shape)
        for name in (*self.arg_constraints, *self._members):
            member = self.__dict__.get(name)
            if isinstance(member, Tensor):
                setattr(new, name, member.expand(batch_shape + member.shape[len(self._batch_shape) :]))
            elif member is not None:
                setattr(new, name, member.expand(batch_shape))
        for name in self._kept:
            setattr(new, name, getattr(self, name))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls: type[Distribution], _instance: Any = None) -> Any:
        """A new object for `expand` to fill, unless a subclass gives one."""
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method "
                "must also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one event."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """The set that each parameter must be in, by the parameter's name."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The set of possible values, as a constraint."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The expectation."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The expected square of the distance from the mean."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Random values, without a gradient."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Random values that are a differentiable function of the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """n random values. Warns that it is outdated: use `sample((n,))`."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", category=FutureWarning, stacklevel=2
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at `value`."""
        self._check(value)
        return self._log_prob(value)

    def _log_prob(self, value: Tensor) -> Tensor:
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a number up to `value`. Raises NotImplementedError where PyTorch has no formula."""
        if type(self)._cdf is Distribution._cdf:
            raise NotImplementedError
        self._check(value)
        return self._cdf(value)

    def _cdf(self, value: Tensor) -> Tensor:
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The number that `cdf` takes to `value`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All possible values, along a new first dimension. Without `expand`, the batch dimensions have size 1."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """−E[log_prob], in nats: (batch_shape)."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """exp(entropy): (batch_shape)."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Shape = ()) -> Size:
        """The shape of a sample."""
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        """What `enumerate_support` returns, given the values: (k, event_shape)."""
        event_shape = values.shape[1:]
        values = values.reshape((-1,) + (1,) * len(self._batch_shape) + event_shape)
        return values.expand((-1, *self._batch_shape, *event_shape)) if expand else values

    def _check(self, value: Tensor) -> None:
        """Raises ValueError for impossible values, unless checking is turned off."""
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        if value.shape[len(value.shape) - len(self._event_shape) :] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        if not are_broadcastable(value.shape, expected):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        given = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        shown = (f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in given.items())
        return f"{type(self).__name__}({', '.join(shown)})"
