"""Kullback-Leibler divergences: KL(p‖q) = E_p[ln p(x) − ln q(x)], with a formula for each pair of families.

The formulas are in `kl_within` and `kl_across`.
Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.kl
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from minitorch.distributions.distribution import Distribution
from minitorch.tensor import Tensor

Pair = tuple[type, type]
Formula = Callable[[Any, Any], Tensor]

_REGISTRY: dict[Pair, Formula] = {}
_CHOSEN: dict[Pair, Formula] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Makes a function the formula of KL(p‖q) for these classes and their subclasses.

    Raises TypeError for what is no class. As in PyTorch, it need not be one of distributions.
    """
    for given in (type_p, type_q):
        issubclass(given, Distribution)  # which raises

    def register(formula: Formula) -> Formula:
        _REGISTRY[type_p, type_q] = formula
        _CHOSEN.clear()
        return formula

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """KL(p‖q): (batch_shape).

    Raises NotImplementedError where no formula is registered. Warns where two formulas fit equally well.
    """
    pair = (type(p), type(q))
    if pair not in _CHOSEN:
        _CHOSEN[pair] = _choose(*pair)
    return _CHOSEN[pair](p, q)


def _choose(type_p: type, type_q: type) -> Formula:
    """The formula for the nearest base classes: first those of p decide, then those of q."""
    matches = [(p, q) for p, q in _REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type_p.__name__} and q type {type_q.__name__}"
        )

    def distance(pair: Pair) -> tuple[int, int]:
        return type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1])

    left = min(matches, key=distance)
    right = min(matches, key=lambda pair: distance(pair)[::-1])
    if _REGISTRY[left] is not _REGISTRY[right]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({left[0].__name__}, {right[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _REGISTRY[left]
