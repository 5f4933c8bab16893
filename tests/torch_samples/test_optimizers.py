"""Each of PyTorch's optimizers with the options with which PyTorch tests it, step by step in torch and in minitorch.

Compared are what is printed, parameters and the loss at each step, the state with its layout, whether an error is
raised; how the training goes on after the state went through a file from one library to the other; and PyTorch's own
wrong calls.
"""

from __future__ import annotations

import importlib
import io
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import minitorch
import minitorch.optim
from tests.torch_samples.comparison import first_line, outcome
from tests.torch_samples.difference import difference
from tests.torch_samples.samples import OutOfScopeError, torch, translated

TABLE = importlib.import_module("torch.testing._internal.common_optimizers")  # which `samples` makes importable
OPTIMIZERS = {info.name: info for info in TABLE.optim_db}
STEPS = 3


def options_of(info: Any) -> Iterator[dict[str, Any]]:
    """PyTorch's inputs, those for GPUs too, each also with the options that choose how a step is computed."""
    inputs = {
        str(each.kwargs): each.kwargs for device in ("cpu", "cuda") for each in info.optim_inputs_func(device=device)
    }
    for options in inputs.values():
        yield options
        for name in info.supported_impls:
            yield {**options, name: True}


def groups_of(info: Any, dtype: Any, differentiable: bool) -> tuple[Any, Any]:
    """Two groups of parameters for torch, and the same for minitorch; one group where there can be but one."""
    torch.manual_seed(5)
    shapes = [(3, 4), (5, 2)] if info.name == "Muon" else [(3, 4), (5,), (), (2, 1, 3)]
    theirs = [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]
    ours = translated(theirs)
    if differentiable:  # steps can't be recorded on leaves
        theirs, ours = ([each.clone() for each in params] for params in (theirs, ours))
    if not info.supports_param_groups:
        return theirs, ours
    first, second = ([{"params": params[:2]}, {"params": params[2:]}] for params in (theirs, ours))
    return (first, second) if len(shapes) > 2 else (theirs, ours)


def step(optimizer: Any) -> tuple[list[Any], Any]:
    """Parameters and result of a step towards 1/2: the closure computes the sum of |x − 1/2|⁴ and sets its gradient."""
    params = [each for group in optimizer.param_groups for each in group["params"]]

    def closure() -> Any:
        distances = [each.detach() - 0.5 for each in params]
        for each, distance in zip(params, distances, strict=True):
            each.grad = 4 * distance.abs() ** 2 * distance
        return sum((distance.abs() ** 4).sum() for distance in distances)

    loss = optimizer.step(closure)
    return [each.detach().clone() for each in params], loss


def stepped(theirs: Any, ours: Any) -> str | None:
    """What differs in a few steps of two optimizers, and then in their state."""
    for number in range(STEPS):
        results = [outcome(lib, step, [each], {}) for lib, each in ((torch, theirs), (minitorch, ours))]
        (expected, error), (result, own_error) = results
        words, own_words = first_line(error), first_line(own_error)
        if words is not None and own_words is not None and "supported devices" in words:  # PyTorch lists them
            words, own_words = words.partition(":")[0], own_words.partition(":")[0]
        if words != own_words:
            return f"{words} expected, got {own_words}"
        if error is not None:
            return None
        if found := difference(expected, result, f"step {number}"):
            return found
    return difference(theirs.state_dict(), ours.state_dict(), "state")


def made(info: Any, dtype: Any, options: dict[str, Any]) -> tuple[Any, Any]:
    """The optimizer in both libraries."""
    theirs, ours = groups_of(info, dtype, options.get("differentiable", False))
    return info.optim_cls(theirs, **options), getattr(minitorch.optim, info.name)(ours, **translated(options))


@pytest.mark.turns(2)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps(name: str) -> None:
    info = OPTIMIZERS[name]
    # What L-BFGS keeps are differences of nearly equal numbers.
    dtypes = (torch.float64, torch.complex128) if name == "LBFGS" else (torch.float32, torch.complex64)
    for options in options_of(info):
        complex_too = info.supports_complex and not options.get("foreach") and not options.get("differentiable")
        for dtype in dtypes[: 1 + complex_too]:
            theirs, ours = made(info, dtype, options)
            where = f"{name}, {options}, {dtype}"
            assert str(ours) == str(theirs), where
            found = stepped(theirs, ours)
            assert found is None, f"{where}: {found}"


@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if name != "SparseAdam"])
def test_state_goes_from_one_library_to_the_other(name: str) -> None:
    info = OPTIMIZERS[name]
    options = info.optim_inputs_func(device="cpu")[-1].kwargs
    theirs, ours = made(info, torch.float32, options)
    assert stepped(theirs, ours) is None
    params = [each.detach().clone().requires_grad_() for group in theirs.param_groups for each in group["params"]]
    files = io.BytesIO(), io.BytesIO()
    torch.save(theirs.state_dict(), files[0])
    minitorch.save(ours.state_dict(), files[1])
    for file in files:
        file.seek(0)
    shapes = [len(group["params"]) for group in theirs.param_groups]
    later = []
    for lib, tensors, file in ((torch, params, files[1]), (minitorch, translated(params), files[0])):
        groups = [{"params": tensors[sum(shapes[:n]) : sum(shapes[: n + 1])]} for n in range(len(shapes))]
        later.append(getattr(lib.optim, name)(groups))
        later[-1].load_state_dict(lib.load(file))
    assert stepped(theirs, later[1]) is None
    assert stepped(later[0], ours) is None


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_errors(name: str) -> None:
    info = OPTIMIZERS[name]
    out_of_scope = 0
    for wrong in info.optim_error_inputs_func(device="cpu", dtype=torch.float32):
        sample = wrong.optimizer_error_input
        params = [torch.ones(2, 2, requires_grad=True)] if sample.params is None else sample.params
        try:
            given = [(torch, info.optim_cls, params, sample.kwargs)]
            given.append((minitorch, getattr(minitorch.optim, name), *translated([params, sample.kwargs])))
        except OutOfScopeError:
            out_of_scope += 1
            continue
        errors = []
        for _, optimizer, own, options in given:
            with warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)
                with pytest.raises((wrong.error_type, AssertionError)) as caught:
                    result = optimizer(own, **options)
                    assert wrong.error_on is TABLE.OptimizerErrorEnum.STEP_ERROR, f"no error: {sample.desc}"
                    step(result)
            errors.append(first_line(caught.value))
        assert errors[0] == errors[1], sample.desc
    assert out_of_scope == (2 if name == "SparseAdam" else 0)  # sparse parameters
