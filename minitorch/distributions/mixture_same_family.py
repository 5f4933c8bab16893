"""Mixtures of distributions of one family.

Source: https://pytorch.org/docs/stable/distributions.html#mixturesamefamily
"""

from __future__ import annotations

from typing import Any

from minitorch import Tensor, log_softmax, no_grad
from minitorch.distributions import constraints
from minitorch.distributions.categorical import Categorical
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.utils import Shape, are_broadcastable, formula


class MixtureSameFamily(Distribution):
    """One of k components is chosen by a Categorical over k; the components are the last batch dimension of a
    distribution.

    Raises ValueError for arguments of other kinds and for batch shapes that don't fit.
    """

    arg_constraints: dict[str, constraints.Constraint] = {}

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution

        mixtures, batch_shape = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        if not are_broadcastable(mixtures, batch_shape):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({mixtures}) is not compatible with "
                f"`component_distribution.batch_shape`({batch_shape})"
            )
        chosen, given = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if chosen != given:
            raise ValueError(
                f"`mixture_distribution component` ({chosen}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({given})"
            )
        super().__init__(batch_shape, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        count = self._component_distribution.batch_shape[-1]
        new._component_distribution = self._component_distribution.expand((*batch_shape, count))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        return new

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    mixture_distribution = formula(lambda self: self._mixture_distribution)
    component_distribution = formula(lambda self: self._component_distribution)
    mean = formula(lambda self: self._expected(self._component_distribution.mean))

    @property
    def variance(self) -> Tensor:
        """The mean of the variances and the variance of the means."""
        parts = self._component_distribution
        return self._expected(parts.variance) + self._expected((parts.mean - self._pad(self.mean)).pow(2.0))

    def _expected(self, values: Tensor) -> Tensor:
        """The average over the components."""
        probs = self._mixture_distribution.probs
        probs = probs.reshape(probs.shape + (1,) * len(self.event_shape))
        return (probs * values).sum(self._component_dim)

    _component_dim = formula(lambda self: -1 - len(self.event_shape))

    def _pad(self, x: Tensor) -> Tensor:
        return x.unsqueeze(self._component_dim)

    def cdf(self, x: Tensor) -> Tensor:
        return (self._component_distribution.cdf(self._pad(x)) * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        self._check(x)
        log_prob = self._component_distribution.log_prob(self._pad(x))
        return (log_prob + log_softmax(self._mixture_distribution.logits, dim=-1)).logsumexp(dim=-1)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        dim = len(sample_shape) + len(self.batch_shape)
        with no_grad():
            chosen = self._mixture_distribution.sample(sample_shape)
            samples = self._component_distribution.sample(sample_shape)
            chosen = chosen.reshape(chosen.shape + (1,) * (len(self.event_shape) + 1))
            chosen = chosen.repeat((1,) * (chosen.dim() - len(self.event_shape)) + self.event_shape)
            return samples.gather(dim, chosen).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
