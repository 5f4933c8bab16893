"""Chapter 07: the same programs on mytorch and on minitorch give the same values, printed forms and errors."""

import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from course import check
from tests.mytorch.programs import Program, Programs, leaf, same

MODES = [f"mytorch.autograd.grad_mode:GradMode.{name}" for name in ("__enter__", "__exit__", "__call__")]
GIVE_BACK, RECORD = "mytorch.autograd.inplace:SavedTensor.give_back", "mytorch.autograd.inplace:record_write"
COPY_SLICES = "mytorch.autograd.inplace:CopySlices.apply"

PROGRAMS = Programs()
program, each = PROGRAMS.about, PROGRAMS.each


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
    with torch.no_grad():
        with quiet:
            pass
        found.append(torch.is_grad_enabled())
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


@program("modes")
def a_decorated_function_in_two_threads(torch: Any) -> Any:
    """The other thread enters later, with recording off, and leaves later."""
    inside, left = threading.Event(), threading.Event()

    @torch.no_grad()
    def run(action: Callable[[], Any]) -> None:
        action()

    def stay() -> None:
        inside.set()
        left.wait(60)

    def other() -> None:
        with torch.no_grad():
            run(stay)

    def begin() -> None:
        thread.start()
        inside.wait(60)

    thread = threading.Thread(target=other)
    run(begin)
    after = torch.is_grad_enabled()
    left.set()
    thread.join()
    torch.set_grad_enabled(True)
    return after


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


@each("given")
def test_what_is_given(run: Program, mytorch: ModuleType) -> None:
    same(run, mytorch)
