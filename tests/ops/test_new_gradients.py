"""Gradients that formulas make are new: no input, saved tensor or other gradient shares their memory.

The engine counts on it (`autograd/ownership.py`): it overwrites such gradients, and lets leaves keep them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch.autograd.node import OpNode
from minitorch.autograd.saved import SavedTensor, SavedTensors
from tests.ops.case import Case
from tests.ops.compare import call, resolve
from tests.ops.test_op_table import cases, report


def saved_by(node: OpNode) -> list[Any]:
    """The arrays of the tensors that a node has saved."""
    lists = [each if isinstance(each, SavedTensors) else [each] for each in node._saved]
    kept = [each.tensor for some in lists for each in some if isinstance(each, SavedTensor)]
    return [each._array for each in kept if isinstance(each, minitorch.Tensor)]


def shared(case: Case, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where a formula gave a gradient as new whose memory somebody else sees."""
    found: list[str] = []
    visible: list[Any] = []
    apply = OpNode.apply

    def watched(node: OpNode, grads: Any) -> Any:
        seen = visible + saved_by(node)
        results = apply(node, grads)
        for result in results:
            if any(result is each for each in grads[1:] if each is not None and each is not grads[0]):
                found.append(f"{node.name()} passed on another gradient than the first")
            if result is None or result is grads[0] or not result._holders:
                continue
            others = [each._array for each in results if each is not None and each is not result]
            if result._storage is None:  # no view: then it isn't one of the gradient that arrived either
                others += [each._array for each in grads if each is not None]
            if any(np.shares_memory(result._array, each) for each in seen + others):
                found.append(f"{node.name()} made a gradient of shape {list(result.shape)}")
        return results

    monkeypatch.setattr(OpNode, "apply", watched)
    make = case.make(minitorch, next(each for each in ("float32", *case.dtypes) if each in case.dtypes))
    for sample in case.samples(make):
        outcome = call(resolve(minitorch, case.name), make, sample, grad=True, writes=case.in_place)
        outputs = [each for each in outcome.outputs if each.requires_grad]
        visible[:] = [each._array for each in (*outcome.inputs, *outputs)]
        try:
            minitorch.autograd.backward(outputs, [minitorch.ones_like(each) for each in outputs])
        except (RuntimeError, NotImplementedError):
            continue  # no such derivative
    yield from found


@pytest.mark.turns(2)
@cases()
def test_new_gradients_have_memory_of_their_own(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    report(shared(case, monkeypatch))
