"""As many graphs as PyTorch captures, with as many operations, and the results of eager mode."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import minitorch
from minitorch._dynamo.stack import VERSION
from tests.dynamo.cases import CASES, Case
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
