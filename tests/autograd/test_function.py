"""Functions of the user: their rules, their words when one is broken, and their derivatives are PyTorch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from tests.same import attempt, same

Scenario = Callable[[Any], Any]


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def function(torch: Any, forward: Any, backward: Any = lambda ctx, grad: grad * 2, **members: Any) -> Any:
    static = {"forward": forward, "backward": backward, **members}
    return type("F", (torch.autograd.Function,), {name: staticmethod(each) for name, each in static.items()})


def gradients(function: Any, *args: Any) -> Any:
    """The outputs, and the gradients of the arguments that have one."""
    outputs = function.apply(*args)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    sum(each.sum() for each in outputs if hasattr(each, "requires_grad") and each.requires_grad).backward()
    return outputs, [each.grad for each in args if hasattr(each, "grad")]


def double(ctx: Any, x: Any) -> Any:
    return x * 2


BACKWARDS: dict[str, Any] = {
    "right": lambda ctx, grad: grad * 2,
    "one gradient too many": lambda ctx, grad: (grad, grad),
    "one None too many": lambda ctx, grad: (grad, None),
    "a number": lambda ctx, grad: 5,
    "a list": lambda ctx, grad: [grad],
    "None": lambda ctx, grad: None,
    "a shape that doesn't fit": lambda ctx, grad: grad.new_ones(3),
    "a shape to be summed": lambda ctx, grad: grad.new_ones(3, 2),
    "another dtype": lambda ctx, grad: grad.double(),
}


@pytest.mark.parametrize("name", BACKWARDS)
@same
def test_what_backward_returns(torch: Any, name: str) -> Any:
    return attempt(lambda: gradients(function(torch, double, BACKWARDS[name]), leaf(torch)))


@same
def test_too_few_gradients_and_one_for_a_number(torch: Any) -> Any:
    product = function(torch, lambda ctx, x, y: x * y)
    pair = function(torch, lambda ctx, x, y: x * y, lambda ctx, grad: (grad, grad))
    few = attempt(lambda: gradients(product, leaf(torch), leaf(torch)))
    return few, attempt(lambda: gradients(pair, leaf(torch), 3.0))


@same
def test_no_gradient_reaches_further_than_a_backward_that_returns_none(torch: Any) -> Any:
    x = leaf(torch)
    function(torch, double, lambda ctx, grad: None).apply(x.exp() * 3).sum().backward()
    return x.grad


@same
def test_missing_methods(torch: Any) -> Any:
    base = torch.autograd.Function

    def members(**given: Any) -> Any:
        return type("F", (base,), {name: staticmethod(each) for name, each in given.items()})

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2

    return [
        attempt(lambda: members().apply(leaf(torch))),
        attempt(lambda: gradients(members(forward=double), leaf(torch))),
        attempt(lambda: gradients(members(forward=double, vjp=backward), leaf(torch))),
        attempt(lambda: gradients(members(forward=double, backward=backward, vjp=backward), leaf(torch))),
        attempt(lambda: base.jvp(None)),
        attempt(lambda: base.vmap(None, None)),
        base.generate_vmap_rule,
    ]


@same
def test_a_function_is_not_instantiated(torch: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        instance = function(torch, double)()
    return [str(each.message) for each in caught], attempt(lambda: instance(leaf(torch)))


FORWARDS: dict[str, Any] = {
    "a number": lambda ctx, x: 5,
    "a list": lambda ctx, x: [x * 2],
    "nothing": lambda ctx, x: None,
    "the input itself": lambda ctx, x: x,
    "a view of the input": lambda ctx, x: x[:1],
}


@pytest.mark.parametrize("name", FORWARDS)
@same
def test_what_forward_returns(torch: Any, name: str) -> Any:
    x = leaf(torch)
    output = function(torch, FORWARDS[name]).apply(x)
    return output, output is x


@same
def test_values_that_are_no_tensors_get_none_for_a_gradient(torch: Any) -> Any:
    seen: list[Any] = []

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.extend(grads)
        return grads[0] + grads[3]

    x = leaf(torch)
    outputs = function(torch, lambda ctx, x: (x * 2, 5, None, x * 3), backward).apply(x)
    (outputs[0] * outputs[3]).sum().backward()
    return outputs, seen, x.grad


@pytest.mark.parametrize("materialize", [True, False])
@same
def test_gradients_that_do_not_arrive(torch: Any, materialize: bool) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(materialize)
        return x * 3, x.long(), x.double().view(2, 1)

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.extend(grads)
        return grads[0]

    x = leaf(torch)
    outputs = function(torch, forward, backward).apply(x)
    outputs[0].sum().backward()
    return outputs, seen, x.grad


@same
def test_outputs_marked_as_non_differentiable(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        large, twice = x > 1, x * 2
        ctx.mark_non_differentiable(large, twice)
        return x * 3, large, twice

    x = leaf(torch)
    outputs = function(torch, forward, lambda ctx, first, second, third: first + second + third).apply(x)
    outputs[0].sum().backward()
    return outputs, x.grad


def writes(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    x.mul_(2)
    return x


@same
def test_an_input_that_forward_wrote_to(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 1
    z = function(torch, writes).apply(y)
    z.sum().backward()
    return z is y, y.grad_fn.name(), y._version, x.grad


@same
def test_a_view_that_forward_wrote_to(torch: Any) -> Any:
    x = leaf(torch)
    base = x * 1
    view = base[:1]
    z = function(torch, writes, lambda ctx, grad: grad * 5).apply(view)
    base.sum().backward()
    return z is view, view.grad_fn.name(), base.grad_fn.name(), x.grad


@same
def test_what_may_not_be_marked_dirty(torch: Any) -> Any:
    def forgets(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul(2)

    def returns_two(ctx: Any, x: Any) -> Any:
        return writes(ctx, x), x * 2

    return [
        attempt(lambda: function(torch, forgets).apply(leaf(torch) * 1)),
        attempt(lambda: function(torch, writes).apply(leaf(torch))),
        attempt(lambda: function(torch, returns_two).apply((leaf(torch) * 1)[:1])),
    ]


def saving(*values: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, *values)
        return x * 2

    return forward


@same
def test_what_can_be_saved(torch: Any) -> Any:
    seen: list[Any] = []

    def backward(ctx: Any, grad: Any) -> Any:
        seen.append(ctx.saved_tensors)
        return grad

    gradients(function(torch, saving(None), backward), leaf(torch))
    return seen, attempt(lambda: gradients(function(torch, saving(None, 5), backward), leaf(torch)))


@same
def test_what_was_saved_is_freed_and_guarded(torch: Any) -> Any:
    def uses(ctx: Any, grad: Any) -> Any:
        return ctx.saved_tensors[0] * grad

    def saves_output(ctx: Any, x: Any) -> Any:
        result = x * 2
        ctx.save_for_backward(result)
        return result

    once = function(torch, saving(), uses).apply(leaf(torch)).sum()
    once.backward()
    x = leaf(torch) * 1
    of_input = function(torch, saving(), uses).apply(x).sum()
    x.add_(1)
    output = function(torch, saves_output, uses).apply(leaf(torch) * 1)
    of_output = output.sum()
    output.add_(1)
    return [attempt(each.backward) for each in (once, of_input, of_output)]


@same
def test_needs_input_grad(torch: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any, y: Any, scale: Any, z: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return x * y

    def backward(ctx: Any, grad: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return grad, None, None, None

    one = function(torch, forward, backward)
    one.apply(leaf(torch), torch.ones(2), 3, leaf(torch)).sum().backward()
    with torch.no_grad():
        one.apply(leaf(torch), torch.ones(2), 3, leaf(torch))
    return seen


@same
def test_setup_context_gets_all_arguments(torch: Any) -> Any:
    seen: list[Any] = []

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        seen.append(inputs)
        ctx.save_for_backward(inputs[0])

    scaled = function(
        torch,
        lambda x, factor=2: x * factor,
        lambda ctx, grad: (grad * ctx.saved_tensors[0], None),
        setup_context=setup,
    )
    return gradients(scaled, leaf(torch), 3), scaled.apply(leaf(torch)), scaled.apply(leaf(torch), factor=4), seen


@same
def test_forward_takes_keywords(torch: Any) -> Any:
    return function(torch, lambda ctx, x, factor=1: x * factor).apply(leaf(torch), factor=3)


@pytest.mark.parametrize("saves", ["input", "output"])
@same
def test_second_derivatives(torch: Any, saves: str) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        result = x.exp()
        ctx.save_for_backward(x if saves == "input" else result)
        return result

    def backward(ctx: Any, grad: Any) -> Any:
        (saved,) = ctx.saved_tensors
        return grad * (saved.exp() if saves == "input" else saved)

    x = leaf(torch)
    (first,) = torch.autograd.grad(function(torch, forward, backward).apply(x).sum(), x, create_graph=True)
    return first, torch.autograd.grad(first.sum(), x)


@same
def test_once_differentiable(torch: Any) -> Any:
    import importlib

    once = importlib.import_module(f"{torch.__name__}.autograd.function").once_differentiable
    modes: list[bool] = []

    def backward(ctx: Any, grad: Any) -> Any:
        modes.append(torch.is_grad_enabled())
        return grad * 2 * ctx.saved_tensors[0]

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**2

    x, weight = leaf(torch), leaf(torch)
    y = function(torch, forward, once(backward)).apply(x)
    (first,) = torch.autograd.grad(y, x, weight, create_graph=True)
    return modes, first, attempt(lambda: torch.autograd.grad(first.sum(), weight))


@same
def test_a_backward_pass_inside_backward(torch: Any) -> Any:
    def backward(ctx: Any, grad: Any) -> Any:
        with torch.enable_grad():
            inner = leaf(torch)
            (inner**2).sum().backward()
        return grad * inner.grad

    return gradients(function(torch, double, backward), leaf(torch))


@same
def test_the_node_is_the_context(torch: Any) -> Any:
    node = function(torch, lambda ctx, x, scale: x * scale).apply(leaf(torch), 3.0).grad_fn
    is_node = isinstance(node, torch.autograd.graph.Node)
    return node.name(), type(node).__name__, is_node, len(node.next_functions), node.metadata


@same
def test_names_of_the_users_meet_none_of_the_engines(torch: Any) -> Any:
    names = ("edges", "outputs", "hooks", "op", "ctx", "function", "save", "release", "sequence_number", "_plan")

    def forward(ctx: Any, x: Any) -> Any:
        for number, name in enumerate(names):
            setattr(ctx, name, number)
        return x * 2

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * sum(getattr(ctx, name) for name in names)

    x = leaf(torch)
    y = function(torch, forward, backward).apply(x)
    y.sum().backward()
    return y, x.grad, attempt(lambda: y.grad_fn.nothing)


def test_the_context_goes_when_its_graph_goes() -> None:
    import gc
    import weakref

    import minitorch

    gc.disable()
    try:
        y = function(minitorch, saving()).apply(leaf(minitorch))
        gone = weakref.ref(y.grad_fn)
        del y
        assert gone() is None
    finally:
        gc.enable()
