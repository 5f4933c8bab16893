"""The categorical distribution. Source: https://pytorch.org/docs/stable/distributions.html#categorical"""

from __future__ import annotations

import math
from typing import Any

from minitorch import Size, Tensor, arange, broadcast_tensors, finfo, int64, multinomial
from minitorch.distributions import constraints
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.utils import (
    Shape,
    formula,
    lazy_property,
    logits_to_probs,
    probs_or_logits,
    probs_to_logits,
)


class Categorical(Distribution):
    """The numbers 0 … k − 1 with the probabilities `probs` (…, k), or softmax of `logits`; both are normalized.

    Raises ValueError unless exactly one of the two is given, with at least one dimension.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _members = ("_param",)

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        name, given = probs_or_logits(probs, logits)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            self._param = self.probs = given / given.sum(-1, keepdim=True)
        else:
            self._param = self.logits = given - given.logsumexp(dim=-1, keepdim=True)
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    _num_events = formula(lambda self: self._param.shape[-1])

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    logits = lazy_property(lambda self: probs_to_logits(self.probs))
    probs = lazy_property(lambda self: logits_to_probs(self.logits))

    param_shape = formula(lambda self: self._param.shape)

    mean = formula(lambda self: self.probs.new_full(self._extended_shape(), math.nan))
    mode = formula(lambda self: self.probs.argmax(dim=-1))
    variance = formula(lambda self: self.mean)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        rows = self.probs.reshape(-1, self._num_events)
        samples = multinomial(rows, Size(sample_shape).numel(), True).T
        return samples.reshape(self._extended_shape(sample_shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        value, logits = broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)  # −∞ · 0 would be NaN
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(arange(self._num_events, dtype=int64, device=self._param.device), expand)


class OfCategorical(Distribution):
    """A distribution of vectors whose parameters are those of a categorical distribution."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _members = ("_categorical",)
    _categorical: Categorical

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, event_shape, validate_args=validate_args)

    _param = formula(lambda self: self._categorical._param)

    @property
    def probs(self) -> Any:
        """The probabilities, which sum to 1."""
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of `probs` and `logits`."""
        return self._categorical.param_shape
