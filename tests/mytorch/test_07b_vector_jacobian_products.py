"""Chapter 07b: hooks, functions written by hand and gradcheck, on mytorch and on minitorch."""

import gc
import weakref
from types import ModuleType
from typing import Any

import pytest

from course import check
from tests.mytorch.programs import Program, Programs, leaf, same

JACOBIANS = [f"mytorch.autograd.gradcheck:{name}_jacobian" for name in ("numerical", "analytical")]

PROGRAMS = Programs()
program, each = PROGRAMS.about, PROGRAMS.each


@program("given")
def hooks(torch: Any) -> Any:
    seen: list[Any] = []
    x = leaf(torch, 1, 2)
    h = x * 3
    x.register_hook(lambda grad: seen.append(grad))
    h.register_hook(lambda grad: seen.append(grad))
    handle = h.register_hook(lambda grad: grad * 10)
    h.retain_grad()
    (h * h + h).sum().backward(retain_graph=True)
    seen += [h.grad, x.grad.clone()]
    handle.remove()
    h.sum().backward()
    x.register_post_accumulate_grad_hook(lambda each: seen.append(each.grad.clone()))
    (x * 2).sum().backward()
    return [*seen, check.error(torch.zeros(1).register_hook, print)]


@program("given")
def hooks_of_a_leaf_and_of_its_node(torch: Any) -> Any:
    told: list[str] = []
    x = leaf(torch, 1, 2)
    y = x * 2
    y.grad_fn.next_functions[0][0].register_hook(lambda results, grads: told.append("node"))
    x.register_post_accumulate_grad_hook(lambda each: told.append("leaf"))
    y.sum().backward()
    return told


@program("given")
def hooks_that_return_nonsense(torch: Any) -> Any:
    def shorter(grad: Any) -> Any:
        return grad[:1]

    found = []
    for hook in (shorter, lambda grad: 5):
        h = leaf(torch, 1, 2) * 3
        h.register_hook(hook)
        found.append(check.error(h.sum().backward))
    return found


@program("given")
def functions(torch: Any) -> Any:
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, by: float) -> Any:
            ctx.by, ctx.seen = by, (torch.is_grad_enabled(), x.requires_grad, ctx.needs_input_grad)
            result = x * x * by
            ctx.save_for_backward(x, result)
            return result

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, result = ctx.saved_tensors
            return (grad * 2 * x * ctx.by + 0 * result), None

    x = leaf(torch, 1, 2)
    y = Scale.apply(x, 3.0)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    y = Scale.apply(x, 3.0)
    y.sum().backward()
    again = check.error(y.sum().backward)
    z = Scale.apply(x, 3.0)
    z.mul_(2)
    with torch.no_grad():
        quiet = Scale.apply(x, 3.0)
    return y.grad_fn.name(), y, first.detach(), second, x.grad, again, check.error(z.sum().backward), quiet


@program("given")
def functions_that_return_nonsense(torch: Any) -> Any:
    found = []
    for answer in (lambda g: (g, g), lambda g: g[:1], lambda g: None, lambda g: (g, None), lambda g: g.expand(3, 2)):

        class Odd(torch.autograd.Function):
            answer_of = staticmethod(answer)

            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return Odd.answer_of(grad)

        x = leaf(torch, 1, 2)
        found += [check.error(Odd.apply(x).sum().backward), x.grad]
    return found


@program("gradcheck")
def gradcheck(torch: Any) -> Any:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 4.0

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 3

    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float64).t().requires_grad_()
    y = torch.tensor([2.0, 0.5], dtype=torch.float64, requires_grad=True)
    check_it = torch.autograd.gradcheck
    results = [check_it(lambda x, y: (x @ y).exp() * 0.01, (x, y)), check_it(lambda x, y: (x * 2, y * x), (x, y))]
    errors = [check.error(check_it, Wrong.apply, y), check.error(check_it, Wrong.apply, y.detach())]
    second = check.error(check_it, lambda x, y: (x + 1, Wrong.apply(y)), (x, y))
    return [*results, *errors, second, torch.autograd.gradgradcheck(lambda x: x**3, y), x.grad, y.grad]


@pytest.mark.part(*JACOBIANS)
@each("gradcheck")
def test_gradcheck(run: Program, mytorch: ModuleType) -> None:
    same(run, mytorch)


@each("given")
def test_what_is_given(run: Program, mytorch: ModuleType) -> None:
    same(run, mytorch)


@pytest.mark.turns(8)
@pytest.mark.part(*JACOBIANS)
def test_gradcheck_passes_on_every_formula(mytorch: ModuleType) -> None:
    from mytorch.autograd import examples
    from mytorch.autograd.recording import DERIVATIVES, node_name

    for name in DERIVATIVES:
        function, inputs = examples.example(name), examples.matrices()
        assert function(*inputs).grad_fn.name() == node_name(name)
        assert mytorch.autograd.gradcheck(function, inputs), name
        assert mytorch.autograd.gradgradcheck(function, inputs), name


@pytest.mark.part(JACOBIANS[0])
def test_gradcheck_warns_of_coarse_inputs(mytorch: ModuleType) -> None:
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"):
        mytorch.autograd.gradcheck(lambda x: x * 2, mytorch.tensor([1.0], requires_grad=True), eps=0.1)


def test_a_function_and_its_node_do_not_keep_each_other_alive(mytorch: ModuleType) -> None:
    """Without a cycle, what a graph holds is freed with the last tensor that refers to it, not by the collector."""

    class Square(mytorch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2 * ctx.saved_tensors[0]

    hidden = leaf(mytorch, 1, 2) * 1
    result, kept = Square.apply(hidden), weakref.ref(hidden)
    del hidden
    assert kept() is not None
    gc.disable()
    try:
        del result
        assert kept() is None
    finally:
        gc.enable()
