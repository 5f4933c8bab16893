"""Dual tensors."""

from __future__ import annotations

import importlib
from typing import Any

from tests.same import attempt, same


def module(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.autograd.forward_ad")


@same
def test_tangents(torch: Any) -> Any:
    forward = module(torch)
    x = torch.arange(6.0).reshape(2, 3)
    weight = x.cos().requires_grad_()
    with forward.dual_level() as level:
        dual, other = forward.make_dual(x, x.exp()), forward.make_dual(x.sin(), x)
        found = [
            forward.unpack_dual(each)
            for each in (dual.sin() * other + x, dual[0].view(-1)[1:].exp(), dual.clone().mul_(other), x, dual)
        ]
        product = forward.unpack_dual((forward.make_dual(weight, x) ** 3).sum())
        product.tangent.backward()
    return level, [tuple(each) for each in found], weight.grad, tuple(forward.unpack_dual(x))


@same
def test_decorator(torch: Any) -> Any:
    forward = module(torch)

    @forward.dual_level()
    def derivative(x: Any) -> Any:
        return forward.unpack_dual(forward.make_dual(x, torch.ones(())) ** 3).tangent

    return derivative(torch.tensor(2.0)), derivative(torch.tensor(3.0))


@same
def test_refused(torch: Any) -> Any:
    forward = module(torch)
    x, whole = torch.ones(2), torch.ones(2, dtype=torch.int64)
    before = attempt(forward.make_dual, x, x), attempt(forward.exit_dual_level)
    with forward.dual_level():
        return [
            *before,
            attempt(forward.make_dual, whole, x),
            attempt(forward.make_dual, x, whole),
            attempt(forward.make_dual, x, torch.ones(3)),
            attempt(forward.enter_dual_level),
        ]
