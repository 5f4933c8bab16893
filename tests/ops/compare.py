"""Calls an op in torch and in minitorch and says where the two differ."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.ops.case import Case, Make, Sample, cast, leaves, mapped, tensor_of

# Relative and absolute, as torch.testing.assert_close has them.
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
SEED = 1234


@dataclass
class Outcome:
    """What a call gave: a value or an error, and the arguments that it got."""

    lib: Any
    args: list[Any]
    kwargs: dict[str, Any]
    value: Any = None
    error: Exception | None = None

    @property
    def inputs(self) -> list[Any]:
        return list(leaves([self.args, self.kwargs], self.is_tensor))

    @property
    def outputs(self) -> list[Any]:
        return list(leaves(self.value, self.is_tensor))

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, self.lib.Tensor)


def resolve(lib: Any, name: str) -> Callable[..., Any]:
    """The function at a dotted path below the library."""
    found = lib
    for part in name.split("."):
        found = getattr(found, part)
    return found if callable(found) else found.__get__  # of a property such as Tensor.T


@contextmanager
def strict(lib: Any) -> Iterator[None]:
    """NumPy raises of infinities and NaN, and for minitorch its warnings are errors: neither may show through."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error" if lib.__name__ == "minitorch" else "ignore", category=RuntimeWarning)
        yield


def call(function: Callable[..., Any], make: Make, sample: Sample, grad: bool = False, writes: bool = False) -> Outcome:
    """Calls a function with new leaves in place of the sample's tensors: with `grad`, leaves that require it.

    With `writes`, the first of them is cloned, since leaves that require grad must not be written to.
    """
    lib = make.lib

    def leaf(tensor: Any) -> Any:
        detached = tensor.detach()
        if grad and (tensor.is_floating_point() or tensor.is_complex()) and not make.is_constant(tensor):
            detached.requires_grad_()
        return detached

    def is_tensor(value: Any) -> bool:
        return isinstance(value, lib.Tensor)

    outcome = Outcome(lib, mapped(list(sample.args), is_tensor, leaf), mapped(sample.kwargs, is_tensor, leaf))
    positional = list(outcome.args)
    if writes and grad and positional and is_tensor(positional[0]):
        positional[0] = positional[0].clone()
    lib.default_generator.manual_seed(SEED)  # torch.manual_seed is slow: it seeds every kind of device
    try:
        with strict(lib):
            outcome.value = function(*positional, **outcome.kwargs)
        if writes and outcome.value is None:
            outcome.value = positional[0]
    except Exception as error:
        outcome.error = error
    return outcome


def numbers(tensor: Any) -> Any:
    """A tensor's elements as a NumPy array; bfloat16 as float32. The library under test needs no op for it."""
    if hasattr(tensor, "_elements"):
        return np.array(tensor._elements, np.float32 if tensor._elements.dtype.name == "bfloat16" else None)
    tensor = tensor.detach().resolve_conj().resolve_neg()
    tensor = tensor.clone() if tensor._is_zerotensor() else tensor
    return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy().copy()


def differences(case: Case, theirs: Outcome, ours: Outcome, *, lenient_errors: bool = False) -> Iterator[str]:
    """In what the two outcomes differ, in words."""
    if theirs.error is not None or ours.error is not None:
        yield from error_differences(theirs, ours, lenient_errors)
        return
    yield from value_differences(case, theirs.value, ours.value, "result", theirs, ours)


def error_differences(theirs: Outcome, ours: Outcome, lenient: bool = True) -> Iterator[str]:
    if ours.error is None:
        yield f"torch raises {describe(theirs.error)}; minitorch returns {brief(ours.value)}"
    elif theirs.error is None:
        yield f"minitorch raises {describe(ours.error)}; torch returns {brief(theirs.value)}"
    else:
        one, other = type(theirs.error).__name__.lstrip("_"), type(ours.error).__name__.lstrip("_")
        runtime = isinstance(theirs.error, RuntimeError) and isinstance(ours.error, RuntimeError)
        if one != other and not (lenient and runtime):
            yield f"torch raises {describe(theirs.error)}; minitorch raises {describe(ours.error)}"


def wording_differences(theirs: Outcome, ours: Outcome) -> Iterator[str]:
    if theirs.error is not None and ours.error is not None:
        one, other = (" ".join(str(each.error).split()) for each in (theirs, ours))
        if one != other:
            yield f"torch says     {one!r}\n      minitorch says {other!r}"


def value_differences(case: Case, a: Any, b: Any, what: str, theirs: Outcome, ours: Outcome) -> Iterator[str]:
    if theirs.is_tensor(a):
        if not ours.is_tensor(b):
            yield f"{what} is {brief(b)}, not a tensor"
            return
        yield from tensor_differences(a, b, what, case.tolerance)
        yield from metadata_differences(case, a, b, what, theirs, ours)
    elif isinstance(a, (list, tuple)):
        yield from _sequence_differences(case, a, b, what, theirs, ours)
    elif isinstance(a, float):
        if not isinstance(b, float) or not np.allclose(a, b, 1e-6, 1e-6, equal_nan=True):
            yield f"{what} is {b!r}, torch's is {a!r}"
    elif isinstance(a, (bool, int, complex, str)) or a is None:
        if type(a) is not type(b) or a != b:
            yield f"{what} is {b!r}, torch's is {a!r}"
    elif str(a) != str(b):
        yield f"{what} is {b}, torch's is {a}"


def _sequence_differences(case: Case, a: Any, b: Any, what: str, theirs: Outcome, ours: Outcome) -> Iterator[str]:
    kind = type(a).__name__.removesuffix("_out")
    if kind == "Size":
        if type(b).__name__ != "Size" or list(a) != list(b):
            yield f"{what} is {b!r}, torch's is {a!r}"
        return
    if not isinstance(b, (list, tuple)) or len(a) != len(b):
        yield f"{what} is {brief(b)}, torch's is {brief(a)}"
        return
    if isinstance(a, tuple) != isinstance(b, tuple) or (type(a) is not tuple and kind != type(b).__name__):
        yield f"{what} is a {type(b).__name__}, torch's is a {kind}"
    for name in getattr(a, "__match_args__", ()):
        if not hasattr(b, name):
            yield f"{what} has no field {name!r}"
    for i, (one, other) in enumerate(zip(a, b, strict=True)):
        yield from value_differences(case, one, other, f"{what}[{i}]", theirs, ours)


def tensor_differences(a: Any, b: Any, what: str, tolerance: float = 1.0, slack: float = 0.0) -> Iterator[str]:
    """Compares dtype, shape and elements; `slack` comes on top of what an element may differ by."""
    if str(a.dtype) != str(b.dtype):
        yield f"{what} has dtype {b.dtype}, torch's has {a.dtype}"
    elif tuple(a.shape) != tuple(b.shape):
        yield f"{what} has shape {list(b.shape)}, torch's has {list(a.shape)}"
    else:
        relative, absolute = TOLERANCES.get(str(a.dtype).removeprefix("torch."), (0.0, 0.0))
        one, other = numbers(a), numbers(b)
        if not close(one, other, relative * tolerance, absolute * tolerance + slack):
            yield f"{what} is\n{_indented(other)}\n      torch's is\n{_indented(one)}"


def close(a: Any, b: Any, relative: float, absolute: float) -> bool:
    if relative == 0:
        return bool(np.array_equal(a, b))
    with np.errstate(all="ignore"):
        if np.iscomplexobj(a):
            return close(a.real, b.real, relative, absolute) and close(a.imag, b.imag, relative, absolute)
        return bool(np.allclose(b, a, relative, absolute, equal_nan=True))


def metadata_differences(case: Case, a: Any, b: Any, what: str, theirs: Outcome, ours: Outcome) -> Iterator[str]:
    """Compares what a tensor is besides its elements: strides, bits, history, and which input's memory it is in."""
    if a.requires_grad != b.requires_grad:
        yield f"{what} has requires_grad={b.requires_grad}, torch's has {a.requires_grad}"
    elif a.is_leaf != b.is_leaf:
        yield f"{what} has is_leaf={b.is_leaf}, torch's has {a.is_leaf}"
    elif case.grad_fn and a.grad_fn is not None and b.grad_fn.name() != a.grad_fn.name():
        yield f"{what}.grad_fn is {b.grad_fn.name()}, torch's is {a.grad_fn.name()}"
    if case.strides:
        yield from bit_differences(a, b, what)
    source = _source(a, theirs)
    if source != _source(b, ours):
        yield f"{what} is in the memory of input {_source(b, ours)}, torch's in that of input {source}"
        return
    out = theirs.kwargs.get("out")
    given = source is not None and not any(theirs.inputs[source] is each for each in leaves(out, theirs.is_tensor))
    if a.numel() and (given or (case.strides and _laid_out_alike(a, theirs))):
        steps = [tuple(s for s, size in zip(t.stride(), t.shape, strict=True) if size > 1) for t in (a, b)]
        if steps[0] != steps[1]:
            yield f"{what} has strides {b.stride()}, torch's has {a.stride()}"
    if source is None:
        return
    if a.numel() and a.storage_offset() != b.storage_offset():
        yield f"{what} has storage offset {b.storage_offset()}, torch's has {a.storage_offset()}"
    if (a is theirs.inputs[source]) != (b is ours.inputs[source]):
        yield f"{what} {'is' if b is ours.inputs[source] else 'is not'} input {source} itself, unlike torch's"
    viewed = ours.inputs[source]
    if a._is_view() != (b._base is not None):
        yield f"{what} {'is not' if a._is_view() else 'is'} a view in the sense of autograd, unlike torch's"
    if viewed._counter is not b._counter and not case.in_place:  # set_ shares the memory alone
        yield f"{what} does not share its version counter with input {source}"


def bit_differences(a: Any, b: Any, what: str) -> Iterator[str]:
    if (a.is_conj(), a.is_neg()) != (b.is_conj(), b.is_neg()):
        yield f"{what} has bits {b.is_conj(), b.is_neg()}, torch's has {a.is_conj(), a.is_neg()}"


def _laid_out_alike(result: Any, outcome: Outcome) -> bool:
    """Whether the inputs leave no doubt about the result's strides: all of its shape have equal strides."""
    return len({each.stride() for each in outcome.inputs if each.shape == result.shape and each.numel()}) <= 1


def _source(tensor: Any, outcome: Outcome) -> int | None:
    """The number of the input that a tensor shares its memory with."""
    if not tensor.numel():
        return None
    address = tensor.untyped_storage().data_ptr()
    for number, each in enumerate(outcome.inputs):
        if each.numel() and each.untyped_storage().data_ptr() == address:
            return number
    return None


def gradients(outcome: Outcome, create_graph: bool = False) -> list[Any] | Exception:
    """The gradients of the inputs for fixed, random gradients of the outputs; None where an input needs none."""
    lib = outcome.lib
    outputs = [each for each in outcome.outputs if each.requires_grad]
    inputs = [each for each in outcome.inputs if each.requires_grad]
    if not outputs or not inputs:
        return []
    random = np.random.default_rng(SEED)
    weights = []
    for each in outputs:
        data = random.uniform(0.5, 1.5, tuple(each.shape))
        if each.is_complex():
            data = data + 1j * random.uniform(0.5, 1.5, tuple(each.shape))
        weights.append(tensor_of(lib, cast(data, str(each.dtype).removeprefix("torch."))))
    try:
        with strict(lib):
            return list(lib.autograd.grad(outputs, inputs, weights, allow_unused=True, create_graph=create_graph))
    except Exception as error:
        return error


def gradient_differences(theirs: Outcome, ours: Outcome, tolerance: float) -> Iterator[str]:
    """In what the gradients of the inputs differ."""
    if theirs.error is not None or ours.error is not None:
        return
    a, b = gradients(theirs), gradients(ours)
    if isinstance(a, Exception) or isinstance(b, Exception):
        if "returned an invalid gradient" in str(a):
            return  # torch fails where the shapes of index and source differ, against its documentation
        if "derivative for 'inplace version of" in str(a):
            return  # torch has the derivative of asinh, but not of asinh_
        if not (isinstance(a, Exception) and isinstance(b, Exception)):
            yield f"backward gives {b!r}, torch's {a!r}"
        return
    for number, (one, other) in enumerate(zip(a, b, strict=True)):
        if one is None or other is None:
            # A gradient that is None means zero: which of the two an op gives is not part of its meaning.
            given = other if one is None else one
            if given is not None and np.any(numbers(given)):
                yield f"gradient {number} is {brief(other)}, torch's is {brief(one)}"
        else:
            # The rounding of the forward pass comes on top. Where terms cancel, a sum of two-byte floats keeps the
            # rounding of its terms, and processors add them in different orders.
            two_bytes = one.element_size() == 2
            values = numbers(one)
            largest = float(abs(values).max(where=np.isfinite(values), initial=0)) if two_bytes else 0.0
            slack = largest * TOLERANCES[str(one.dtype).removeprefix("torch.")][0] / 8
            yield from tensor_differences(one, other, f"gradient {number}", tolerance * (8 if two_bytes else 4), slack)


def recorded_gradient_differences(ours: Outcome) -> Iterator[str]:
    """In what the gradients differ when the pass that computes them is recorded: formulas may have a branch for it."""
    recorded, plain = gradients(ours, create_graph=True), gradients(ours)
    if isinstance(recorded, Exception) or isinstance(plain, Exception):
        yield f"backward gives {plain!r}, with create_graph {recorded!r}"
        return
    for number, (one, other) in enumerate(zip(plain, recorded, strict=True)):
        same = one is other if one is None or other is None else close(numbers(one), numbers(other), 1e-12, 1e-12)
        if not same:
            yield f"gradient {number} is {brief(one)}, with create_graph {brief(other)}"


def describe(error: Exception | None) -> str:
    return f"{type(error).__name__}({str(error).splitlines()[0] if str(error) else ''})"


def brief(value: Any) -> str:
    return " ".join(repr(value).split())[:160]


def _indented(array: Any) -> str:
    return "\n".join("        " + line for line in str(array).splitlines())
