"""The Dirichlet distribution. Source: https://pytorch.org/docs/stable/distributions.html#dirichlet"""

from __future__ import annotations

from typing import Any

from minitorch import Tensor, _dirichlet_grad, _sample_dirichlet, xlogy
from minitorch.autograd.function import Function, FunctionCtx, once_differentiable
from minitorch.distributions import constraints
from minitorch.distributions.exp_family import ExponentialFamily
from minitorch.distributions.utils import Shape, formula
from minitorch.nn import functional as F


class _Dirichlet(Function):
    """A sample whose gradient moves it along with the concentration."""

    @staticmethod
    def forward(ctx: FunctionCtx, concentration: Tensor) -> Tensor:
        x: Tensor = _sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad_output: Tensor) -> Any:
        x, concentration = ctx.saved_tensors
        assert x is not None and concentration is not None
        total = concentration.sum(-1, True).expand_as(concentration)
        return _dirichlet_grad(x, concentration, total) * (grad_output - (x * grad_output).sum(-1, True))


class Dirichlet(ExponentialFamily):
    """Vectors of k shares that sum to 1, with a density in proportion to ∏ xᵢ^(concentrationᵢ − 1).

    Raises ValueError for a concentration without dimensions.
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shares: Tensor = _Dirichlet.apply(self.concentration.expand(self._extended_shape(sample_shape)))
        return shares

    def _log_prob(self, value: Tensor) -> Tensor:
        alpha = self.concentration
        return xlogy(alpha - 1.0, value).sum(-1) + alpha.sum(-1).lgamma() - alpha.lgamma().sum(-1)

    mean = formula(lambda self: self.concentration / self.concentration.sum(-1, True))

    @property
    def mode(self) -> Tensor:
        """Where all concentrations are below 1, the corner with the largest."""
        excess = (self.concentration - 1).clamp(min=0.0)
        mode = excess / excess.sum(-1, True)
        corner = (self.concentration < 1).all(dim=-1)
        mode[corner] = F.one_hot(mode[corner].argmax(dim=-1), mode.shape[-1]).to(mode)
        return mode

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        alpha, count = self.concentration, self.concentration.size(-1)
        total = alpha.sum(-1)
        return (
            alpha.lgamma().sum(-1)
            - total.lgamma()
            - (count - total) * total.digamma()
            - ((alpha - 1.0) * alpha.digamma()).sum(-1)
        )

    _natural_params = formula(lambda self: (self.concentration,))

    def _log_normalizer(self, alpha: Tensor) -> Tensor:
        return alpha.lgamma().sum(-1) - alpha.sum(-1).lgamma()
