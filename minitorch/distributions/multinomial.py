"""The multinomial distribution. Source: https://pytorch.org/docs/stable/distributions.html#multinomial"""

from __future__ import annotations

import math

from minitorch import Tensor, contiguous_format, tensor
from minitorch.distributions import constraints
from minitorch.distributions.binomial import Binomial
from minitorch.distributions.categorical import OfCategorical
from minitorch.distributions.utils import Shape, broadcast_all, formula


class Multinomial(OfCategorical):
    """How often each of k categories comes up in `total_count` draws: (…, k).

    Raises NotImplementedError for a `total_count` that isn't one integer.
    """

    _kept = ("total_count",)

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)
        self._binomial = Binomial(total_count, probs=self.probs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        return constraints.multinomial(self.total_count)

    mean = formula(lambda self: self.probs * self.total_count)
    variance = formula(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        draws = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = draws.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, draws, draws.new_ones(draws.shape)).type_as(self.probs)

    def entropy(self) -> Tensor:
        n = tensor(self.total_count)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        overcounted = (self._binomial.log_prob(counts).exp() * (counts + 1).lgamma()).sum([0, -1])
        return n * self._categorical.entropy() - (n + 1).lgamma() + overcounted

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone(memory_format=contiguous_format)
        logits[(value == 0) & (logits == -math.inf)] = 0  # what can't happen and didn't
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)
