"""minitorch.fx beside torch.fx: the same code, nodes and results for each program of programs.py."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import pytest

import minitorch
from tests.fx.programs import PROGRAMS, Program, sequential
from tests.same import attempt, compare

torch = pytest.importorskip("torch", reason="the expected code is torch's")


def traced(t: Any, program: Program) -> tuple[Any, tuple[Any, ...]]:
    root, inputs = program(t)
    return t.fx.symbolic_trace(root), inputs


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_code_and_nodes_are_those_of_torch(program: Program) -> None:
    ours, _ = traced(minitorch, program)
    theirs, _ = traced(torch, program)
    assert ours.code == theirs.code
    listed = [[(n.op, n.name, str(n.users)) for n in each.graph.nodes] for each in (ours, theirs)]
    assert listed[0] == listed[1]
    assert str(ours.graph).replace("minitorch", "torch") == str(theirs.graph)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_the_generated_code_computes_what_the_program_does(program: Program) -> None:
    ours, inputs = traced(minitorch, program)
    root, given = program(torch)
    theirs = torch.fx.symbolic_trace(root)
    compare(ours(*inputs), theirs(*given), 1e-5)
    compare(minitorch.fx.Interpreter(ours).run(*program(minitorch)[1]), theirs(*program(torch)[1]), 1e-5)
    compare(minitorch.fx.Transformer(ours).transform()(*program(minitorch)[1]), theirs(*program(torch)[1]), 1e-5)


def test_print_tabular_prints_the_table_that_torch_prints_with_tabulate() -> None:
    graph = minitorch.fx.symbolic_trace(sequential(minitorch)[0]).graph
    with contextlib.redirect_stdout(io.StringIO()) as text:
        graph.print_tabular()
    assert text.getvalue() == TABLE


TABLE = """\
opcode       name     target    args        kwargs
-----------  -------  --------  ----------  --------
placeholder  input_1  input     ()          {}
call_module  _0       0         (input_1,)  {}
call_module  _1       1         (_0,)       {}
call_module  _2_0     2.0       (_1,)       {}
call_module  _2_1     2.1       (_2_0,)     {}
output       output   output    (_2_1,)     {}
"""
"""What torch 2.13 prints of the program `sequential`, with tabulate 0.10."""


REFUSED: list[Callable[[Any], Any]] = [
    lambda x: x if x.sum() > 0 else -x,
    lambda x: list(x),
    lambda x: len(x),
    lambda x: x * object(),
    lambda x: {x: 1},
    lambda x: (lambda *a: a[0])(*x),
    lambda x: dict(**x),
    lambda x: range(x),
]


@pytest.mark.parametrize("function", REFUSED, ids=range(len(REFUSED)))
def test_what_needs_a_value_is_refused_in_the_words_of_torch(function: Callable[[Any], Any]) -> None:
    ours, theirs = (attempt(t.fx.symbolic_trace, function) for t in (minitorch, torch))
    assert ours == theirs


def edited(t: Any) -> list[str]:
    """What becomes of a graph that a pass edits, as text."""
    module = t.fx.symbolic_trace(lambda x: t.relu(x) + t.relu(x + 1).sum())
    graph = module.graph
    texts = []
    for node in graph.find_nodes(op="call_function", target=t.relu):
        with graph.inserting_after(node):
            new = graph.call_function(t.tanh, node.args)
            node.replace_all_uses_with(new)
        graph.erase_node(node)
    with graph.inserting_before(graph.output_node()):
        unused = graph.call_method("exp", (new,))
    texts += [str(graph), str(unused.prev), str(unused.next), str(new.all_input_nodes)]
    texts.append(str(graph.eliminate_dead_code()))
    module.recompile()
    texts.append(module.code)
    first = next(iter(graph.nodes))
    texts.append(attempt(graph.erase_node, first)[1])
    first.append(graph.output_node())
    texts.append(attempt(graph.lint)[1].partition("\n")[0])
    return texts


def test_passes_edit_graphs_as_in_torch() -> None:
    ours, theirs = edited(minitorch), edited(torch)
    assert [each.replace("minitorch", "torch") for each in ours] == theirs


def helper(x: Any) -> Any:
    return x * 2 + 1


minitorch.fx.wrap("helper")
minitorch.fx.wrap("str")


def test_wrap_keeps_calls_of_a_function() -> None:
    module = minitorch.fx.symbolic_trace(lambda x: (helper(x), str(x)))
    assert [each.target for each in module.graph.nodes][1:3] == [helper, str]
    assert repr(module(minitorch.ones(1))) == "(tensor([3.]), 'tensor([1.])')"
    with pytest.raises(NotImplementedError, match="wrap must be called at the top level of a module"):
        minitorch.fx.wrap("helper")


def test_an_interpreter_sees_every_node() -> None:
    class Names(minitorch.fx.Interpreter):
        def run_node(self, n: Any) -> Any:
            seen.append(n.name)
            return super().run_node(n)

    seen: list[str] = []
    Names(minitorch.fx.symbolic_trace(sequential(minitorch)[0])).run(minitorch.ones(2, 4))
    assert seen == ["input_1", "_0", "_1", "_2_0", "_2_1", "output"]
