"""compile's arguments, wrappers, logs and errors, beside torch's."""

from __future__ import annotations

import copy
import pickle
import sys
from typing import Any

import pytest

import minitorch
import minitorch as torch
from minitorch._dynamo.exc import FailOnRecompileLimitHit, Unsupported
from minitorch._dynamo.stack import VERSION
from minitorch._dynamo.testing import CompileCounter
from tests.same import attempt

pytestmark = pytest.mark.skipif(sys.version_info[:2] != VERSION, reason="capture reads the bytecode of Python 3.11")


def branching(x: Any) -> Any:
    return x + 1 if x.sum() > 0 else x - 1


def test_fullgraph_raises_with_the_reason_and_the_place() -> None:
    with pytest.raises(Unsupported, match=r"Data-dependent branching(.|\n)*test_surface.py.*in branching"):
        torch.compile(branching, fullgraph=True)(torch.ones(2))
    assert torch.compile(branching)(torch.ones(2)).tolist() == [2.0, 2.0]


def test_explain_gives_graphs_guards_and_reasons() -> None:
    whole = torch._dynamo.explain(lambda x: (x.sin() + 1).relu())(torch.ones(2))
    assert (whole.graph_count, whole.graph_break_count, whole.op_count) == (1, 0, 1)
    assert "L['x']._array.shape == (2,)" in whole.out_guards
    broken = torch._dynamo.explain(branching)(torch.ones(2))
    assert (broken.graph_count, broken.graph_break_count) == (2, 1)
    assert broken.break_reasons[0].reason == "generic_jump TensorVariable()"
    assert "in branching" in str(broken)


def test_a_backend_gets_a_graph_module_and_the_inputs() -> None:
    seen: list[Any] = []

    def backend(gm: Any, inputs: list[Any]) -> Any:
        seen.append((gm, inputs))
        return lambda *args: [each * 10 for each in gm.forward(*args)]

    x = torch.ones(2)
    assert torch.compile(lambda x: x + 1, backend=backend)(x).tolist() == [20.0, 20.0]
    ((gm, inputs),) = seen
    assert isinstance(gm, torch.fx.GraphModule)
    assert inputs == [x]


ARGUMENTS: list[Any] = [
    lambda t: t.compile(len, mode="default", options={}),
    lambda t: t.compile(len, mode="fastest"),
    lambda t: t.compile(lambda x: x, disable=True)(3),
    lambda t: t.compile()(lambda x: x + 1)(2),
    lambda t: type(t.compile(t.nn.ReLU())).__name__,
    lambda t: list(t.compile(t.nn.Linear(2, 3)).state_dict()),
    lambda t: [name for name, _ in t.compile(t.nn.Sequential(t.nn.Linear(2, 3))).named_parameters()],
    lambda t: t.compile(t.nn.Linear(2, 3)).in_features,
    lambda t: t.compile(t.nn.Linear(2, 3)).eval()._orig_mod.training,
    lambda t: t.compiler.is_compiling(),
]


@pytest.mark.turns(4)
@pytest.mark.needs("torch")
@pytest.mark.parametrize("number", range(len(ARGUMENTS)))
def test_arguments_and_wrappers_are_those_of_torch(number: int) -> None:
    import torch as pytorch

    ours, theirs = (attempt(ARGUMENTS[number], t) for t in (minitorch, pytorch))
    assert ours == theirs if not isinstance(theirs, tuple) else ours[0] == theirs[0]


def test_a_module_compiled_in_place_keeps_its_keys_and_a_copy_is_not_compiled() -> None:
    counter = CompileCounter()
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    x = torch.ones(4, 2)
    expected = model(x)
    model.compile(backend=counter)
    assert torch.equal(model(x), expected)
    assert counter.frame_count == 1
    assert list(model.state_dict()) == ["0.weight", "0.bias"]
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(twin(x), expected)
        assert twin._compiled_call_impl is None
    assert counter.frame_count == 1
    model.register_forward_hook(lambda module, args, result: result + 1)
    assert torch.equal(model(x), expected + 1)


def test_after_the_limit_calls_run_eagerly_and_the_log_says_why(caplog: Any) -> None:
    counter = CompileCounter()

    def scaled(x: Any, text: str) -> Any:
        return x + len(text)

    compiled = torch.compile(scaled, backend=counter)
    for i in range(10):
        assert compiled(torch.ones(1), "a" * i).tolist() == [1.0 + i]
    assert counter.frame_count == 8
    assert "hit config.recompile_limit (8)\n   function: 'scaled'" in caplog.text
    whole = torch.compile(scaled, backend=counter, fullgraph=True)
    with pytest.raises(FailOnRecompileLimitHit):
        for i in range(10):
            whole(torch.ones(1), "a" * i)


def test_reset_forgets_graphs() -> None:
    counter = CompileCounter()
    compiled = torch.compile(lambda x: x + 1, backend=counter)
    compiled(torch.ones(2))
    torch._dynamo.reset()
    compiled(torch.ones(2))
    assert counter.frame_count == 2


def test_sizes_are_symbols_where_asked_for() -> None:
    counts = []
    for dynamic in (True, False, None):
        counter = CompileCounter()
        compiled = torch.compile(lambda x: x * 2, backend=counter, dynamic=dynamic)
        for n in (2, 3, 4):
            compiled(torch.ones(n))
        counts.append(counter.frame_count)
    assert counts == [1, 3, 2]
    counter = CompileCounter()
    compiled = torch.compile(lambda x: x * 2, backend=counter)
    for n in (2, 3):
        x = torch.ones(n, 2)
        torch._dynamo.mark_dynamic(x, 0)
        compiled(x)
    assert counter.frame_count == 1


def test_disabled_functions_and_graph_break_end_the_graph() -> None:
    @torch._dynamo.disable
    def helper(x: Any) -> Any:
        return x + 1

    assert torch._dynamo.explain(lambda x: helper(x))(torch.ones(1)).graph_count == 0

    def broken(x: Any) -> Any:
        torch._dynamo.graph_break()
        return x + 1

    broken_once = torch._dynamo.explain(broken)(torch.ones(1))
    assert broken_once.graph_count == 1
    assert broken_once.break_reasons[0].reason.startswith("Call to `torch._dynamo.graph_break()`")
    assert torch.compile(lambda x: x + torch.compiler.is_compiling())(torch.zeros(1)).item() == 1


LOGS = {
    "graph_breaks": "[__graph_breaks] Graph Break Reason: Data-dependent branching",
    "guards": "[__guards] | +- TENSOR_MATCH: L['x']._array.shape == (2,)",
    "recompiles": "- 0/0: tensor 'x' size mismatch at index 0. expected 2, actual 3",
    "graph_code": "[__graph_code]         add = l_x_ + 1",
}


@pytest.mark.parametrize("artifact", LOGS)
def test_torch_logs_says_what_it_is_asked_for(artifact: str, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("TORCH_LOGS", f"+dynamo,{artifact}")
    compiled = torch.compile(lambda x: x + 1)
    compiled(torch.ones(2))
    compiled(torch.ones(3))
    torch.compile(branching)(torch.ones(2))
    said = capsys.readouterr().err
    assert LOGS[artifact] in said
    assert {line.partition("]")[0] for line in said.splitlines()} == {f"[__{artifact}"}


def test_autocast_and_layers_run_eagerly() -> None:
    counter = CompileCounter()
    compiled = torch.compile(lambda x: x @ x, backend=counter)
    with torch.autocast("cpu"):
        assert compiled(torch.ones(2, 2)).dtype is torch.bfloat16
    with torch.profiler.profile() as profile:
        compiled(torch.ones(2, 2))
    assert "aten::mm" in str(profile.key_averages()) or "matmul" in str(profile.key_averages())
    assert counter.frame_count == 0


def test_a_module_compiled_in_place_takes_the_arguments_of_compile() -> None:
    model = minitorch.nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast"):
        model.compile(mode="fast")
    with pytest.raises(TypeError, match="unexpected keyword argument 'bakend'"):
        model.compile(bakend="eager")
    model.compile(disable=True)
    assert model._compiled_call_impl is None


def test_a_module_whose_forward_calls_it_otherwise_than_self() -> None:
    class Scaled(torch.nn.Module):
        def __init__(this) -> None:  # noqa: N805
            super().__init__()
            this.scale = 3.0

        def forward(this, x):  # type: ignore[no-untyped-def]  # noqa: N805
            return x * this.scale

    assert torch.compile(Scaled(), fullgraph=True)(torch.ones(2)).tolist() == [3.0, 3.0]
