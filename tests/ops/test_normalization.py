"""Normalization has two forms of its gradient: fused, and in ops for `create_graph`. They must agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch.nn import functional as F


def draw(*shape: int) -> Any:
    data = np.random.default_rng(sum(shape)).uniform(-2, 2, shape)
    return minitorch.tensor(data.tolist(), dtype=minitorch.float64, requires_grad=True)


@pytest.mark.parametrize(
    "norm",
    [
        lambda x, w, b: F.layer_norm(x, (4,), w, b),
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        lambda x, w, b: F.group_norm(x, 2, w, b),
    ],
    ids=["layer_norm", "batch_norm", "group_norm"],
)
def test_both_gradients_are_equal(norm: Any) -> None:
    inputs = [draw(3, 4), draw(4), draw(4)]
    output = norm(*inputs)
    weights = draw(3, 4).detach() + 1
    fused = minitorch.autograd.grad(output, inputs, weights, retain_graph=True)
    in_ops = minitorch.autograd.grad(output, inputs, weights, create_graph=True)
    assert not fused[0].requires_grad and in_ops[0].requires_grad
    for one, other in zip(fused, in_ops, strict=True):
        assert np.allclose(one.tolist(), other.tolist())
