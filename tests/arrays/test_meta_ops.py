"""Every op on the meta device: the shapes, types and strides of torch's results and gradients, without elements."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import minitorch
from tests.ops.case import CASES, Case, Make, Sample, mapped
from tests.ops.compare import Outcome, call, describe, resolve

for path in sorted((Path(__file__).parents[1] / "ops").glob("cases_*.py")):
    importlib.import_module(f"tests.ops.{path.stem}")

DTYPES = ("float32", "int64", "bool")

OTHERWISE = {
    "Tensor.apply_": "calls a function for nothing in torch",
    "Tensor.layout": "is no tensor",
    "Tensor.map2_": "calls a function for nothing in torch",
    "Tensor.map_": "calls a function for nothing in torch",
}
"""What isn't compared."""

DATA_DECIDES = (
    "Tensor.__getitem__", "argwhere", "bincount", "masked_select", "nn.functional.one_hot", "nonzero", "unique",
    "unique_consecutive",
)  # fmt: skip
"""Functions whose result's shape depends on elements, at least for some arguments."""


def moved(lib: Any, sample: Sample, make: Make) -> Sample:
    """The sample with tensors of the same shapes, types and strides on the meta device."""

    def is_tensor(value: Any) -> bool:
        return isinstance(value, lib.Tensor)

    def there(tensor: Any) -> Any:
        copy = lib.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
        if make.is_constant(tensor):
            make._constants.append(copy)
        return copy

    return Sample(tuple(mapped(list(sample.args), is_tensor, there)), mapped(sample.kwargs, is_tensor, there))


def shown(tensor: Any) -> tuple[Any, ...]:
    return tuple(tensor.shape), str(tensor.dtype), str(tensor.device)


def unlike_torch(torch: Any, case: Case, dtype: str) -> Iterator[str]:
    libs = (torch, minitorch)
    functions = [resolve(lib, case.name) for lib in libs]
    makes = [case.make(lib, dtype) for lib in libs]
    for number, pair in enumerate(zip(*(case.samples(make) for make in makes), strict=True)):
        cpu, theirs, ours_on_cpu, ours = (
            call(function, make, each, grad=True, writes=case.in_place)
            for lib, function, make, sample in zip(libs, functions, makes, pair, strict=True)
            for each in (sample, moved(lib, sample, make))
        )
        if cpu.error is not None or theirs.error is not None:
            continue  # torch's meta device takes types that no kernel takes; for other ops it has no rule
        label = f"{dtype}, sample {number}"
        if ours.error is not None:
            yield f"{label}: {describe(ours.error)}"
            continue
        for one, other, same in zip(theirs.outputs, ours.outputs, ours_on_cpu.outputs, strict=True):
            if shown(one) != shown(other):
                yield f"{label}: torch's result is {shown(one)}, ours {shown(other)}"
            elif other.stride() not in (one.stride(), same.stride()):
                yield f"{label}: torch's result has strides {one.stride()}, ours {other.stride()}"
            elif one.requires_grad != other.requires_grad:
                yield f"{label}: requires_grad is {other.requires_grad}"
        yield from (f"{label}: {each}" for each in gradient_differences(torch, cpu, theirs, ours))


def gradient_differences(torch: Any, cpu: Outcome, theirs: Outcome, ours: Outcome) -> Iterator[str]:
    pairs = [each for each in zip(theirs.outputs, ours.outputs, strict=True) if each[0].requires_grad]
    try:
        for one in (*(each for each in cpu.outputs if each.requires_grad), *(each for each, _ in pairs)):
            one.backward(torch.ones_like(one), retain_graph=True)
    except (NotImplementedError, RuntimeError, ZeroDivisionError):
        return  # torch has no rule, or no derivative
    for _, other in pairs:
        other.backward(minitorch.ones_like(other), retain_graph=True)
    for one, other in zip(theirs.inputs, ours.inputs, strict=True):
        grads = [None if each.grad is None else shown(each.grad) for each in (one, other)]
        if grads[0] != grads[1]:
            yield f"torch's gradient is {grads[0]}, ours {grads[1]}"


@pytest.mark.turns(2)
@pytest.mark.parametrize("name", [name for name in dict.fromkeys(each.name for each in CASES) if name not in OTHERWISE])
def test_an_op_without_elements(name: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is the oracle of the op table: pip install torch==2.13.0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [
            each
            for case in CASES
            for dtype in DTYPES
            if case.name == name and dtype in case.dtypes
            for each in unlike_torch(torch, case, dtype)
        ]
    assert not found, "\n".join(found[:6])


@pytest.mark.parametrize("name", DATA_DECIDES)
def test_no_shape_is_made_up(name: str) -> None:
    """Where torch can't tell the shape of a result, this doesn't either."""
    torch = pytest.importorskip("torch", reason="torch is the oracle of the op table: pip install torch==2.13.0")
    refused = 0
    for case in (each for each in CASES if each.name == name):
        makes = [case.make(lib, "int64" if "int64" in case.dtypes else case.dtypes[0]) for lib in (torch, minitorch)]
        for theirs, ours in zip(*(case.samples(make) for make in makes), strict=True):
            on_cpu = call(resolve(torch, name), makes[0], theirs)
            one = call(resolve(torch, name), makes[0], moved(torch, theirs, makes[0]))
            if on_cpu.error is None and one.error is not None and on_cpu.inputs[0].numel():
                refused += 1
                other = call(resolve(minitorch, name), makes[1], moved(minitorch, ours, makes[1]))
                assert isinstance(other.error, RuntimeError), other.value
    assert refused


def test_every_exception_is_a_case() -> None:
    names = {case.name for case in CASES}
    assert [name for name in (*OTHERWISE, *DATA_DECIDES) if name not in names] == []
