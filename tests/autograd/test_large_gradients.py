"""Large gradients are overwritten by the next one where nobody can see them, and only there."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import minitorch
from tests.autograd.test_engine_memory_and_threads import COUNT, peak
from tests.same import exactly_the_same

ROWS, COLUMNS = 200, 400


def matrix(torch: Any) -> Any:
    return (torch.arange(ROWS * COLUMNS, dtype=torch.float32) % 37 - 18).view(ROWS, COLUMNS)


@pytest.mark.beyond("minitorch.autograd.engine:accumulate_grad")
@pytest.mark.parametrize("step", [lambda x: x * 2, lambda x: x * x.detach(), lambda x: x.relu()])
def test_a_pass_overwrites_its_gradient(step: Any) -> None:
    y = minitorch.ones(COUNT, requires_grad=True)
    for _ in range(5):
        y = step(y)
    assert peak(y.sum().backward) < 1.9  # one gradient, and the mask of relu


@pytest.mark.beyond("minitorch.autograd.engine:accumulate_grad")
def test_the_gradient_of_a_mean_is_not_written_out() -> None:
    y = (minitorch.ones(COUNT, requires_grad=True) * 2).mean()
    assert peak(y.backward) < 1.5


def kept_by_hooks(torch: Any, x: Any) -> Any:
    seen: list[Any] = []
    y = x * 2
    z = y * 3
    y.register_hook(seen.append)
    z.register_hook(lambda grad: seen.append(grad[:5]))
    (z.relu() * 2).sum().backward()
    return seen


def kept_as_numpy(torch: Any, x: Any) -> Any:
    seen: list[Any] = []
    y = x * 2
    y.register_hook(lambda grad: seen.append(grad.numpy()))
    y.relu().mean().backward()
    return [torch.from_numpy(each) for each in seen]


def kept_by_node_hooks(torch: Any, x: Any) -> Any:
    seen: list[Any] = []
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: seen.append(grads))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    (y.relu() * 2).sum().backward()
    return seen


def retained(torch: Any, x: Any) -> Any:
    y = x * 2
    z = y.relu()
    y.retain_grad()
    z.retain_grad()
    (z * x.detach()).sum().backward()
    return y.grad, z.grad


def given(torch: Any, x: Any) -> Any:
    weight = torch.full((ROWS, COLUMNS), 0.5)
    (x * 2).backward(weight)
    return weight


def shared_by_branches(torch: Any, x: Any) -> Any:
    y, z = x * 2, x.relu()
    ((y + z) * 3).sum().backward()
    return y.detach()


def captured(torch: Any, x: Any) -> Any:
    y = x * 2
    z = y.relu()
    return torch.autograd.grad((z * x).mean(), (z, y, x))


def returned_by_a_function(torch: Any, x: Any) -> Any:
    class Kept(torch.autograd.Function):  # type: ignore[misc, name-defined]
        weight = torch.full((ROWS * COLUMNS,), 0.5)

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return Kept.weight.view(ROWS, COLUMNS)

    Kept.apply(x * 2).sum().backward()
    return Kept.weight


def both_factors(torch: Any, x: Any) -> Any:
    y, z = x * 2, x + 1
    ((y * z) * (y * 3)).sum().backward()
    return y.detach()


def twice(torch: Any, x: Any) -> Any:
    y = ((x * 2).relu() * x).mean()
    y.backward(retain_graph=True)
    y.backward()
    return y.detach()


def differentiated_again(torch: Any, x: Any) -> Any:
    (grad,) = torch.autograd.grad(((x * x).relu() * x).mean(), x, create_graph=True)
    return torch.autograd.grad((grad * grad).sum(), x)


PROGRAMS = {
    each.__name__: each
    for each in (
        *(kept_by_hooks, kept_as_numpy, kept_by_node_hooks, retained, given, shared_by_branches, captured),
        *(returned_by_a_function, both_factors, twice, differentiated_again),
    )
}


@pytest.mark.parametrize("program", PROGRAMS)
@exactly_the_same
def test_what_somebody_sees_stays(torch: Any, program: str) -> Any:
    x = matrix(torch).requires_grad_()
    return PROGRAMS[program](torch, x), x.grad


LAYOUTS = {"rows": lambda x: x, "columns": lambda x: x.t().contiguous().t()}
STEPS = {
    "relu": lambda torch, x: x.relu(),
    "number": lambda torch, x: x * 2,
    "columns": lambda torch, x: x * matrix(torch).t().contiguous().t(),
    "sum": lambda torch, x: x.relu() + x,
}


@pytest.mark.parametrize(("layout", "step", "dim"), itertools.product(LAYOUTS, STEPS, [None, 0, 1]))
@exactly_the_same
def test_gradients_of_a_mean_lie_in_memory_as_in_torch(torch: Any, layout: str, step: str, dim: int | None) -> Any:
    x = LAYOUTS[layout](matrix(torch)).requires_grad_()
    before = x * 1
    after = STEPS[step](torch, before)
    mean = after.mean(dim) if dim is not None else after.mean()
    (grad,) = torch.autograd.grad(mean.sum(), after, retain_graph=True)
    strides: list[Any] = []
    before.register_hook(lambda grad: strides.append(grad.stride()))
    mean.sum().backward(retain_graph=True)
    after.register_hook(lambda grad: strides.append(grad.stride()))
    mean.sum().backward()
    return strides, grad.stride(), grad, x.grad
