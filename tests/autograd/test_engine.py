"""The engine by itself: order, accumulation, memory, hooks. Expected values come from torch or from mathematics."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch.autograd import engine
from minitorch.autograd.node import AccumulateGrad
from tests.same import exactly_the_same

Program = Callable[[Any], Any]


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


# Order


def diamonds(count: int) -> Any:
    x = leaf(minitorch, 1.0, 2.0)
    z = x
    for _ in range(count):
        z = (z + z * 3.0) * 0.25  # one side longer than the other, so that order by first visit is wrong
    return x, z


def test_every_node_comes_before_those_it_feeds() -> None:
    _, z = diamonds(50)
    order = engine.topological_order([z.grad_fn])
    position = {node: number for number, node in enumerate(order)}
    assert len(position) == len(order) == 50 * 3 + 1
    for node in order:
        for edge in node.edges:
            assert edge is None or position[edge[0]] > position[node]


def test_ten_thousand_diamonds_take_linear_work_and_the_gradient_is_one() -> None:
    x, z = diamonds(10_000)
    z.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]  # d/dx of (x + 3x) / 4, ten thousand times


@pytest.mark.turns(8)
def test_a_chain_of_a_hundred_thousand_ops_does_not_recurse() -> None:
    x = leaf(minitorch, 3.0)
    z = x
    for _ in range(100_000):
        z = z + 1.0
    z.backward()
    assert x.grad.tolist() == [1.0]
    del z  # dropping the graph must not recurse either
    gc.collect()


@exactly_the_same
def test_order_of_execution_is_pytorchs(torch: Any) -> Any:
    seen: list[str] = []
    a, b = leaf(torch, 1.0), leaf(torch, 2.0)
    left, right = a * 2, b.exp()
    both_ = left + right
    late = both_.sin()
    out = (late * left).sum() + right.sum()
    tensors = {"a": a, "b": b, "left": left, "right": right, "both": both_, "late": late, "out": out}
    for name, tensor in tensors.items():
        tensor.register_hook(lambda grad, name=name: seen.append(name))
    out.backward()
    return seen


# Accumulation


@pytest.mark.parametrize(
    "build",
    [
        lambda a, b: a + b,
        lambda a, b: a.view(6) + b.view(6),
        lambda a, b: a.t() * b.t(),
        lambda a, b: a.expand(4, 2, 3).sum(0) + b,
        lambda a, b: (a * a).sum() + b.sum(),
    ],
)
@exactly_the_same
def test_first_gradient_is_kept_or_copied_as_in_pytorch(torch: Any, build: Any) -> Any:
    a = torch.ones(2, 3).requires_grad_()
    b = torch.full((2, 3), 2.0).requires_grad_()
    build(a, b).sum().backward()
    shared = a.grad.untyped_storage().data_ptr() == b.grad.untyped_storage().data_ptr()
    return shared, a.grad.stride(), b.grad.stride(), a.grad.tolist(), b.grad.tolist()


@exactly_the_same
def test_later_gradients_are_added_in_place(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    (x * 3).sum().backward()
    first = x.grad
    (x * 4).sum().backward()
    return x.grad is first, x.grad.tolist()


@pytest.mark.beyond("minitorch.autograd.engine:accumulate_grad")
@exactly_the_same
def test_under_create_graph_later_gradients_are_added_out_of_place(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    (x * 3).sum().backward()
    first = x.grad
    (x * x * x).sum().backward(create_graph=True)
    return x.grad is first, x.grad.requires_grad, x.grad.tolist(), first.tolist()


def test_the_users_gradient_is_never_aliased() -> None:
    x = leaf(minitorch, 1.0, 2.0)
    weight = minitorch.ones(2)
    (x + 0).backward(weight)
    weight.mul_(100)
    assert x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("shape", [(3,), (1,), (2, 1), (1, 3), (2, 3), ()])
@exactly_the_same
def test_broadcasting_is_undone(torch: Any, shape: tuple[int, ...]) -> Any:
    x = torch.full(shape, 2.0, requires_grad=True)
    (x * torch.arange(24.0).view(4, 2, 3)).sum().backward()
    return x.grad.shape, x.grad.tolist()


# Freed graphs and their errors


def message(action: Callable[[], Any]) -> tuple[type[BaseException], str]:
    with pytest.raises(Exception) as caught:
        action()
    return caught.type, str(caught.value)


def _scalar_of_a_leaf(torch: Any) -> Any:
    return (leaf(torch, 1.0, 2.0) ** 2).sum()


def second_backward(torch: Any) -> Any:
    y = _scalar_of_a_leaf(torch)
    y.backward()
    return message(y.backward)


def non_scalar(torch: Any) -> Any:
    return message(leaf(torch, 1.0, 2.0).mul(2).backward)


def no_graph(torch: Any) -> Any:
    return message(torch.ones(()).backward)


def wrong_gradient_shape(torch: Any) -> Any:
    return message(lambda: leaf(torch, 1.0, 2.0).mul(2).backward(torch.ones(3)))


def unused_input(torch: Any) -> Any:
    return message(lambda: torch.autograd.grad(_scalar_of_a_leaf(torch), leaf(torch, 1.0)))


def input_without_grad(torch: Any) -> Any:
    return message(lambda: torch.autograd.grad(_scalar_of_a_leaf(torch), torch.ones(1)))


def modified_in_place(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    z = (y * 2).sum()
    y.add_(1)
    return message(z.backward)


def modified_input(torch: Any) -> Any:
    x, w = leaf(torch, 1.0, 2.0), torch.ones(2)
    z = (x * w).sum()
    w.add_(1)
    return message(z.backward)


def in_place_on_a_leaf(torch: Any) -> Any:
    return message(lambda: leaf(torch, 1.0).add_(1))


def in_place_on_a_view_of_a_leaf(torch: Any) -> Any:
    return message(lambda: leaf(torch, 1.0, 2.0)[0].add_(1))


def integers_require_no_grad(torch: Any) -> Any:
    return message(lambda: torch.ones(2, dtype=torch.int64).requires_grad_())


def requires_grad_of_a_non_leaf(torch: Any) -> Any:
    return message(lambda: leaf(torch, 1.0).mul(2).requires_grad_(False))


def numpy_of_a_leaf(torch: Any) -> Any:
    return message(leaf(torch, 1.0).numpy)


def retain_grad_without_grad(torch: Any) -> Any:
    return message(torch.ones(2).retain_grad)


def hook_without_grad(torch: Any) -> Any:
    return message(lambda: torch.ones(2).register_hook(print))


def gradient_of_another_shape(torch: Any) -> Any:
    return message(lambda: setattr(leaf(torch, 1.0), "grad", torch.ones(2)))


def deepcopy_of_a_non_leaf(torch: Any) -> Any:
    import copy

    kind, text = message(lambda: copy.deepcopy(leaf(torch, 1.0) * 2))
    return kind, text[:80]


@pytest.mark.parametrize(
    "program",
    [
        second_backward,
        non_scalar,
        no_graph,
        wrong_gradient_shape,
        unused_input,
        input_without_grad,
        modified_in_place,
        modified_input,
        in_place_on_a_leaf,
        in_place_on_a_view_of_a_leaf,
        integers_require_no_grad,
        requires_grad_of_a_non_leaf,
        numpy_of_a_leaf,
        retain_grad_without_grad,
        hook_without_grad,
        gradient_of_another_shape,
        deepcopy_of_a_non_leaf,
    ],
    ids=lambda program: program.__name__,
)
@exactly_the_same
def test_errors_are_pytorchs(torch: Any, program: Program) -> Any:
    return program(torch)


def test_backward_frees_what_the_nodes_saved() -> None:
    x = leaf(minitorch, 1.0, 2.0)
    middle = x * 2
    gone = weakref.ref(middle)
    out = (middle * middle).sum()
    del middle
    assert gone() is not None
    out.backward()
    assert gone() is None


def test_an_op_that_saves_its_result_makes_no_cycle() -> None:
    x = leaf(minitorch, 1.0, 2.0)
    gc.collect()
    gc.disable()
    try:
        y = x.exp()
        gone = weakref.ref(y.grad_fn)
        del y
        assert gone() is None
    finally:
        gc.enable()


def test_a_leaf_outlives_its_graph_and_not_the_other_way_round() -> None:
    x = leaf(minitorch, 1.0)
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    assert isinstance(node, AccumulateGrad) and node.variable is x
    assert (x * 3).grad_fn.next_functions[0][0] is node
    gone = weakref.ref(node)
    del node, y
    assert gone() is None


# autograd.grad, inputs=, create_graph


@exactly_the_same
def test_grad_leaves_the_leaves_alone(torch: Any) -> Any:
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    middle = x * w
    out = (middle**2).sum()
    of_x, of_middle = torch.autograd.grad(out, [x, middle], retain_graph=True)
    second = torch.autograd.grad(out, w, create_graph=True)[0]
    third = torch.autograd.grad(second.sum(), w)[0]
    return x.grad, w.grad, of_x.tolist(), of_middle.tolist(), second.tolist(), third.tolist()


@exactly_the_same
def test_inputs_restrict_a_backward_pass(torch: Any) -> Any:
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    (x * w).sum().backward(inputs=[w])
    return x.grad, w.grad.tolist()


def test_third_derivative_of_a_cube_is_six() -> None:
    x = leaf(minitorch, 5.0)
    first = minitorch.autograd.grad(x**3, x, create_graph=True)[0]
    second = minitorch.autograd.grad(first, x, create_graph=True)[0]
    third = minitorch.autograd.grad(second, x)[0]
    assert (first.item(), second.item(), third.item()) == (75.0, 30.0, 6.0)


# Hooks, modes, views


@exactly_the_same
def test_hooks_replace_gradients_and_can_be_removed(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    y.retain_grad()
    doubled = y.register_hook(lambda grad: grad * 10)
    x.register_hook(lambda grad: grad + 1)
    events: list[Any] = []
    x.register_post_accumulate_grad_hook(lambda leaf: events.append(leaf.grad.tolist()))
    (y * y).sum().backward(retain_graph=True)
    before = y.grad.tolist()
    doubled.remove()
    (y * y).sum().backward()
    return events, before, y.grad.tolist(), x.grad.tolist()


@exactly_the_same
def test_modes(torch: Any) -> Any:
    x = leaf(torch, 1.0)
    seen = []
    with torch.no_grad():
        seen.append((x * 2).requires_grad)
        with torch.enable_grad():
            seen.append((x * 2).requires_grad)
        seen.append(torch.is_grad_enabled())

    @torch.no_grad()
    def decorated() -> Any:
        return (x * 2).requires_grad

    @torch.no_grad
    def bare() -> Any:
        return (x * 2).requires_grad

    with torch.set_grad_enabled(False):
        seen.append((x * 2).requires_grad)
    torch.set_grad_enabled(False)
    seen.append(torch.is_grad_enabled())
    torch.set_grad_enabled(True)
    with torch.inference_mode():
        seen.append((x * 2).requires_grad)
    return [*seen, decorated(), bare(), torch.is_grad_enabled()]


@pytest.mark.parametrize("create_graph", [False, True, 0, 2])
@exactly_the_same
def test_the_mode_within_a_backward_pass(torch: Any, create_graph: Any) -> Any:
    x, seen = leaf(torch, 1.0), []

    class Watched(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append(repr(torch.is_grad_enabled()))
            return grad * 1

    torch.autograd.grad(Watched.apply(x).sum(), x, create_graph=create_graph)
    return seen


def test_each_thread_has_its_own_mode() -> None:
    seen = []
    with minitorch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(minitorch.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


@exactly_the_same
def test_in_place_on_views_rewrites_the_history_of_the_base(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0, 3.0, 4.0)
    base = x * 1
    row = base[1:3]
    row.mul_(10)
    other = base[0:2]
    base.add_(other.sum())
    names = [base.grad_fn.name(), row.grad_fn.name(), other.grad_fn.name()]
    (base * torch.arange(4.0)).sum().backward()
    return names, base._version, row._version, base.tolist(), row.tolist(), x.grad.tolist()


@exactly_the_same
def test_a_saved_result_has_the_history_of_the_view_that_was_written_to(torch: Any) -> Any:
    """So a second derivative reaches the view, its base, and what both were made of."""
    x = torch.tensor([0.25, 1.0, 3.0], dtype=torch.float64, requires_grad=True)
    base = x.clone()
    view = base[:2]
    view.sqrt_()
    (grad,) = torch.autograd.grad(base.sum(), [x], create_graph=True)
    return torch.autograd.grad(grad.sum(), [x, base, view], allow_unused=True)


@exactly_the_same
def test_a_view_follows_when_its_base_starts_to_require_grad(torch: Any) -> Any:
    w = leaf(torch, 2.0)
    base = torch.ones(3)
    view = base[1:]
    before = view.requires_grad
    base.mul_(w)
    (view * 3).sum().backward()
    return before, view.requires_grad, view.grad_fn.name(), w.grad.tolist()


@exactly_the_same
def test_detach_shares_memory_and_version_and_data_only_memory(torch: Any) -> Any:
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    detached, data = y.detach(), y.data
    detached.add_(1)
    data.add_(1)
    return y.tolist(), y._version, detached._version, data._version, detached.requires_grad, detached.is_leaf


# Functions of the user


@exactly_the_same
def test_custom_function_in_both_styles(torch: Any) -> Any:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, scale: float) -> Any:
            ctx.save_for_backward(x)
            ctx.scale = scale
            return scale * x**3

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * 3 * ctx.scale * x**2, None

    class Split(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_non_differentiable(output[1])

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            return first * 2 + second

    x = leaf(torch, 1.0, 2.0)
    y = Cube.apply(x, 2.0)
    first = torch.autograd.grad(y.sum(), x, create_graph=True)[0]
    second = torch.autograd.grad(first.sum(), x)[0]
    a, b = Split.apply(x)
    a.sum().backward()
    needs = [y.grad_fn.name(), y.grad_fn.needs_input_grad, len(y.grad_fn.next_functions)]
    return first.tolist(), second.tolist(), needs, a.requires_grad, b.requires_grad, x.grad.tolist()


def test_gradient_dtype_and_values_against_finite_differences() -> None:
    x = minitorch.tensor([0.3, -1.2], dtype=minitorch.float64, requires_grad=True)
    (x.exp() * x).sum().backward()
    host = np.array([0.3, -1.2])
    np.testing.assert_allclose(x.grad.numpy(), np.exp(host) * (host + 1), rtol=1e-12)
