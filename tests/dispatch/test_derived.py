"""Second derivatives that autograd works out itself can be differentiated once more, also where only some of the inputs
need a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.same import same_within


@pytest.mark.parametrize(
    "function",
    [
        lambda lib, x: lib.nn.functional.silu(x),
        lambda lib, x: lib.nn.functional.prelu(x, lib.tensor([0.2], dtype=lib.float64)),
        lambda lib, x: lib.nn.functional.batch_norm(x, None, None, training=True),
    ],
)
@same_within(1e-9)
def test_third_derivative(lib: Any, function: Callable[[Any, Any], Any]) -> Any:
    x = lib.tensor([[0.3, -1.2, 2.0], [1.1, 0.4, -0.7]], dtype=lib.float64, requires_grad=True)
    result = function(lib, x).sin().sum()
    for _ in range(3):
        (gradient,) = lib.autograd.grad(result, x, create_graph=True)
        result = (gradient**2).sum()
    return gradient.detach()
