"""Normalization has two forms of its gradient: fused, and in ops for `create_graph`. They must agree."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch.nn import functional as F
from tests.same import attempt, same


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


KINDS = "float32 float64 float16 int64 bool complex64"


@pytest.mark.parametrize("parameters", [None, "float32", "float64", "float16", "int64"])
@same
def test_types_are_refused_in_torchs_words(torch: Any, parameters: str | None) -> Any:
    functional = torch.nn.functional
    norms = (
        lambda x, w: functional.layer_norm(x, (4,), w, w),
        lambda x, w: functional.group_norm(x, 2, w, w),
        lambda x, w: functional.rms_norm(x, (4,), w),
        lambda x, w: functional.batch_norm(x, None, None, w, w, training=True),
    )
    weight = None if parameters is None else torch.ones(4).to(getattr(torch, parameters))

    def tried(kind: str, norm: Any) -> Any:
        return attempt(lambda: str(norm(torch.ones(2, 4).to(getattr(torch, kind)), weight).dtype))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rms_norm, which then computes in several steps
        return [tried(kind, norm) for kind in KINDS.split() for norm in norms]
