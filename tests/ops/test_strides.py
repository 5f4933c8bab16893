"""How results lie in memory, given inputs that lie there in odd ways, is as in torch: for every op of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

import minitorch
from tests.ops.case import Case, Make, Sample, mapped
from tests.ops.compare import call, describe, resolve
from tests.ops.test_op_table import cases, report

torch = pytest.importorskip("torch", reason="torch is the oracle of the op table: pip install torch==2.13.0")

KINDS = ("rotated", "channels last", "expanded", "first transposed", "one row", "one channel")
DIFFERENT = {
    "nn.functional.ctc_loss": "of one class alone, PyTorch reads others beyond it",
    "max_pool3d": "PyTorch refuses inputs without a batch whose channels are last",
    "fft.ihfftn": "the stride of a dimension of size 1, of a half that is copied before its other dimensions",
    "fft.ihfft2": "the same",
    "linalg.cond": "PyTorch lets LAPACK's failure on singular matrices pass",
}


def relaid(lib: Any, tensor: Any, kind: str) -> Any:
    """The same elements in another order in memory; expanded, the first ones again and again; or some of them."""
    shape, ndim = tuple(tensor.shape), tensor.dim()
    if kind == "one row":
        return relaid(lib, tensor, "rotated")[:1] if ndim else tensor
    if kind == "one channel":
        return relaid(lib, tensor[:, :1], "channels last") if ndim > 1 else tensor
    if kind == "expanded":
        return tensor[:1].clone().expand(shape) if ndim and shape[0] else tensor
    order = list(range(ndim))
    if kind == "channels last":
        order = [0, *range(2, ndim), 1] if ndim in (4, 5) else order
    else:
        order = order[1:] + order[:1] if kind == "rotated" else order[::-1]
    stride, step = [0] * ndim, 1
    for dim in reversed(order):
        stride[dim] = step
        step *= max(shape[dim], 1)
    return lib.empty_strided(shape, stride, dtype=tensor.dtype).copy_(tensor)


def changed(make: Make, sample: Sample, kind: str) -> Sample:
    """The sample with its tensors, or the first one, in that order."""
    seen: list[Any] = []

    def change(tensor: Any) -> Any:
        seen.append(tensor)
        return tensor if kind == "first transposed" and len(seen) > 1 else relaid(make.lib, tensor, kind)

    def is_tensor(value: Any) -> bool:
        return isinstance(value, make.lib.Tensor)

    return Sample(mapped(sample.args, is_tensor, change), mapped(sample.kwargs, is_tensor, change))


def steps(tensors: Sequence[Any]) -> list[list[int]]:
    """The strides of each tensor that has elements."""
    return [list(each.stride()) if each.numel() else [] for each in tensors]


def differences(case: Case) -> Iterator[str]:
    dtype = next(dtype for dtype in ("float32", "int64", *case.dtypes) if dtype in case.dtypes)
    for kind in KINDS:
        theirs, ours = case.make(torch, dtype), case.make(minitorch, dtype)
        for number, (one, other) in enumerate(zip(case.samples(theirs), case.samples(ours), strict=True)):
            expected = call(resolve(torch, case.name), theirs, changed(theirs, one, kind))
            found = call(resolve(minitorch, case.name), ours, changed(ours, other, kind))
            if expected.error is not None or found.error is not None:
                if expected.error is None or found.error is None:
                    yield f"sample {number}, {kind}: {describe(found.error)}; torch: {describe(expected.error)}"
            elif steps(found.outputs) != steps(expected.outputs):
                yield f"sample {number}, {kind}: {steps(found.outputs)}; torch: {steps(expected.outputs)}"


@pytest.mark.turns(2)
@cases(lambda case: case.layouts and case.strides and not case.in_place)
def test_strides(case: Case) -> None:
    found = list(differences(case))
    if case.name in DIFFERENT:
        assert found, "no longer different"
    else:
        report(found)
