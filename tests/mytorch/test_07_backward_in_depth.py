"""Chapter 07: the same programs on mytorch and on minitorch give the same values, printed forms and errors."""

import gc
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import minitorch
from course import check

MODES = [f"mytorch.autograd.grad_mode:GradMode.{name}" for name in ("__enter__", "__exit__", "__call__")]
GIVE_BACK, RECORD = "mytorch.autograd.inplace:SavedTensor.give_back", "mytorch.autograd.inplace:record_write"
COPY_SLICES = "mytorch.autograd.inplace:CopySlices.apply"
JACOBIANS = [f"mytorch.autograd.gradcheck:{name}_jacobian" for name in ("numerical", "analytical")]

Program = Callable[[Any], Any]
PROGRAMS: dict[str, list[Program]] = {"modes": [], "versions": [], "writes": [], "gradcheck": [], "given": []}


def program(subject: str) -> Callable[[Program], Program]:
    """A program to be run on both packages."""

    def add(function: Program) -> Program:
        PROGRAMS[subject].append(function)
        return function

    return add


def each(subject: str) -> pytest.MarkDecorator:
    """A test for each program of a subject."""
    return pytest.mark.parametrize("run", PROGRAMS[subject], ids=lambda run: run.__name__)


def shown(value: Any) -> Any:
    """What is compared of a result: of a tensor its printed form, dtype and strides, of an error its type and text."""
    if isinstance(value, BaseException):
        return type(value).__name__, str(value)
    if isinstance(value, (list, tuple)):
        return [shown(each) for each in value]
    if hasattr(value, "stride"):
        return repr(value), str(value.dtype).rpartition(".")[2], tuple(value.stride())
    return value


def leaf(torch: Any, *numbers: float) -> Any:
    return torch.tensor([float(number) for number in numbers], requires_grad=True)


@program("modes")
def modes_inside_each_other(torch: Any) -> Any:
    x, found, quiet = leaf(torch, 1, 2), [], torch.no_grad()
    with quiet:
        with torch.enable_grad():
            found.append(x * 2)
            with quiet:
                found.append(torch.is_grad_enabled())
            found.append(torch.is_grad_enabled())
        found += [x * 2, torch.is_grad_enabled()]
    with torch.set_grad_enabled(False):
        found.append(torch.is_grad_enabled())
    return [*found, torch.is_grad_enabled()]


@program("modes")
def modes_as_decorators(torch: Any) -> Any:
    @torch.no_grad()
    def double(x: Any, times: int = 2) -> Any:
        """Twice x."""
        return x * times

    @torch.no_grad
    def fails() -> None:
        raise ValueError("on purpose")

    @torch.set_grad_enabled(False)
    def enabled() -> bool:
        return bool(torch.is_grad_enabled())

    results = [double(leaf(torch, 1, 2), times=3), double.__name__, double.__doc__, torch.is_grad_enabled()]
    return [*results, check.error(fails), torch.is_grad_enabled(), enabled(), torch.is_grad_enabled()]


@program("versions")
def saved_tensors_notice_writes(torch: Any) -> Any:
    found = []
    for operation in (lambda a: a.exp(), lambda a: a * a, lambda a: a + 1, lambda a: a.sqrt(), lambda a: a * 2):
        for into in ("input", "result"):
            x = leaf(torch, 1, 4)
            source = x * 1
            result = operation(source)
            with torch.no_grad():
                (source if into == "input" else result)[:1].add_(1)
            found += [check.error(result.sum().backward), x.grad]
    return found


@program("versions")
def data_and_detach_count_differently(torch: Any) -> Any:
    t = torch.tensor([1.0, 2.0])
    t.detach().add_(1)
    t.data.add_(1)
    h = leaf(torch, 0, 1).exp()
    h.data.mul_(3)
    return t, t._version, t.data._version, check.error(h.sum().backward)


@program("writes")
def writes_into_views(torch: Any) -> Any:
    x, y = leaf(torch, 1, 2, 3, 4), leaf(torch, 5, 6)
    out = x * 2
    early, late = out[1:3], out[2:]
    out[1:3] = y * y
    late.mul_(3)
    (grad,) = torch.autograd.grad((out * out).sum(), y, create_graph=True)
    (second,) = torch.autograd.grad(grad.sum(), y, retain_graph=True)
    out.sum().backward()
    return out, early, late, grad.detach(), second, x.grad, y.grad, out.grad_fn.name()


@program("writes")
def writes_into_plain_tensors(torch: Any) -> Any:
    y = leaf(torch, 5, 6)
    table = torch.zeros(2, 3)
    column = table.t()[1]
    before = table.requires_grad
    column.copy_(y)
    whole = torch.zeros(2)
    whole.copy_(y)
    total = torch.zeros(2)
    total += y
    weights = torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    (table * weights).sum().backward()
    return before, table, column.requires_grad, y.grad, whole, total


@program("writes")
def writes_into_detached_transposes(torch: Any) -> Any:
    y = leaf(torch, 5, 6, 7)
    base = torch.zeros(2, 3).t().detach()
    base[:, 1] = y
    weights = torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    (grad,) = torch.autograd.grad((base * weights).sum(), y)
    return base, grad


@program("writes")
def arithmetic_in_place(torch: Any) -> Any:
    found = []
    for change in (lambda h: h.add_(1), lambda h: h.exp_(), lambda h: h.log_(), lambda h: h.pow_(2)):
        x = leaf(torch, 1, 2)
        h = x * 1
        found.append(change(h))
        h.sum().backward()
        found.append(x.grad)
    x, factor = leaf(torch, 1, 2), leaf(torch, 3, 4)
    h = x * 1
    h.mul_(factor).sum().backward()
    squared = x * 1
    squared.mul_(squared)
    return [*found, x.grad, factor.grad, check.error(squared.sum().backward)]


@program("writes")
def writes_into_leaves(torch: Any) -> Any:
    x = leaf(torch, 1, 2)
    errors = [check.error(x.add_, 1), check.error(x[:1].add_, 1), check.error(x.copy_, torch.zeros(2))]
    with torch.no_grad():
        x.add_(1)
    return [*errors, x, x._version, x.is_leaf]


@program("given")
def writes_into_one_of_several_views(torch: Any) -> Any:
    found: list[Any] = []
    for views in (
        lambda x: x.split(1),
        lambda x: x.split([2, 1]),
        lambda x: x.chunk(2),
        lambda x: x.unbind(),
        lambda x: list(x),
        lambda x: [part[1:] for part in x.split(3)],
        lambda x: [x[:2]],
        lambda x: [part.detach() for part in x.split(2)],
    ):
        for kind in ("leaf", "result", "no gradient"):
            base = leaf(torch, 1, 2, 3) if kind != "no gradient" else torch.ones(3)
            part = views(base * 1 if kind == "result" else base)[-1]
            found += [check.error(part.mul_, 2.0), check.error(part.mul_, leaf(torch, 2).sum())]
            with torch.no_grad():
                part.fill_(7.0)
            found.append(base)
    return found


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


def same(run: Program, mytorch: ModuleType) -> None:
    assert shown(run(mytorch)) == shown(run(minitorch))


@pytest.mark.part(*MODES)
@each("modes")
def test_modes(run: Program, mytorch: ModuleType) -> None:
    same(run, mytorch)


@pytest.mark.part(GIVE_BACK)
@each("versions")
def test_versions(run: Program, mytorch: ModuleType) -> None:
    same(run, mytorch)


@pytest.mark.part(RECORD, COPY_SLICES)
@each("writes")
def test_writes(run: Program, mytorch: ModuleType) -> None:
    same(run, mytorch)


@pytest.mark.part(*JACOBIANS)
@each("gradcheck")
def test_gradcheck(run: Program, mytorch: ModuleType) -> None:
    same(run, mytorch)


@each("given")
def test_what_is_given(run: Program, mytorch: ModuleType) -> None:
    same(run, mytorch)


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
