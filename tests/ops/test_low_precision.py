"""Where two-byte floats are rounded: each line, of 256 numbers, gives torch's results to the last bit.

A number or a 0-dim tensor is rounded to the tensor's type first, but not what multiplies or divides; a product of
matrices is added to in float32; some losses round after every step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch.nn.functional

torch = pytest.importorskip("torch", reason="the expected values are torch's")

VALUES = (np.random.default_rng(0).standard_normal(256) * 5).tolist()
NUMBER = 8.396163942458497  # 8.375 in bfloat16, 8.3984375 in float16

LINES = """
t + n; n + t; t - n; n - t; t * n; n * t; t / n; n / t; t // n; t % n; n % t; abs(t) ** n; n ** t
torch.mul(n, t); torch.div(n, t); torch.rsub(t, n); torch.fmod(t, n); torch.atan2(t, zero_dim); torch.hypot(t, zero_dim)
t + zero_dim; zero_dim - t; t * zero_dim; zero_dim * t; t / zero_dim; zero_dim / t; t % zero_dim
torch.maximum(t, zero_dim)
t.clone().add_(n); t.clone().sub_(n); t.clone().mul_(n); t.clone().div_(n)
torch.add(t, u, alpha=n); torch.sub(t, u, alpha=n); torch.add(t, n, alpha=0.3)
torch.div(t, u, rounding_mode="trunc"); torch.div(t, 0.1, rounding_mode="trunc")
torch.div(t, 0.1, rounding_mode="floor")
t == n; t <= n; t > 2.7; torch.xlogy(t, u.abs()); torch.xlogy(t, n); t.sigmoid().logit()
torch.addmm(c, a, b); torch.addmv(c, a, t[:16])
torch.baddbmm(c, a[None], b[None]); torch.addbmm(c, a[None], b[None]); F.linear(a, b, c)
torch.renorm(a, 2, 0, n); torch.clamp(t, -n, n); torch.where(t > 0, t, n); torch.lerp(t, u, n / 10)
F.elu(t, n); F.celu(t, n)
F.mse_loss(t, u, reduction="none"); F.soft_margin_loss(t / 8, u.sign(), reduction="none")
F.hinge_embedding_loss(t, u.sign(), margin=n, reduction="none"); F.l1_loss(t, u, reduction="none")
"""


def result(library: Any, dtype: str, line: str) -> Any:
    t = library.tensor(VALUES, dtype=getattr(library, dtype))
    a, b, zero_dim = t.view(16, 16), t.flip(0).view(16, 16), library.tensor(NUMBER)
    names = {"torch": library, "F": library.nn.functional, "n": NUMBER, "t": t, "u": t.flip(0), "a": a, "b": b}
    return eval(line, {**names, "c": t[:16], "zero_dim": zero_dim})


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("line", [line.strip() for line in LINES.replace("\n", ";").split(";") if line.strip()])
def test_rounds_as_torch(line: str, dtype: str) -> None:
    expected, ours = (result(library, dtype, line) for library in (torch, minitorch))
    assert str(ours.dtype) == str(expected.dtype)
    np.testing.assert_array_equal(ours.float().numpy(), expected.float().numpy())
