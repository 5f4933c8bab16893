"""What custom Functions return beside new tensors: their inputs, views, keywords; and modes around generators."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minitorch
from tests.same import attempt, exactly_the_same


def function(torch: Any, forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Mine", (torch.autograd.Function,), members).apply


@pytest.mark.parametrize(
    "forward",
    [
        lambda ctx, x: x.view(3, 1),
        lambda ctx, x: x,
        lambda ctx, x: x.detach(),
        lambda ctx, x: (x[:1], x[1:]),
        lambda ctx, x: x * 1,
    ],
    ids=["a view", "the input", "detached", "two views", "a new tensor"],
)
@pytest.mark.parametrize("of_leaf", [False, True], ids=["", "of a leaf"])
@exactly_the_same
def test_views_from_a_function_must_not_be_written_to(torch: Any, forward: Callable[..., Any], of_leaf: bool) -> Any:
    apply = function(torch, forward, lambda ctx, *grads: torch.cat([each.reshape(-1) for each in grads]) * 5)
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    result = apply(x if of_leaf else x * 1)
    first = result[0] if isinstance(result, tuple) else result
    facts = [first._is_view(), first.is_leaf, type(first.grad_fn).__name__]
    facts.append(attempt(lambda: torch.autograd.grad(first.sum(), x, retain_graph=True)[0]))
    return [*facts, attempt(lambda: first.mul_(2))]


@exactly_the_same
def test_arguments_by_name(torch: Any) -> Any:
    """They are put in forward's order; names of keyword-only parameters are refused."""

    def forward(ctx: Any, x: Any, factor: Any = 2, *, power: int = 1) -> Any:
        ctx.facts = (type(factor).__name__, power, ctx.needs_input_grad)
        return x * factor**power

    def backward(ctx: Any, grad: Any) -> Any:
        return (grad * 5, *[None] * (len(ctx.needs_input_grad) - 1))

    apply = function(torch, forward, backward)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    calls = [
        lambda: apply(x=x), lambda: apply(x, factor=3), lambda: apply(factor=4, x=x), lambda: apply(x, power=2),
        lambda: apply(x, x=x), lambda: apply(x, other=1), lambda: apply(),
    ]  # fmt: skip
    gathered = [attempt(call) for call in calls]
    results = [each for each in gathered if isinstance(each, torch.Tensor)]
    assert len(results) == 3
    return gathered, [(each.grad_fn.facts, torch.autograd.grad(each.sum(), x)) for each in results]


def test_only_tensors_can_be_marked_dirty() -> None:
    apply = function(minitorch, lambda ctx, x: ctx.mark_dirty(3) or x * 1, lambda ctx, grad: grad)
    with pytest.raises(RuntimeError, match="mark_dirty can only accept variables, but argument 0 is of type int"):
        apply(minitorch.ones(2, requires_grad=True))


@pytest.mark.parametrize("mode", ["no_grad", "enable_grad", "inference_mode"])
@exactly_the_same
def test_a_mode_around_a_generator_holds_in_its_steps_alone(torch: Any, mode: str) -> Any:
    log: list[Any] = []

    @getattr(torch, mode)()
    def steps(count: int) -> Iterator[Any]:
        for number in range(count):
            try:
                given = yield torch.is_grad_enabled(), torch.is_inference_mode_enabled(), number
                log.append((given, torch.is_grad_enabled()))
            except ValueError as error:
                log.append((str(error), torch.is_grad_enabled()))
            except GeneratorExit:
                log.append(("closed", torch.is_grad_enabled()))
                raise
        return "end"

    with torch.set_grad_enabled(mode != "enable_grad"):
        running = steps(3)
        log += [next(running), torch.is_grad_enabled(), running.send("sent"), running.throw(ValueError("thrown"))]
        log.append(attempt(lambda: running.send(1)))
        log += [list(steps(2)), torch.is_grad_enabled(), steps.__name__]
        closing = steps(2)
        next(closing)
        closing.close()
    return log


@exactly_the_same
def test_a_mode_around_a_class_warns(torch: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        @torch.no_grad()
        class Holder:
            def __init__(self) -> None:
                self.enabled = torch.is_grad_enabled()

    return [Holder().enabled, [(each.category.__name__, str(each.message)) for each in caught]]


@exactly_the_same
def test_results_are_not_written_into_inference_tensors(torch: Any) -> Any:
    with torch.inference_mode():
        made = torch.ones(3)
    x = torch.ones(3)
    calls = [lambda: torch.add(x, 1, out=made), lambda: torch.cumsum(x, 0, out=made), lambda: made.add_(1)]
    with torch.inference_mode():
        inside = torch.add(x, 1, out=made).tolist()
    return [inside, *map(attempt, calls)]


@exactly_the_same
def test_a_real_input_gets_no_complex_gradient(torch: Any) -> Any:
    apply = function(torch, lambda ctx, x: x * 2, lambda ctx, grad: grad * (1 + 1j))
    kind, words = attempt(apply(torch.ones(2, requires_grad=True)).sum().backward)
    assert words.startswith("Expected isFloatingType")
    return kind, words


@exactly_the_same
def test_inference_mode_is_not_ended_by_enable_grad_but_by_its_own_opposite(torch: Any) -> Any:
    def told() -> tuple[bool, bool]:
        return torch.is_grad_enabled(), torch.is_inference_mode_enabled()

    x, log = torch.ones(2, requires_grad=True), [told()]
    with torch.inference_mode():
        log.append(told())
        with torch.enable_grad():
            written = torch.zeros(2)
            written.add_(x)
            made = [x * 2, x[:1], torch.ones(2, requires_grad=True) * 2, written, x.sum()]
            log += [told(), [(each.requires_grad, each.is_inference()) for each in made]]
        with torch.set_grad_enabled(True):
            log.append(told())
        with torch.inference_mode(False):
            log += [told(), (x * 2).requires_grad]
        log.append(told())
    with torch.no_grad():
        with torch.inference_mode(False):
            log += [told(), (x * 2).requires_grad]
        log.append(told())
    return [*log, told()]


@exactly_the_same
def test_a_captured_gradient_that_goes_on_is_the_one_before_the_hooks(torch: Any) -> Any:
    """Asked for alone, a tensor's gradient is what its hooks made of it; beside one further down, what came to it."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: grad * 10)
    total = y.sum()
    return [
        [each.tolist() for each in torch.autograd.grad(total, inputs, retain_graph=True)]
        for inputs in ([y], [y, x], [x], [x, y])
    ]
