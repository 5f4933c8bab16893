"""The categorical distribution. Source: https://pytorch.org/docs/stable/distributions.html#categorical"""

from __future__ import annotations

import math
from typing import Any

from minitorch.distributions import constraints
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.utils import Shape, check_one_given, lazy_property, logits_to_probs, probs_to_logits
from minitorch.dtypes import finfo, int64
from minitorch.ops.broadcasting import broadcast_tensors
from minitorch.ops.creation import full
from minitorch.ops.ranges import arange
from minitorch.ops.sampling import multinomial
from minitorch.size import Size
from minitorch.tensor import Tensor


class Categorical(Distribution):
    """The numbers 0 … k − 1 with the probabilities `probs` (…, k), or softmax of `logits`; both are normalized.

    Raises ValueError unless exactly one of the two is given, with at least one dimension.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _members = ("probs", "logits", "_param")

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        check_one_given(probs, logits)
        if probs is not None:
            self._require_dimension("probs", probs)
            self._param = self.probs = probs / probs.sum(-1, keepdim=True)
        elif logits is not None:
            self._require_dimension("logits", logits)
            self._param = self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    @staticmethod
    def _require_dimension(name: str, parameter: Tensor) -> None:
        if parameter.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")

    @property
    def _num_events(self) -> int:
        return self._param.shape[-1]

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> Size:
        return self._param.shape

    @property
    def mean(self) -> Tensor:
        return full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return self.mean

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        rows = self.probs.reshape(-1, self._num_events)
        samples = multinomial(rows, Size(sample_shape).numel(), True).T
        return samples.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
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
    _categorical: Categorical

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, event_shape, validate_args=validate_args)

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

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
