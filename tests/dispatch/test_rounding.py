"""Two-byte floats are computed in float32 and rounded once, where torch does so: each call, of 256 numbers, gives
torch's results and gradients to the last bit.

A number or a 0-dim tensor is rounded to the tensor's type first, but not what multiplies or divides; a product of
matrices is added to in float32.
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
t + n; n + t; t - n; n - t; t * n; n * t; t / n; n / t; t.detach() // n; t % n; n % t.detach(); abs(t) ** n; n ** t
torch.mul(n, t); torch.div(n, t); torch.rsub(t, n); torch.fmod(t, n); torch.atan2(t, zero_dim); torch.hypot(t, zero_dim)
t + zero_dim; zero_dim - t; t * zero_dim; zero_dim * t; t / zero_dim; zero_dim / t; t % zero_dim
torch.maximum(t, zero_dim)
t.clone().add_(n); t.clone().sub_(n); t.clone().mul_(n); t.clone().div_(n)
torch.div(t, u, rounding_mode="trunc"); torch.div(t, 0.1, rounding_mode="trunc")
torch.div(t, 0.1, rounding_mode="floor")
t == n; t <= n; t > 2.7; torch.xlogy(t, u.abs()); torch.xlogy(t, n)
torch.addmm(c, a, b); torch.addmv(c, a, t[:16])
torch.baddbmm(c, a[None], b[None]); torch.addbmm(c, a[None], b[None]); F.linear(a, b, c)
torch.renorm(a.detach(), 2, 0, n); torch.clamp(t, -n, n); torch.where(t > 0, t, n); torch.lerp(t, u, n / 10)
F.elu(t, n); F.celu(t, n); F.silu(t)
F.softplus(t); F.hardswish(t); F.hardsigmoid(t); F.glu(t); F.mish(t); F.tanhshrink(t)
t.tanh(); (t / 20).asin(); t.asinh(); (t / 20).atanh(); t.erf(); t.erfc(); (t / 20).erfinv(); t.sinc()
t.abs().pow(0.5); n ** (t / 5); torch.ldexp(t, u / 4)
torch.atan2(t, u); torch.hypot(t, u); torch.special.ndtr(t); torch.special.entr(t.abs())
torch.special.xlog1py(t, u.abs()); F.log_softmax(t.view(4, 64), 0); F.softmax(a, -1)
F.smooth_l1_loss(t, u); F.huber_loss(t, u)
F.nll_loss(a, places, reduction="none")
F.rms_norm(a, (16,))
F.batch_norm(a, b[0].detach(), b[0].detach().abs())
F.scaled_dot_product_attention(*[each.detach().view(4, 8, 8) for each in (t, u, t)])
torch.linspace(-2, 3, 1000, dtype=t.dtype); torch.logspace(-2, 2, 100, dtype=t.dtype)
F.l1_loss(t, u, reduction="none")
F.hinge_embedding_loss(t, u.sign(), margin=n, reduction="none")
"""


def results(library: Any, dtype: str, call: str) -> list[Any]:
    """What a call gives, and the gradients of what it was given."""
    kind = getattr(library, dtype)
    t = library.tensor(VALUES, dtype=kind, requires_grad=True)
    u = library.tensor(VALUES[::-1], dtype=kind, requires_grad=True)
    a, b, zero_dim = t.view(16, 16), u.view(16, 16), library.tensor(NUMBER)
    names = {"torch": library, "F": library.nn.functional, "n": NUMBER, "t": t, "u": u, "a": a, "b": b, "c": t[:16]}
    result = eval(call, {**names, "zero_dim": zero_dim, "places": library.arange(16) * 7 % 16})
    if not result.requires_grad:
        return [result]
    weights = library.tensor(VALUES[77:] + VALUES[:77], dtype=kind)[: result.numel()].reshape(result.shape)
    return [result.detach(), *library.autograd.grad(result, [t, u], weights, materialize_grads=True)]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_rounds_as_torch(line: str, dtype: str) -> None:
    for call in line.split(";"):
        expected, ours = (results(library, dtype, call.strip()) for library in (torch, minitorch))
        assert [str(each.dtype) for each in ours] == [str(each.dtype) for each in expected]
        for result, value in zip(ours, expected, strict=True):
            np.testing.assert_array_equal(result.float().numpy(), value.float().numpy(), err_msg=call)
