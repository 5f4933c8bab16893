"""What a backward pass holds in memory, and passes in several threads and inside one another."""

from __future__ import annotations

import threading
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import minitorch
from tests.same import attempt, same

COUNT = 100_000


def peak(action: Callable[[], Any]) -> float:
    """The most memory that an action holds at one time beyond what there was, in tensors of COUNT float32 numbers."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    action()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (most - before) / (4 * COUNT)


def chain(x: Any, length: int) -> Any:
    for _ in range(length):
        x = x.sin()
    return x


def test_a_backward_pass_needs_a_few_tensors_however_long_the_chain() -> None:
    y = chain(minitorch.ones(COUNT, requires_grad=True), 30).sum()
    # The gradient, the next one, cos of the saved tensor, and the saved tensor's conjugate or copy.
    assert peak(y.backward) < 4


def test_saved_tensors_go_as_the_pass_goes() -> None:
    x = minitorch.ones(COUNT, requires_grad=True)
    middle = [x * 1]
    for _ in range(10):
        middle.append(middle[-1].sin())
    alive = [weakref.ref(each) for each in middle]
    left: list[int] = []
    for each in middle:
        each.register_hook(lambda grad: left.append(sum(one() is not None for one in alive)))
    y = middle[-1].sum()
    del middle, each
    y.backward()
    # The last is nobody's input and dead from the beginning. The hook of tensor k runs after the node that saved it.
    assert left == list(range(10, -1, -1))


def test_retain_graph_keeps_them() -> None:
    x = minitorch.ones(2, requires_grad=True)
    middle = x * 1
    alive = weakref.ref(middle)
    y = middle.sin().sum()
    del middle
    y.backward(retain_graph=True)
    assert alive() is not None
    y.backward()
    assert alive() is None


def run_together(*actions: Callable[[], Any]) -> list[BaseException]:
    """Runs actions in threads of their own, and returns what they raised."""
    errors: list[BaseException] = []

    def guarded(action: Callable[[], Any]) -> None:
        try:
            action()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_threads_add_to_one_leaf() -> None:
    x = minitorch.zeros(1000, requires_grad=True)

    def train() -> None:
        for _ in range(100):
            (x * 2).sum().backward()

    assert run_together(*[train] * 4) == []
    assert x.grad.tolist() == [800.0] * 1000  # 4 threads, 100 passes each, gradient 2


def test_threads_have_graphs_of_their_own() -> None:
    def train(seed: int) -> None:
        x = minitorch.full((10,), float(seed), requires_grad=True)
        for _ in range(50):
            (chain(x, 1) + x**2).sum().backward()
        expected = 50 * (minitorch.full((10,), float(seed)).cos() + 2 * seed)
        assert minitorch.allclose(x.grad, expected, rtol=1e-4)

    assert run_together(*(lambda seed=seed: train(seed) for seed in range(1, 5))) == []


def test_saved_tensor_hooks_are_of_one_thread() -> None:
    packed: list[Any] = []
    with minitorch.autograd.graph.saved_tensors_hooks(lambda tensor: packed.append(tensor), lambda packed: None):
        errors = run_together(lambda: (minitorch.ones(2, requires_grad=True) ** 2).sum().backward())
    assert errors == []
    assert packed == []


@pytest.mark.parametrize("depth", [1, 50])
@same
def test_passes_inside_passes(torch: Any, depth: int) -> Any:
    class Nested(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any, depth: int) -> Any:
            ctx.depth = depth
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            if ctx.depth == 0:
                return grad * 2, None
            with torch.enable_grad():
                inner = torch.ones(2, requires_grad=True)
                Nested.apply(inner, ctx.depth - 1).sum().backward()
            return grad + inner.grad, None

    x = torch.ones(2, requires_grad=True)
    Nested.apply(x, depth).sum().backward()
    return x.grad


@same
def test_an_error_inside_a_nested_pass_reaches_the_caller(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2

    def hook(grad: Any) -> None:
        z = (torch.ones(2, requires_grad=True) ** 2).sum()
        with torch.enable_grad():
            z.backward()

    y.register_hook(hook)
    return attempt(y.sum().backward)
