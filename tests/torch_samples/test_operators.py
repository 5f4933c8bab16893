"""Each of PyTorch's operators on the samples with which PyTorch tests it, on torch and on minitorch.

Compared are type, shape, dtype, strides, requires_grad and numbers of the results, whether an error is raised, names of
nodes, first and second gradients, the forms `x.f()`, `x.f_()` and `out=`; and PyTorch's own wrong calls: type and
wording of the error. `exceptions.py` lists what differs, with the reason; an exception that no longer differs fails.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterator
from typing import Any

import pytest

import minitorch
from tests.surface_exclusions import EXCLUDED
from tests.torch_samples.comparison import Call, differing, first_line, gradients, outcome
from tests.torch_samples.difference import difference
from tests.torch_samples.exceptions import EXCEPTIONS, MISSING
from tests.torch_samples.samples import (
    DTYPES,
    OPERATORS,
    OutOfScopeError,
    described,
    leaves,
    minitorch_function,
    torch,
    translated,
)

Recorded = tuple[Any, list[Any], list[Any], list[Any], list[Any]]
MOST_SAMPLES = 40  # of an operator


def samples(
    op: Any, dtypes: list[Any], requires_grad: bool = False
) -> Iterator[tuple[Any, list[Any], list[Any], Any, Any]]:
    """Each sample, and its positional and named arguments for torch and for minitorch."""
    for dtype in dtypes:
        for sample in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=requires_grad), MOST_SAMPLES):
            args = [sample.input, *sample.args]
            try:
                own, named = translated([args, sample.kwargs])
            except OutOfScopeError:
                continue
            yield sample, args, own, sample.kwargs, named


def compared(op: Any, function: Call, dtypes: list[Any]) -> Iterator[str | None]:
    """Results on plain samples."""
    for sample, args, own, kwargs, named in samples(op, dtypes):
        expected, error = outcome(torch, op.op, args, kwargs)
        result, own_error = outcome(minitorch, function, own, named)
        if error is not None or own_error is not None:
            if (error is None) != (own_error is None):
                yield f"{described(sample)}: {first_line(error)} expected, got {first_line(own_error)}"
        elif found := difference(expected, result, values=not op.name.startswith(("empty", "new_empty"))):
            yield f"{described(sample)}: {found}"


def recorded(op: Any, function: Call) -> Iterator[Recorded]:
    """Each sample in double precision that both compute: results with a gradient, and inputs that need one."""
    for sample, args, own, kwargs, named in samples(op, [torch.float64], requires_grad=True):
        expected, error = outcome(torch, op.op, args, kwargs)
        result, own_error = outcome(minitorch, function, own, named)
        if error is None and own_error is None:  # others `compared` sees
            process = sample.output_process_fn_grad or (lambda each: each)
            roots = [[each for each in leaves(process(r)) if each.requires_grad] for r in (expected, result)]
            inputs = [[each for each in leaves(a) if each.requires_grad] for a in ([args, kwargs], [own, named])]
            yield sample, *roots, *inputs


def unlike_nodes(call: Recorded) -> str | None:
    """The names of the results' nodes."""
    sample, roots, own_roots, _, _ = call
    expected, names = ([each.grad_fn.name() if each.grad_fn else "" for each in r] for r in (roots, own_roots))
    return None if expected == names else f"{described(sample)}: {expected} expected, got {names}"


def unlike_gradients(call: Recorded, twice: bool) -> str | None:
    """Gradients in double precision, or the gradients' gradients."""
    sample, roots, own_roots, inputs, own_inputs = call
    if len(roots) != len(own_roots):
        return f"{described(sample)}: {len(roots)} results with gradient expected, got {len(own_roots)}"
    grads, own_grads, found = gradients(roots, own_roots, inputs, own_inputs, create_graph=twice)
    if found is None and twice and grads:
        first, own_first = ([g for g in each if g is not None and g.requires_grad] for each in (grads, own_grads))
        found = gradients(first, own_first, inputs, own_inputs, create_graph=False)[2]
    return found and f"{described(sample)}: {found}"


def compared_methods(op: Any, in_place: bool) -> Iterator[str | None]:
    """The forms x.f(...) and x.f_(...)."""
    variant = op.inplace_variant if in_place else op.method_variant
    if variant is None or isinstance(variant, types.FunctionType) or not hasattr(variant, "__name__"):
        return
    name = variant.__name__

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, name)(*args, **kwargs)

    for sample, args, own, kwargs, named in samples(op, [torch.float32]):
        if not isinstance(args[0], torch.Tensor):
            continue
        args[0] = args[0].clone()
        own[0] = translated(args[0])
        expected, error = outcome(torch, method, args, kwargs)
        result, own_error = outcome(minitorch, method, own, named)
        if (error is None) != (own_error is None):
            yield f"{described(sample)}: {first_line(error)} expected, got {first_line(own_error)}"
        elif error is None and (
            found := difference([expected, args[0]], [result, own[0]], values=not op.name.startswith("new_empty"))
        ):
            yield f"{described(sample)}: {found}"


def compared_out(op: Any, function: Call) -> Iterator[str | None]:
    """`out=` with a tensor of the right shape, and with one that has to be resized."""
    for number, (sample, args, own, kwargs, named) in enumerate(samples(op, [torch.float32])):
        plain, error = outcome(torch, op.op, args, kwargs)
        if error is not None or not all(isinstance(each, torch.Tensor) for each in flat(plain)):
            continue

        def target(like: Any, larger: int = number % 2) -> Any:
            if isinstance(like, (tuple, list)):
                return tuple(map(target, like))
            return like.new_empty([size + larger for size in like.shape])

        out = target(plain)
        own_out = translated(out)
        expected, error = outcome(torch, op.op, args, {**kwargs, "out": out})
        result, own_error = outcome(minitorch, function, own, {**named, "out": own_out})
        if (error is None) != (own_error is None):
            yield f"{described(sample)}: {first_line(error)} expected, got {first_line(own_error)}"
        elif error is None and (found := difference([expected, out], [result, own_out], values=op.name != "empty")):
            yield f"{described(sample)}: {found}"


def compared_errors(op: Any, function: Call) -> Iterator[str | None]:
    """PyTorch's own wrong calls: the type of the error, and its first line where that doesn't list C++ overloads."""
    for wrong in op.error_inputs("cpu"):
        sample = wrong.sample_input
        args = [sample.input, *sample.args]
        try:
            own, named = translated([args, sample.kwargs])
        except (OutOfScopeError, ValueError):
            continue
        _, error = outcome(torch, op.op, args, sample.kwargs)
        _, own_error = outcome(minitorch, function, own, named)
        expected, got = first_line(error), first_line(own_error)
        if error is not None and "invalid combination" in expected:
            expected, got = type(error).__name__, type(own_error).__name__
        if expected != got:
            yield f"{described(sample)}: {expected} expected, got {got}"


def flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


NAMES = sorted(name for name, op in OPERATORS.items() if minitorch_function(op) is not None and name not in MISSING)


def test_what_is_missing_has_a_reason() -> None:
    missing = {op.name for op in OPERATORS.values()} - {OPERATORS[name].name for name in NAMES}
    excluded = {name for spaces in EXCLUDED.values() for names in spaces.values() for name in names.split()}
    left_out = tuple(MISSING)
    assert not [each for each in missing if each.split(".")[-1] not in excluded and not each.startswith(left_out)]


def entry(name: str) -> tuple[Any, Call]:
    op = OPERATORS[name]
    function = minitorch_function(op)
    assert function is not None, f"minitorch has no {op.name}"
    return op, function


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", NAMES)
def test_results(name: str) -> None:
    op, function = entry(name)
    differing(compared(op, function, [each for each in DTYPES if each in op.dtypes]), EXCEPTIONS["results"], name)


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", [each for each in NAMES if OPERATORS[each].supports_autograd])
def test_derivatives(name: str) -> None:
    op, function = entry(name)
    found: dict[str, list[str | None]] = {"nodes": [], "gradients": [], "second gradients": []}
    for call in recorded(op, function):
        found["nodes"].append(unlike_nodes(call))
        found["gradients"].append(unlike_gradients(call, twice=False))
        if op.supports_gradgrad:
            found["second gradients"].append(unlike_gradients(call, twice=True))
    for mode, differences in found.items():
        if differences:
            differing(iter(differences), EXCEPTIONS[mode], name)


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", NAMES)
def test_forms(name: str) -> None:
    op, function = entry(name)
    differing(compared_methods(op, in_place=False), EXCEPTIONS["methods"], name)
    differing(compared_methods(op, in_place=True), EXCEPTIONS["in place"], name)
    if op.supports_out:
        differing(compared_out(op, function), EXCEPTIONS["out"], name)
    if op.error_inputs_func is not None:
        differing(compared_errors(op, function), EXCEPTIONS["errors"], name)
