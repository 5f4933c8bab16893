"""Categorical distributions of one-hot vectors.

Source: https://pytorch.org/docs/stable/distributions.html#onehotcategorical
"""

from __future__ import annotations

from minitorch import Tensor, eye
from minitorch.distributions import constraints
from minitorch.distributions.categorical import OfCategorical
from minitorch.distributions.utils import Shape, formula
from minitorch.nn import functional as F


class OneHotCategorical(OfCategorical):
    """One-hot vectors (…, k) with the probabilities `probs` (…, k), or softmax of `logits`."""

    support = constraints.one_hot
    has_enumerate_support = True

    mean = formula(lambda self: self.probs)
    mode = formula(lambda self: self._one_hot(self.probs.argmax(dim=-1)))
    variance = formula(lambda self: self.probs * (1 - self.probs))

    def _one_hot(self, indices: Tensor) -> Tensor:
        return F.one_hot(indices, self._categorical._num_events).to(self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return self._one_hot(self._categorical.sample(sample_shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(eye(self.event_shape[0], dtype=self._param.dtype, device=self._param.device), expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot vectors whose gradient is that of `probs`.

    The straight-through estimator of Bengio et al. 2013, https://arxiv.org/abs/1308.3432.
    """

    has_rsample = True

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
