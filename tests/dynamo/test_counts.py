"""As many graphs as PyTorch captures, with as many operations, and the results of eager mode."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import minitorch
from minitorch._dynamo.stack import VERSION
from tests.dynamo.cases import CASES, Case
from tests.dynamo.split_cases import NUMBER_CASES, SPLIT_CASES
from tests.same import compare

torch = pytest.importorskip("torch", reason="the expected counts are torch's")

pytestmark = pytest.mark.skipif(sys.version_info[:2] != VERSION, reason="capture reads the bytecode of Python 3.11")


def counted(t: Any, case: Case) -> tuple[list[tuple[int, int]], list[Any]]:
    """The graphs and operations so far after each call, and the results of the calls."""
    t._dynamo.reset()
    function, calls = case(t)
    counter = t._dynamo.testing.CompileCounter()
    compiled = t.compile(function, backend=counter)
    counts, results = [], []
    for args in calls:
        results.append(compiled(*args))
        counts.append((counter.frame_count, counter.op_count))
    return counts, results


@pytest.mark.parametrize("case", CASES, ids=lambda each: each.__name__)
def test_there_are_as_many_graphs_and_operations_as_in_torch(case: Case) -> None:
    import torch._dynamo.testing

    ours, results = counted(minitorch, case)
    theirs, expected = counted(torch, case)
    assert ours == theirs
    compare(results, expected, 1e-6)


def split(t: Any, case: Case, capsys: Any) -> tuple[Any, ...]:
    """The graphs and operations after each call, the graph breaks, what was printed; and the results."""
    t._dynamo.utils.counters.clear()
    counts, results = counted(t, case)
    found = t._dynamo.utils.counters
    return counts, sum(found["graph_break"].values()), dict(found["stats"]), capsys.readouterr().out, results


@pytest.mark.turns(8)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SPLIT_CASES)
def test_functions_are_split_where_torch_splits_them(name: str, capsys: Any) -> None:
    import torch._dynamo.testing
    import torch._dynamo.utils

    *ours, results = split(minitorch, SPLIT_CASES[name], capsys)
    *theirs, expected = split(torch, SPLIT_CASES[name], capsys)
    assert ours == theirs
    compare(results, expected, 1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NUMBER_CASES)
def test_numbers_read_of_tensors_become_symbols_as_in_torch(name: str) -> None:
    import torch._dynamo.testing

    ours, results = counted(minitorch, NUMBER_CASES[name])
    theirs, expected = counted(torch, NUMBER_CASES[name])
    assert [graphs for graphs, _ in ours] == [graphs for graphs, _ in theirs]
    compare(results, expected, 1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", ["print twice", "branch", "item", "a helper that breaks", "in try", "module_with_print"]
)
def test_explain_counts_as_torch_does(name: str) -> None:
    found = []
    for t in (minitorch, torch):
        function, (args, *_) = SPLIT_CASES[name](t)
        explained = t._dynamo.explain(function)(*args)
        found.append((explained.graph_count, explained.graph_break_count, explained.op_count))
    assert found[0] == found[1]
