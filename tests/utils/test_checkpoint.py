"""Checkpointed functions have the gradients of plain ones, and run twice."""

from __future__ import annotations

import contextlib
import importlib
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch.nn as nn
from minitorch.utils.checkpoint import checkpoint, checkpoint_sequential
from tests.same import same


def network() -> Any:
    minitorch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))


def inputs(requires_grad: bool = True) -> Any:
    return minitorch.from_numpy(np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)).requires_grad_(
        requires_grad
    )


def gradients(run: Any, requires_grad: bool = True) -> list[Any]:
    model, x = network(), inputs(requires_grad)
    minitorch.manual_seed(1)
    output = run(model, x)
    state = minitorch.rand(1).tolist()
    (output * output).sum().backward()
    return [output.tolist(), state, None if x.grad is None else x.grad.tolist()] + [
        None if each.grad is None else each.grad.tolist() for each in model.parameters()
    ]


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_gradients_are_those_without_checkpoint(use_reentrant: bool) -> None:
    plain = gradients(lambda model, x: model(x))
    assert gradients(lambda model, x: checkpoint(model, x, use_reentrant=use_reentrant)) == plain
    for segments in (1, 2, 3):
        split = gradients(lambda model, x, n=segments: checkpoint_sequential(model, n, x, use_reentrant=use_reentrant))
        assert split == plain


def test_inputs_need_no_gradient_when_not_reentrant() -> None:
    plain = gradients(lambda model, x: model(x), requires_grad=False)
    assert gradients(lambda model, x: checkpoint(model, x, use_reentrant=False), requires_grad=False) == plain


def test_autograd_grad_and_keywords() -> None:
    x = inputs()

    def function(x: Any, *, factor: float) -> Any:
        return (x * x).sum() * factor, x * 3

    value, other = checkpoint(function, x, factor=2.0, use_reentrant=False)
    (grad,) = minitorch.autograd.grad(value, x)
    np.testing.assert_allclose(grad.numpy(), 4 * x.detach().numpy(), 1e-6)
    assert other.requires_grad


def test_the_function_runs_again_in_backward() -> None:
    calls: list[bool] = []

    def function(x: Any) -> Any:
        calls.append(minitorch.is_grad_enabled())
        return x * x

    output = checkpoint(function, inputs(), use_reentrant=False)
    assert len(calls) == 1
    output.sum().backward()
    assert calls == [True, True]


def test_nothing_of_the_inside_is_kept() -> None:
    import weakref

    inside: list[Any] = []

    def function(x: Any) -> Any:
        middle = x.exp()
        inside.append(weakref.ref(middle))
        return middle.sin()

    output = checkpoint(function, inputs(), use_reentrant=False)
    assert inside[0]() is None
    assert output.requires_grad


def test_policies_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="create_selective_checkpoint_contexts"):
        minitorch.utils.checkpoint.create_selective_checkpoint_contexts(lambda *args: None)


def test_debug_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="debug"):
        checkpoint(lambda x: x * 2, inputs(), debug=True, use_reentrant=False)


# Against torch


def attempt(action: Callable[[], Any]) -> Any:
    """What an action returns, or the type and words of its error, without the tips on PyTorch's debugging tools."""
    try:
        return action()
    except Exception as error:
        return type(error).__name__, str(error).partition("\nTip")[0].rstrip()


def tool(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.utils.checkpoint")


def leaf(torch: Any) -> Any:
    return torch.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 1.0]], requires_grad=True)


def net(torch: Any) -> Any:
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))


Call = Callable[[Any, Any, Any], Any]

CALLS: dict[str, Call] = {
    "nested": lambda torch, x, run: run(lambda y: run(lambda z: z.exp(), y * 0.5).sin(), x),
    "of a module": lambda torch, x, run: run(net(torch), x),
    "not a tensor": lambda torch, x, run: run(lambda y, factor, others: y * factor + others[0], x, 2.0, [x]),
    "a tuple": lambda torch, x, run: run(lambda y: (y.exp(), 5, y.detach()), x)[0],
    "keywords": lambda torch, x, run: run(lambda y, factor: y.exp() * factor, x, factor=2),
    "dropout": lambda torch, x, run: run(torch.nn.Dropout(), x.exp()),
    "dropout with other numbers": lambda torch, x, run: run(torch.nn.Dropout(), x, preserve_rng_state=False),
    "nothing to differentiate": lambda torch, x, run: run(lambda y: y.detach(), x),
    "an input that needs no gradient": lambda torch, x, run: run(lambda y: y * x, x.detach()),
    "the input itself": lambda torch, x, run: run(lambda y: y, x),
    "a write to the input": lambda torch, x, run: attempt(lambda: run(lambda y: y.add_(1), x * 1)),
    "a gradient inside": lambda torch, x, run: run(
        lambda y: torch.autograd.grad(y.exp().sum(), y, create_graph=True)[0].sin(), x
    ),
}
PASSES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "backward": lambda torch, x, y: y.backward(),
    "backward of some": lambda torch, x, y: y.backward(inputs=[x]),
    "grad": lambda torch, x, y: torch.autograd.grad(y, x),
    "twice": lambda torch, x, y: [y.backward(retain_graph=True), y.backward(), attempt(y.backward)],
    "second derivatives": lambda torch, x, y: torch.autograd.grad(
        torch.autograd.grad(y, x, create_graph=True)[0].sum(), x, allow_unused=True
    ),
}


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad=True")
@pytest.mark.parametrize("use_reentrant", [True, False])
@pytest.mark.parametrize("how", PASSES)
@pytest.mark.parametrize("name", CALLS)
@same
def test_like_torch(torch: Any, name: str, how: str, use_reentrant: bool) -> Any:
    x = leaf(torch)

    def run(function: Any, *args: Any, **kwargs: Any) -> Any:
        return tool(torch).checkpoint(function, *args, use_reentrant=use_reentrant, **kwargs)

    result = attempt(lambda: CALLS[name](torch, x, run))
    passed = None
    if isinstance(result, torch.Tensor):
        passed = attempt(lambda: PASSES[how](torch, x, (result * result).sum()))
    return result, passed, x.grad, torch.rand(2)


@pytest.mark.parametrize("how", ["default", "argument", "context"])
@same
def test_early_stop(torch: Any, how: str) -> Any:
    seen: list[str] = []

    def function(x: Any) -> Any:
        seen.append("starts")
        y = x.exp().sin()
        seen.append("has all that is needed")
        return y * 2

    x = leaf(torch)
    options = {"early_stop": False} if how == "argument" else {}
    stops = tool(torch).set_checkpoint_early_stop(False) if how == "context" else contextlib.nullcontext()
    with stops:
        y = tool(torch).checkpoint(function, x, use_reentrant=False, **options)
    y.sum().backward()
    return seen, x.grad


@same
def test_contexts(torch: Any) -> Any:
    seen: list[str] = []

    @contextlib.contextmanager
    def says(name: str) -> Iterator[None]:
        seen.append(f"{name} begins")
        yield
        seen.append(f"{name} ends")

    x = leaf(torch)
    contexts = (says("first"), says("second"))
    tool(torch).checkpoint(torch.exp, x, use_reentrant=False, context_fn=lambda: contexts).sum().backward()
    return seen, x.grad


FIRST_AND_AGAIN: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "fewer": (lambda x: x.exp().sin(), lambda x: x.exp() * 2),
    "more": (lambda x: x.exp(), lambda x: x.exp().sin().cos()),
    "another shape": (lambda x: x.exp().sin(), lambda x: x[:1].exp().sin()),
    "another dtype": (lambda x: x.exp().sin(), lambda x: x.double().exp().sin()),
}


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("determinism_check", ["default", "none", "unknown"])
@pytest.mark.parametrize("name", FIRST_AND_AGAIN)
@same
def test_functions_that_change(torch: Any, name: str, determinism_check: str, early_stop: bool) -> Any:
    runs = iter(FIRST_AND_AGAIN[name])
    x = leaf(torch)

    def run() -> Any:
        options = {"determinism_check": determinism_check, "early_stop": early_stop}
        tool(torch).checkpoint(lambda x: next(runs)(x), x, use_reentrant=False, **options).sum().backward()
        return x.grad

    return attempt(run)


@same
def test_what_was_saved_can_be_unpacked_once(torch: Any) -> Any:
    class Twice(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.saved_tensors[0] * ctx.saved_tensors[0]

    y = tool(torch).checkpoint(Twice.apply, leaf(torch), use_reentrant=False)
    return attempt(y.sum().backward)


@same
def test_inputs_are_guarded_and_attributes_recomputed(torch: Any) -> Any:
    x = leaf(torch) * 1
    y = tool(torch).checkpoint(torch.exp, x, use_reentrant=False)
    saved = y.grad_fn._saved_result
    x.add_(1)
    return saved, attempt(y.sum().backward)


@pytest.mark.parametrize("use_reentrant", [True, False])
@same
def test_autocast_is_as_it_was(torch: Any, use_reentrant: bool) -> Any:
    seen: list[str] = []

    def function(x: Any) -> Any:
        product = x @ x.t()
        seen.append(str(product.dtype))
        return product.float().sin()

    x = leaf(torch)
    with torch.autocast("cpu"):
        y = tool(torch).checkpoint(function, x, use_reentrant=use_reentrant)
    y.sum().backward()
    return seen, torch.is_autocast_enabled("cpu"), x.grad.dtype is x.dtype


@same
def test_warnings_and_refusals(torch: Any) -> Any:
    x = leaf(torch)
    layers, checkpoint = net(torch), tool(torch).checkpoint
    sequential = tool(torch).checkpoint_sequential
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        checkpoint(layers, x)
        sequential(layers, 2, x.detach())
    return [str(each.message) for each in caught], [
        attempt(lambda: checkpoint(layers, x, use_reentrant=True, factor=2)),
        attempt(lambda: checkpoint(layers, x, use_reentrant=True, debug=True)),
        attempt(lambda: checkpoint(layers, x, use_reentrant=True, context_fn=lambda: None)),
        attempt(lambda: sequential(layers, 2, x, use_reentrant=False, factor=2)),
        attempt(lambda: sequential(layers, 9, x, use_reentrant=False)),
        attempt(lambda: checkpoint(layers, x, use_reentrant=False, debug=True, context_fn=lambda: None)),
    ]


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_memory_that_a_deep_network_holds(use_reentrant: bool) -> None:
    def held(segments: int) -> int:
        """The most bytes that a step has allocated at one time."""
        layers = [minitorch.sin] * 36
        x = minitorch.ones(100_000, requires_grad=True)
        tracemalloc.start()
        y = x * 1
        for layer in layers if segments == 1 else ():
            y = layer(y)
        if segments > 1:
            y = checkpoint_sequential(layers, segments, y, use_reentrant=use_reentrant)
        y.sum().backward()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak // x.untyped_storage().nbytes()

    # 36 layers save 36 tensors; 6 segments of 6 save 6, and 6 more for a while: Chen et al. 2016, section 4.1.
    assert held(segments=1) >= 36
    assert held(segments=6) <= 18
