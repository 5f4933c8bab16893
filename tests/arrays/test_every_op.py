"""Every op on a simulated GPU that isn't the current one: the CPU's values and gradients, and results that stay."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import minitorch
from minitorch import random
from minitorch.tensor import Tensor
from tests.arrays.gpu import THERE, gpus
from tests.ops.case import CASES, Case, Make, Sample, mapped
from tests.ops.compare import SEED, Outcome, call, describe, resolve, tensor_differences

for path in sorted((Path(__file__).parents[1] / "ops").glob("cases_*.py")):
    importlib.import_module(f"tests.ops.{path.stem}")

DTYPES = ("float32", "int64", "bool")
ELSEWHERE = (
    "Tensor.cpu", "Tensor.new", "Tensor.to", "Tensor.type", "as_tensor", "full", "full_like", "ones_like", "tensor",
    "zeros_like",
)  # fmt: skip
"""Functions whose results may be on the CPU: they take a device, or a type that names one, or make a tensor from
numbers."""

OTHERWISE = {
    "Tensor.apply_": "is only implemented on CPU tensors",
    "Tensor.byte": "CUDA's conversion of a negative number to unsigned integers ends at 0",
    "Tensor.map2_": "is only implemented on CPU tensors",
    "Tensor.map_": "is only implemented on CPU tensors",
    "Tensor.new": "refuses another device than the tensor's",
}
"""Functions that do something else on a GPU, in PyTorch too."""


@pytest.fixture(autouse=True, scope="module")
def some_gpus() -> Iterator[None]:
    with gpus():
        yield


def is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def moved(sample: Sample, make: Make) -> Sample:
    """The sample with its tensors on the other device; what needs no gradient there needs none here."""

    def there(tensor: Any) -> Any:
        copy = tensor.detach().to(THERE)
        if make.is_constant(tensor):
            make._constants.append(copy)
        return copy

    return Sample(tuple(mapped(list(sample.args), is_tensor, there)), mapped(sample.kwargs, is_tensor, there))


def unlike_cpu(case: Case, dtype: str) -> Iterator[str]:
    function = resolve(minitorch, case.name)
    makes = [case.make(minitorch, dtype) for _ in range(2)]
    for number, (here, there) in enumerate(zip(*(case.samples(make) for make in makes), strict=True)):
        one = call(function, makes[0], here, grad=True, writes=case.in_place)
        if one.error is not None or any(
            isinstance(each, random.Generator) for each in (*here.args, *here.kwargs.values())
        ):
            continue  # a generator of the CPU is refused
        drawn = random.default_generator.get_state()
        random.default_generator.manual_seed(SEED)
        is_random = not minitorch.equal(drawn, random.default_generator.get_state())
        other = call(function, makes[1], moved(there, makes[1]), grad=True, writes=case.in_place)
        label = f"{dtype}, sample {number}"
        if other.error is not None:
            yield f"{label}: {describe(other.error)}"
            continue
        yield from (
            f"{label}: {each}"
            for each in outcome_differences(one, other, case.tolerance, is_random, case.name in ELSEWHERE)
        )


def outcome_differences(
    here: Outcome, there: Outcome, tolerance: float, is_random: bool, may_move: bool
) -> Iterator[str]:
    """What differs in the results' devices, values and gradients; a GPU draws other random numbers."""
    for number, (one, other) in enumerate(zip(here.outputs, there.outputs, strict=True)):
        if not may_move and here.inputs and str(other.device) != THERE:
            yield f"result {number} is on {other.device}"
        if is_random:
            if (one.shape, one.dtype) != (other.shape, other.dtype):
                yield f"result {number} is of shape {other.shape} and {other.dtype}"
            continue
        yield from tensor_differences(one.detach(), other.detach().cpu(), f"result {number}", tolerance)
    pairs = [each for each in zip(here.outputs, there.outputs, strict=True) if differentiable(each[0])]
    if not pairs or is_random:
        return
    try:
        for one, _ in pairs:
            one.backward(minitorch.ones_like(one), retain_graph=True)
    except (NotImplementedError, RuntimeError):
        return  # not on the CPU either
    for one in here.inputs:
        one.grad = None
    for one, other in pairs:
        weight = minitorch.linspace(0.5, 1.5, one.numel()).to(one.dtype).reshape(one.shape)
        one.backward(weight, retain_graph=True)
        other.backward(weight.to(other.device), retain_graph=True)
    for number, (one, other) in enumerate(zip(here.inputs, there.inputs, strict=True)):
        if (one.grad is None) != (other.grad is None):
            yield f"only one of the gradients of input {number} is None"
        elif one.grad is not None:
            yield from tensor_differences(one.grad, other.grad.cpu(), f"gradient {number}", tolerance)


def differentiable(tensor: Any) -> bool:
    return bool(tensor.requires_grad and "NotImplemented" not in str(tensor.grad_fn))


NAMES = list(dict.fromkeys(case.name for case in CASES))


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", [name for name in NAMES if name not in OTHERWISE])
def test_an_op_on_a_gpu(name: str) -> None:
    cases = [case for case in CASES if case.name == name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [each for case in cases for dtype in DTYPES if dtype in case.dtypes for each in unlike_cpu(case, dtype)]
    assert not found, "\n".join(found[:6])


def test_every_exception_is_a_case() -> None:
    assert [name for name in (*ELSEWHERE, *OTHERWISE) if name not in NAMES] == []
