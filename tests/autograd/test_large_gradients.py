"""Large gradients are overwritten by the next one where nobody can see them, and only there."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import minitorch
from minitorch.autograd.ownership import hand_on
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
@pytest.mark.parametrize(
    ("program", "most"),
    [
        (lambda x: (x * 2).mean(), 1.5),  # one gradient
        (lambda x: ((x * 2).relu() + x.relu()).sin().sum(), 3.9),  # both branches', the leaf's, and a mask
        (lambda x: (x[:1] * (x * 2).relu()).sin().sum(), 3.9),  # that of x[:1] is a sum
    ],
)
def test_a_pass_needs_so_many_gradients(program: Any, most: float) -> None:
    x = minitorch.ones(COUNT, requires_grad=True)
    y = program(x)
    assert peak(y.backward) < most


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


def kept_by_a_function(torch: Any, x: Any) -> Any:
    seen: list[Any] = []

    class Keeping(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append(grad)
            return grad

    (Keeping.apply(x * 2) * 3).mean().backward()
    return seen


def kept_by_prehooks(torch: Any, x: Any) -> Any:
    seen: list[Any] = []
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: seen.append(grads[0]))
    (y * 3).mean().backward()
    return seen


def kept_after_a_node(torch: Any, x: Any) -> Any:
    seen: list[Any] = []
    y = x * 2
    z = y * 3
    z.grad_fn.register_hook(lambda inputs, outputs: seen.append(inputs[0]))
    z.mean().backward()
    return seen


def kept_by_the_hook_of_a_leaf(torch: Any, x: Any) -> Any:
    seen: list[Any] = []
    x.register_hook(seen.append)
    for _ in range(2):
        (x * 3).mean().backward()
    return seen


def returned_by_a_node(torch: Any, x: Any) -> Any:
    y = x * 2
    kept = y.grad_fn(torch.ones(ROWS, COLUMNS))[0]
    y.register_hook(lambda grad: kept)
    (y * 3).mean().backward()
    return kept


def a_gradient_again(torch: Any, x: Any) -> Any:
    y = torch.ones(ROWS, COLUMNS, requires_grad=True)
    (y * 3).mean().backward()
    z = x * 2
    z.register_hook(lambda grad: y.grad)
    (z * 3).mean().backward()
    return y.grad


def passed_on_twice(torch: Any, x: Any) -> Any:
    y, z = x * 2, x * 3
    w = y + z
    (w.relu() + (w - z).relu() * 2 + w).mean().backward()
    return w.detach()


def summed_where_another_waits(torch: Any, x: Any) -> Any:
    y, z = x * 2, x * 4
    ((y + z) + (y * z) + (z - y)).mean().backward()
    return y.detach()


def viewed_on_the_way(torch: Any, x: Any) -> Any:
    y, z = x * 2, x * 3
    joined = torch.cat([y.relu(), z]).view(-1)
    (joined.view(2 * ROWS, COLUMNS).relu() * 2).mean().backward()
    (x.view(-1) * 2 + x.t().reshape(-1)).mean().backward()
    return joined.detach()


def seen_by_a_view_that_waits(torch: Any, x: Any) -> Any:
    z = x.view(-1) * 3
    y = x * 2
    u = y * 5
    w = y + z.view(ROWS, COLUMNS)  # whose gradient goes to y, and a view of it to z, before that of u is added to y's
    ((w + u) * 2).mean().backward()
    return z.detach()


def written_in_place(torch: Any, x: Any) -> Any:
    y = x * 2
    y[3:50].mul_(x[3:50])
    y.relu_()
    (y * y).mean().backward()
    return y.detach()


def halves(torch: Any, x: Any) -> Any:
    one, other = (x * 2).chunk(2)
    (one.relu() * other).mean().backward()
    low, high = torch.aminmax(x * 2, dim=0)
    (low.relu() * high).sum().backward()
    return one.detach()


PROGRAMS = {
    each.__name__: each
    for each in (
        *(kept_by_hooks, kept_as_numpy, kept_by_node_hooks, retained, given, shared_by_branches, captured),
        *(returned_by_a_function, both_factors, twice, differentiated_again, kept_by_a_function, kept_by_prehooks),
        *(kept_after_a_node, kept_by_the_hook_of_a_leaf, returned_by_a_node, a_gradient_again, passed_on_twice),
        *(summed_where_another_waits, viewed_on_the_way, seen_by_a_view_that_waits),
        *(written_in_place, halves),
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


def test_who_holds_a_gradient_is_counted() -> None:
    grad, other, new = (minitorch.ones(2) for _ in range(3))
    hand_on((None,), (grad, None))
    hand_on((grad,), (grad, grad, new))
    assert (grad._holders, new._holders) == (2, 1)
    hand_on((new, other), (other, other, None))
    assert (new._holders, other._holders) == (0, 0)  # nobody's; and one that was seen stays so


def test_a_pass_inside_a_formula_leaves_the_gradient_that_it_starts_from() -> None:
    grad = minitorch.ones(ROWS, COLUMNS)
    grad._holders = 1  # kept by the node whose formula runs
    x = minitorch.ones(ROWS, COLUMNS, requires_grad=True)
    (x * 2).backward(grad)
    assert bool((grad == 1).all())
