"""Chapter 08 of mytorch against minitorch: what is recorded and played, and what simplifying leaves."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.mytorch.compare import agree, close, pytorch

part = pytest.mark.part
graph = "mytorch.graph:"
recorder = "mytorch.graph:Recorder."


def numbers(*size: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(0.2, 2.0, size).astype(np.float32)


def slope(torch: ModuleType, x: Any) -> Any:
    x = x.detach().requires_grad_()
    return torch.autograd.grad((x * x).exp().sum(), [x])[0]


def nine_steps(torch: ModuleType, x: Any) -> Any:
    scale = torch.tensor(WEIGHT).exp() * 2
    left = (x * scale).tanh()
    x.sum()
    return left * ((x * scale).tanh() + 1)


WEIGHT = numbers(3, 3, seed=9)
FUNCTIONS: dict[str, Callable[[ModuleType, Any], Any]] = {
    "arithmetic": lambda torch, x: (x + 1) * x - x / 2,
    "weights": lambda torch, x: (x @ torch.tensor(WEIGHT)).tanh(),
    "same twice": lambda torch, x: (x * 2).exp() + (x * 2).exp(),
    "nine steps": nine_steps,
    "constants": lambda torch, x: x * (torch.tensor(WEIGHT).exp().sum() * 2),
    "not used": lambda torch, x: (x.exp(), x.sin())[1],
    "views": lambda torch, x: x.t()[1:, ::2].reshape(-1).unsqueeze(0),
    "indices": lambda torch, x: x[[0, 1, 1]] + x[x.argmax(1) * 0],
    "joined": lambda torch, x: torch.cat([x, x * 2, x], 1) + torch.stack([x.sum(0), x.mean(0)]).sum(),
    "several results": lambda torch, x: (x * 2, [x, x.sum()], 3),
    "the input": lambda torch, x: x,
    "nothing of the input": lambda torch, x: torch.tensor(WEIGHT) * 2,
    "backward": slope,
    "types": lambda torch, x: (x.double() * 1, (x > 1).float() * True, x * 1.0, x * 1),
}


def flat(result: Any) -> list[Any]:
    """The numbers of all tensors in a result, and how large each number is in memory."""
    if isinstance(result, (list, tuple)):
        return [number for each in result for number in flat(each)]
    return [result.dtype.itemsize, result.tolist()] if hasattr(result, "tolist") else [result]


@part(recorder + "note", graph + "run", recorder + "symbol", recorder + "know", graph + "key", graph + "trace")
@part(graph + "fold_constants", graph + "share_equal", graph + "drop_unused", graph + "rebuilt", graph + "replace")
@pytest.mark.parametrize("simplified", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_trace_plays_the_function_on_other_numbers(mytorch: ModuleType, name: str, simplified: bool) -> None:
    traced = mytorch.graph.trace(lambda x: FUNCTIONS[name](mytorch, x), mytorch.tensor(numbers(3, 3)))
    traced = mytorch.graph.simplify(traced) if simplified else traced
    other = numbers(3, 3, seed=1)

    def call(torch: Any) -> list[Any]:
        x = torch.tensor(other)
        return flat(mytorch.graph.run(traced, x) if torch is mytorch else FUNCTIONS[name](torch, x))

    agree(call, mytorch)


def operations(traced: Any) -> list[str]:
    return [step.op.name for step in traced.steps]


def program(mytorch: ModuleType) -> Any:
    return mytorch.graph.trace(lambda x: nine_steps(mytorch, x), mytorch.tensor(numbers(3, 3)))


@part(recorder + "note", graph + "fold_constants", graph + "share_equal", graph + "drop_unused", graph + "signature")
def test_nine_steps_become_four(mytorch: ModuleType) -> None:
    steps = program(mytorch)
    assert operations(steps) == ["exp", "mul", "mul", "tanh", "sum", "mul", "tanh", "add", "mul"]
    folded = mytorch.graph.fold_constants(steps)
    assert operations(folded) == ["mul", "tanh", "sum", "mul", "tanh", "add", "mul"]
    shared = mytorch.graph.share_equal(folded)
    assert operations(shared) == ["mul", "tanh", "sum", "add", "mul"]
    assert operations(mytorch.graph.drop_unused(shared)) == ["mul", "tanh", "add", "mul"]
    assert operations(mytorch.graph.drop_unused(steps)) == ["exp", "mul", "mul", "tanh", "mul", "tanh", "add", "mul"]
    assert len(steps.steps) == 9


@pytest.mark.needs("torch")
@part(recorder + "note", recorder + "symbol", graph + "trace", graph + "share_equal", graph + "drop_unused")
@pytest.mark.parametrize("name", ["arithmetic", "same twice", "nine steps", "constants", "not used", "the input"])
def test_the_steps_are_those_of_fx(mytorch: ModuleType, name: str) -> None:
    """`make_fx` records below autograd, too; passes of torch.fx share and drop steps."""
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.passes.dialect.common.cse_pass import CSEPass, get_CSE_banned_ops

    def steps(fx: Any) -> list[str]:
        names = [node.target.__name__.partition(".")[0] for node in fx.graph.nodes if node.op == "call_function"]
        return [each for each in names if each not in ("lift_fresh_copy", "_to_copy")]  # a call of torch.tensor

    mine = mytorch.graph.trace(lambda x: FUNCTIONS[name](mytorch, x), mytorch.tensor(numbers(3, 3)))
    fx = make_fx(lambda x: FUNCTIONS[name](pytorch, x))(pytorch.tensor(numbers(3, 3)))
    assert operations(mine) == steps(fx)
    mine, shared = mytorch.graph.share_equal(mine), CSEPass(banned_ops=get_CSE_banned_ops())(fx).graph_module
    assert operations(mine) == steps(shared)
    shared.graph.eliminate_dead_code()
    assert operations(mytorch.graph.drop_unused(mine)) == steps(shared)


@pytest.mark.needs("torch")
@pytest.mark.filterwarnings("ignore")  # PyTorch warns of what is lost
@part(graph + "trace", graph + "run")
def test_what_python_did_is_lost_as_in_pytorchs_trace(mytorch: ModuleType) -> None:
    def function(torch: Any, x: Any) -> Any:
        for _ in range(x.shape[0]):
            x = x.exp() if x.sum() < 100 else x * 2
        return x + x.sum().item()

    mine = mytorch.graph.trace(lambda x: function(mytorch, x), mytorch.tensor(numbers(3)))
    expected = pytorch.jit.trace(lambda x: function(pytorch, x), pytorch.tensor(numbers(3)), check_trace=False)
    for other in (numbers(3, seed=1), -numbers(5), 300 * numbers(2)):
        found = mytorch.graph.run(mine, mytorch.tensor(other))
        close([found], [expected(pytorch.tensor(other))])


@part(graph + "share_equal", graph + "signature")
def test_steps_that_look_alike_are_not_shared(mytorch: ModuleType) -> None:
    one, other = mytorch.tensor([1.0]), mytorch.tensor([1.0])
    traced = mytorch.graph.trace(
        lambda x: [x * 1, x * 1.0, x * True, x * one, x * other, x.sum(0), x.sum(1), x[0], x[1:], x[:1]],
        mytorch.ones(2, 2),
    )
    assert len(mytorch.graph.share_equal(traced).steps) == len(traced.steps)
    twice = mytorch.graph.trace(lambda x: [x * one, x * one, x[1:], x[1:]], mytorch.ones(2))
    assert operations(mytorch.graph.share_equal(twice)) == ["mul", "slice"]


@part(recorder + "note", recorder + "__call__")
def test_a_write_is_refused_and_the_recorder_leaves_the_stack(mytorch: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="a trace can't follow a write: copy_"):
        mytorch.graph.trace(lambda x: x.mul_(2), mytorch.ones(2))
    assert mytorch.dispatch.LAYERS["trace"] is None
    x = mytorch.ones(2)
    x.mul_(2)
    assert x.tolist() == [2.0, 2.0]


@part(graph + "run")
def test_a_run_takes_as_many_inputs_as_the_trace_and_records_nothing(mytorch: ModuleType) -> None:
    traced = mytorch.graph.trace(lambda x, y: x * y, mytorch.ones(1), mytorch.ones(1))
    result = mytorch.graph.run(traced, mytorch.ones(1, requires_grad=True), mytorch.ones(1))
    assert not result.requires_grad
    with pytest.raises(ValueError, match="zip"):
        mytorch.graph.run(traced, mytorch.ones(1))


def test_a_graph_is_printed_step_by_step(mytorch: ModuleType) -> None:
    traced = mytorch.graph.trace(lambda x: (x * 2 + mytorch.ones(2)).sum(), mytorch.ones(2))
    lines = ["inputs (%0)", "%1 = mul(%0, 2)", "%2 = add(%1, constant(2,))", "%3 = sum(%2, None, False)", "return %3"]
    assert repr(traced).splitlines() == lines


def drive(x: Any) -> Any:
    if x.sum() > 100:
        return x * 0.5
    return x + 1


def brake(x: Any) -> Any:
    return x * 0.5 if x.sum() > 100 else x


def add_up(x: Any) -> Any:
    total = x[0]
    for place in range(1, len(x)):
        total = total + x[place]
    return total


def full(*size: int, value: float = 1.0, dtype: str = "float32") -> Callable[[ModuleType], Any]:
    return lambda torch: torch.full(size, value, dtype=getattr(torch, dtype))


CALLS: dict[str, Any] = {
    # a function, and what it is called with, one after the other
    "sizes": (lambda x: x * 2, full(2), full(2, value=7.0), full(3), full(4), full(4, dtype="float64"), full(5)),
    "strides": (lambda x: x * 2, full(2, 3), lambda torch: torch.ones(3, 2).t()),
    "a loop": (add_up, full(2), full(3), full(4), full(2)),
    "a product": (lambda x: x @ x.t(), full(2, 3), full(4, 3), full(5, 3)),
    "other branch": (drive, *[full(1, value=value) for value in (130.0, 50.0, 120.0, 60.0)]),
    "branches and sizes": (
        drive, *[full(n, value=value) for n, value in ((1, 130.0), (1, 5.0), (2, 130.0), (2, 5.0), (3, 1.0), (3, 9.0))],
    ),
    "nothing in the other": (brake, *[full(1, value=value) for value in (130.0, 50.0)], full(2, value=90.0), full(3)),
    "a list": (lambda x: x + (x * 2).tolist()[0], full(2), full(2)),
}  # fmt: skip


@pytest.mark.needs("torch")
@part(
    recorder + "read",
    graph + "heard",
    graph + "Compiled.__call__",
    graph + "Compiled.compile",
    graph + "Compiled.__init__",
)
@pytest.mark.parametrize("name", CALLS)
def test_there_are_as_many_graphs_as_pytorch_compiles(mytorch: ModuleType, name: str) -> None:
    """After each call, with results that are the function's."""
    from torch._dynamo import reset
    from torch._dynamo.testing import CompileCounter

    function, *inputs = CALLS[name]
    reset()
    counter = CompileCounter()
    theirs = pytorch.compile(function, backend=counter)
    mine = mytorch.graph.Compiled(function)
    for make in inputs:
        close([mine(make(mytorch))], [theirs(make(pytorch))])
        assert len(mine.graphs) == counter.frame_count
    close([mine(make(mytorch)) for make in inputs], [function(make(pytorch)) for make in inputs])


@part(recorder + "read", graph + "heard", recorder + "__call__", graph + "Guard")
def test_a_guard_says_what_python_read_and_when(mytorch: ModuleType) -> None:
    outside = mytorch.ones(5)

    def function(x: Any) -> Any:
        y = x * 2 * len(outside) + outside.item_count  # neither is of the input
        assert y.ndim == 2
        first = y.shape[0]
        return y.tolist() if y.sum() > first else y[0, 0].exp().item()

    outside.item_count = 1.0 if outside.sum() > 4 else 0.0
    x = mytorch.ones(2, 3)
    guards = mytorch.graph.trace(function, x).guards
    assert [each[2:] for each in guards[:2]] == [("shape", (2, 3)), ("__bool__", True)]
    assert [each.at for each in guards[:2]] == [3, 5]
    assert guards[-1][2:] == ("tolist", [[11.0] * 3] * 2) and len(guards) == 3
    lines = repr(mytorch.graph.trace(len, x)).splitlines()
    assert set(lines) == {"inputs (%0)", "guard %0.shape == torch.Size([2, 3])", "return 2"}


@part(graph + "heard")
def test_tensors_are_as_before_after_an_error_and_inside_another_trace(mytorch: ModuleType) -> None:
    before = {name: vars(mytorch.Tensor).get(name) for name in ("item", "tolist", "__bool__", "ndim", "shape")}
    with pytest.raises(ZeroDivisionError):
        mytorch.graph.trace(lambda x: x * (1 // 0), mytorch.ones(1))
    inner = mytorch.graph.Compiled(lambda x: x * 2)
    traced = mytorch.graph.trace(lambda x: inner(x).sum() + len(x), mytorch.ones(3))
    assert traced.guards[-1].read == "shape"
    assert {name: vars(mytorch.Tensor).get(name) for name in before} == before


@part(recorder + "__call__", graph + "Compiled.compile")
def test_a_shape_that_autograd_kept_is_a_guard(mytorch: ModuleType) -> None:
    def function(x: Any) -> Any:
        with mytorch.enable_grad():
            leaf = x.detach().requires_grad_()
            return mytorch.autograd.grad((leaf * leaf).mean().exp(), [leaf])[0]

    compiled = mytorch.graph.Compiled(function)
    for length in (2, 3, 4):
        x = mytorch.tensor(numbers(length))
        close([compiled(x), compiled(x)], [function(x)] * 2)


@part(graph + "Compiled.__call__", graph + "Compiled.compile")
def test_python_runs_once_for_each_set_of_guards_and_records_nothing(mytorch: ModuleType) -> None:
    ran = []

    def function(x: Any) -> Any:
        ran.append(len(x))
        return x / len(x) if x.sum() > 0 else (x, [-x])

    compiled = mytorch.graph.Compiled(function)
    for values in ([1.0, 2.0], [3.0, 4.0], [-1.0, -2.0], [-3.0, -4.0], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]):
        x = mytorch.tensor(values, requires_grad=True)
        close(flat(compiled(x)), flat(function(x.detach())))
        del ran[-1]
    assert ran == [2, 2, 3] and not compiled(mytorch.ones(2, requires_grad=True)).requires_grad
