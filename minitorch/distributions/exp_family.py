"""Exponential families: densities exp(⟨t(x), θ⟩ − F(θ) + k(x)) with natural parameters θ and log-normalizer F.

Source: https://pytorch.org/docs/stable/distributions.html#exponentialfamily
"""

from __future__ import annotations

from typing import Any

from minitorch.autograd import grad
from minitorch.distributions.distribution import Distribution
from minitorch.tensor import Tensor


class ExponentialFamily(Distribution):
    """A distribution whose entropy and Kullback-Leibler divergence follow from its log-normalizer.

    Nielsen and Nock 2010, "Entropies and cross-entropies of exponential families", doi:10.1109/ICIP.2010.5652054.
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *args: Any, **kwargs: Any) -> Tensor:
        """F, of the natural parameters."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        """E[k(x)]."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """F(θ) − ⟨θ, ∇F(θ)⟩ − E[k(x)]: the gradient comes from autograd."""
        normalizer, terms = self._bregman()
        total = normalizer - self._mean_carrier_measure
        for parameter, gradient in terms:
            total = total - (parameter * gradient).reshape((*self._batch_shape, -1)).sum(-1)
        return total

    def _bregman(self) -> tuple[Tensor, list[Any]]:
        """F(θ), and for each natural parameter its value and the gradient of F."""
        parameters = [each.detach().requires_grad_() for each in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        gradients = grad(normalizer.sum(), parameters, create_graph=True)
        return normalizer, list(zip(parameters, gradients, strict=True))
