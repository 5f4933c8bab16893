"""Categorical distributions relaxed to continuous ones.

Source: https://pytorch.org/docs/stable/distributions.html#relaxedonehotcategorical
"""

from __future__ import annotations

from minitorch import Tensor, full_like, rand
from minitorch.distributions import constraints
from minitorch.distributions.categorical import OfCategorical
from minitorch.distributions.transformed_distribution import TransformedDistribution
from minitorch.distributions.transforms import ExpTransform
from minitorch.distributions.utils import Shape, broadcast_all, clamp_probs, formula


class ExpRelaxedCategorical(OfCategorical):
    """Logarithms of the points of `RelaxedOneHotCategorical`: (…, k).

    log_softmax((logits + Gumbel noise) / temperature). Maddison, Mnih and Teh 2016, https://arxiv.org/abs/1611.00712.
    """

    support = constraints.real_vector
    has_rsample = True
    _kept = ("temperature",)

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        uniform = clamp_probs(rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-uniform.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def _log_prob(self, value: Tensor) -> Tensor:
        count = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        log_scale = full_like(self.temperature, float(count)).lgamma() + self.temperature.log() * (count - 1)
        score = logits - value * self.temperature
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of the simplex (…, k), near its corners for a low `temperature`, with a gradient.

    Also known as Concrete (Maddison et al. 2016) and as Gumbel-softmax (Jang et al. 2016, https://arxiv.org/abs/1611.01144).
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    base_dist: ExpRelaxedCategorical

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base_dist = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base_dist, ExpTransform(), validate_args=validate_args)

    temperature = formula(lambda self: self.base_dist.temperature)
    logits = formula(lambda self: self.base_dist.logits)
    probs = formula(lambda self: self.base_dist.probs)
