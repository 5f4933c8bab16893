"""Every op against torch and against its own finite differences. README.md says what is compared."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import minitorch
from minitorch.autograd.gradcheck import gradcheck, gradgradcheck
from minitorch.dispatch.declaration import METHODS, NAMESPACES
from tests.ops.case import CASES, DTYPES, UNTESTED, Case, Make, Sample, leaves
from tests.ops.compare import (
    Outcome,
    call,
    describe,
    differences,
    gradient_differences,
    recorded_gradient_differences,
    resolve,
    value_differences,
    wording_differences,
)

for path in sorted(Path(__file__).parent.glob("cases_*.py")):
    importlib.import_module(f"tests.ops.{path.stem}")

IN_PLACE_DTYPES = ("bool", "int64", "float32", "float64")
LAYOUTS = ("transposed", "sliced")
NOT_IN_THIS_LAYOUT = ("view size is not compatible", "grad_input must be contiguous")
"""What torch says where an op of its own cannot work on a layout, and ours can."""
_WORDED_OTHERWISE = """
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
    adaptive_max_pool3d adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices
    adaptive_max_pool3d_with_indices conv_transpose1d interpolate lp_pool3d max_pool2d max_pool3d
    max_pool2d_with_indices max_pool3d_with_indices pad
"""
WORDED_OTHERWISE = {f"nn.functional.{name}" for name in _WORDED_OTHERWISE.split()}
"""The ops whose errors torch words by the kernel that finds the fault; here all kernels say it alike, see
docs/surface.md, *The budget*. Their types are compared."""
NUMERIC_LIMIT = 40  # elements in the inputs of a sample that is differentiated twice numerically


def cases(chosen: Callable[[Case], bool] = lambda case: True) -> pytest.MarkDecorator:
    some = [case for case in CASES if chosen(case)]
    return pytest.mark.parametrize("case", some, ids=[case.name for case in some])


def report(problems: Iterable[str]) -> None:
    found = list(problems)
    if found:
        shown = "\n".join(f"  {each}" for each in found[:12])
        pytest.fail(f"{len(found)} difference{'s' * (len(found) > 1)}:\n{shown}", pytrace=False)


@cases()
def test_like_torch(case: Case) -> None:
    """Values, dtypes, shapes, strides, views, history and gradients are torch's, in every dtype."""
    torch = pytest.importorskip("torch", reason="torch is the oracle of the op table: pip install torch==2.13.0")
    report(unlike_torch(torch, case))


@pytest.mark.turns(2)
@cases(lambda case: case.layouts)
def test_layouts(case: Case) -> None:
    """The same holds however the inputs lie in memory, where torch takes them."""
    torch = pytest.importorskip("torch", reason="torch is the oracle of the op table: pip install torch==2.13.0")
    dtypes = [dtype for dtype in ("float32", "int64", *case.dtypes) if dtype in case.dtypes][:1]
    report(each for layout in LAYOUTS for each in unlike_torch(torch, case, dtypes, layout))


def unlike_torch(
    torch: Any, case: Case, dtypes: Sequence[str] | None = None, layout: str = "contiguous"
) -> Iterator[str]:
    function, ours_function = resolve(torch, case.name), resolve(minitorch, case.name)
    for dtype in dtypes or case.dtypes:
        for label, theirs_make, theirs, ours_make, ours in pairs(torch, case, dtype, case.samples, layout):
            one = call(function, theirs_make, theirs, grad=True, writes=case.in_place)
            other = call(ours_function, ours_make, ours, grad=True, writes=case.in_place)
            found = list(differences(case, one, other, lenient_errors=True))
            found = found or list(gradient_differences(one, other, case.tolerance))
            if layout == "contiguous" or not any(words in each for words in NOT_IN_THIS_LAYOUT for each in found):
                yield from (f"{label}: {each}" for each in found)


@pytest.mark.turns(2)
@cases(lambda case: "." not in case.name and not case.in_place)
def test_forms(case: Case) -> None:
    """The method, the in-place method and `out=` exist where torch has them, and do what torch's do."""
    torch = pytest.importorskip("torch", reason="torch is the oracle of the op table: pip install torch==2.13.0")
    problems: list[str] = []
    for method in (case.name, case.name + "_"):
        if hasattr(torch.Tensor, method) and takes_self(torch, case):
            problems += unlike_method(torch, case, method)
        elif hasattr(torch, method) != hasattr(minitorch, method):
            problems.append(f"{method} {'is missing' if hasattr(torch, method) else 'does not exist in torch'}")
    report([*problems, *unlike_out(torch, case)])


def takes_self(torch: Any, case: Case) -> bool:
    samples = case.samples(case.make(torch, "float32"))
    return any(sample.args and isinstance(sample.args[0], torch.Tensor) for sample in samples)


def unlike_method(torch: Any, case: Case, method: str) -> Iterator[str]:
    if not hasattr(minitorch.Tensor, method):
        yield f"Tensor.{method} is missing"
        return
    in_place = method.endswith("_")
    for dtype in IN_PLACE_DTYPES if in_place else ("float32",):
        if dtype not in case.dtypes:
            continue
        for label, theirs_make, theirs, ours_make, ours in pairs(torch, case, dtype, case.samples):
            if not (theirs.args and isinstance(theirs.args[0], torch.Tensor)):
                continue
            one = call(getattr(torch.Tensor, method), theirs_make, theirs, grad=True, writes=in_place)
            other = call(getattr(minitorch.Tensor, method), ours_make, ours, grad=True, writes=in_place)
            found = list(differences(case, one, other, lenient_errors=True))
            found = found or list(gradient_differences(one, other, case.tolerance))
            yield from (f"Tensor.{method}, {label}: {each}" for each in found)


def unlike_out(torch: Any, case: Case) -> Iterator[str]:
    """Differences of the form with `out=`: preallocated, empty, and of another dtype."""
    function, ours_function = resolve(torch, case.name), resolve(minitorch, case.name)
    for dtype in ("float32", "int64"):
        if dtype not in case.dtypes:
            continue
        for label, theirs_make, theirs, ours_make, ours in pairs(torch, case, dtype, case.samples):
            plain = call(function, theirs_make, theirs)
            if plain.error is not None or not plain.outputs or len(plain.outputs) > 3:
                continue
            for change in ("fits", "empty", "float64", "int32"):
                one = call_out(function, theirs_make, theirs, plain, change)
                if isinstance(one.error, TypeError):
                    break  # torch has no such form
                other = call_out(ours_function, ours_make, ours, plain, change)
                if isinstance(other.error, TypeError):
                    yield f"{case.name}() has no out="
                    return
                if change in DTYPES and (one.error is None) != (other.error is None) and not is_cast_error(one.error):
                    continue  # which dtypes `out` may have differs from op to op, but for casts to a lower kind
                found = list(differences(case, one, other, lenient_errors=True))
                if not found and one.error is None:
                    found = list(value_differences(case, one.kwargs["out"], other.kwargs["out"], "out", one, other))
                yield from (f"out= ({change}), {label}: {each}" for each in found)


def is_cast_error(error: Exception | None) -> bool:
    return error is not None and "can't be cast" in str(error)


def call_out(function: Callable[..., Any], make: Make, sample: Sample, plain: Outcome, change: str) -> Outcome:
    outs = []
    for each in plain.outputs:
        dtype = change if change in ("float64", "int32") else str(each.dtype).removeprefix("torch.")
        shape = (0,) if change == "empty" and each.numel() else tuple(each.shape)
        outs.append(make.lib.zeros(shape, dtype=getattr(make.lib, dtype)))
    out = outs[0] if not isinstance(plain.value, (tuple, list)) else tuple(outs)
    return call(function, make, Sample(sample.args, {**sample.kwargs, "out": out}))


@cases(lambda case: case.name.startswith(("linalg.", "special.")))
def test_out(case: Case) -> None:
    """Functions without a method take `out=` where torch's do, and do what torch's do."""
    torch = pytest.importorskip("torch", reason="torch is the oracle of the op table: pip install torch==2.13.0")
    report(unlike_out(torch, case))


@cases(lambda case: case.errors is not None)
def test_errors(case: Case) -> None:
    """What torch refuses is refused with an error of the same type and in the same words."""
    torch = pytest.importorskip("torch", reason="torch is the oracle of the op table: pip install torch==2.13.0")
    report(unlike_errors(torch, case))


def unlike_errors(torch: Any, case: Case) -> Iterator[str]:
    assert case.errors is not None
    for label, theirs_make, theirs, ours_make, ours in pairs(torch, case, "float32", case.errors):
        one = call(resolve(torch, case.name), theirs_make, theirs, grad=True, writes=case.in_place)
        other = call(resolve(minitorch, case.name), ours_make, ours, grad=True, writes=case.in_place)
        if one.error is None:
            yield f"error {label}: torch raises none"
            continue
        found = list(differences(case, one, other))
        if not found and theirs.worded and case.name not in WORDED_OTHERWISE:
            found = list(wording_differences(one, other))
        yield from (f"error {label}: {each}" for each in found)


@pytest.mark.turns(8)
@cases(lambda case: case.gradcheck and "float64" in case.dtypes)
def test_derivatives(case: Case) -> None:
    """First and second derivatives are those of finite differences in float64; `test_like_torch` has torch's, too."""
    report(wrong_derivatives(case))


def wrong_derivatives(case: Case) -> Iterator[str]:
    function = resolve(minitorch, case.name)
    make = case.make(minitorch, "float64")
    for number, sample in enumerate(case.samples(make)):
        if not sample.differentiable:
            continue
        outcome = call(function, make, sample, grad=True, writes=case.in_place)
        if outcome.error is not None:
            yield f"sample {number}: {describe(outcome.error)}"
            continue
        yield from (f"sample {number}: {each}" for each in recorded_gradient_differences(outcome))
        outputs = [each for each in outcome.outputs if each.requires_grad]
        inputs = [each for each in outcome.inputs if each.requires_grad and is_double(each)]
        if not outputs or not sum(each.numel() for each in inputs) or not all(map(is_double, outputs)):
            continue
        with_inputs = of_inputs(function, outcome, inputs, case.in_place)
        inputs = [each.detach().contiguous().requires_grad_() if 0 in each.stride() else each for each in inputs]
        checks: list[Callable[..., bool]] = [gradcheck]
        if case.twice and sum(each.numel() for each in (*inputs, *outputs)) <= NUMERIC_LIMIT:
            checks.append(partial(gradgradcheck, fast_mode=True))  # in one random direction: else it takes minutes
        for check in checks:
            try:
                check(with_inputs, inputs)
            except Exception as error:
                yield f"sample {number}, {check}: {type(error).__name__}: {error}"
                break


def is_double(tensor: Any) -> bool:
    return str(tensor.dtype) in ("torch.float64", "torch.complex128")


def of_inputs(function: Callable[..., Any], outcome: Outcome, inputs: list[Any], writes: bool) -> Callable[..., Any]:
    """The function of these inputs of a call alone, with its differentiable outputs alone."""
    places = [id(each) for each in inputs]

    def replaced(value: Any, given: dict[int, Any]) -> Any:
        if outcome.is_tensor(value):
            return given.get(id(value), value)
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            return type(value)(replaced(each, given) for each in value)
        if isinstance(value, dict):
            return {key: replaced(each, given) for key, each in value.items()}
        return value

    def of_tensors(*tensors: Any) -> Any:
        given = dict(zip(places, tensors, strict=True))
        positional = replaced(outcome.args, given)
        if writes:
            positional[0] = positional[0].clone()
        minitorch.manual_seed(0)
        value = function(*positional, **replaced(outcome.kwargs, given))
        value = positional[0] if writes and value is None else value
        return tuple(each for each in leaves(value, outcome.is_tensor) if each.dtype.is_differentiable)

    return of_tensors


def pairs(
    torch: Any,
    case: Case,
    dtype: str,
    samples: Callable[[Make], Iterable[Sample]],
    layout: str = "contiguous",
) -> Iterator[tuple[str, Make, Sample, Make, Sample]]:
    """The same samples made for torch and for minitorch."""
    theirs_make, ours_make = case.make(torch, dtype, layout), case.make(minitorch, dtype, layout)
    both = zip(samples(theirs_make), samples(ours_make), strict=True)
    for number, (theirs, ours) in enumerate(both):
        yield f"sample {number}, {dtype}, {layout}", theirs_make, theirs, ours_make, ours


def test_every_op_has_a_case() -> None:
    importlib.import_module("minitorch.nn.functional")  # whose ops load with it
    names = {case.name for case in CASES}
    reached = names | UNTESTED.keys()
    problems = []
    for namespace, functions in NAMESPACES.items():
        for name in functions:
            path = name if namespace == "torch" else f"{namespace}.{name}"
            if path not in reached and functions[name] is not METHODS.get(name):
                problems.append(path)
    for name in METHODS:
        stem = name if name.startswith("__") else name.rstrip("_")
        if not {name, stem, f"Tensor.{name}", f"Tensor.{stem}"} & reached:
            problems.append(f"Tensor.{name}")
    problems += [f"{name} is listed as untested, but has a case" for name in UNTESTED if name in names]
    report(problems)


def test_every_op_has_eight_inputs() -> None:
    """The samples of all its cases, and those with tensors once more in each of the other layouts."""
    inputs = dict.fromkeys((case.name for case in CASES), 0)
    for case in CASES:
        for sample in case.samples(case.make(minitorch, "float32" if "float32" in case.dtypes else case.dtypes[0])):
            tensors = leaves([list(sample.args), sample.kwargs], lambda value: isinstance(value, minitorch.Tensor))
            inputs[case.name] += 1 + len(LAYOUTS) * (case.layouts and next(tensors, None) is not None)
    report(f"{name} has {count}" for name, count in inputs.items() if 0 < count < 8)  # 0: it refuses all
