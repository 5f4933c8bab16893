"""What `help` says of a function beside its formula: whatever the declaration states, so that no docstring repeats it.

A declaration states how results are shaped and typed, which arguments may be numbers, what has a derivative, which
forms exist, and with that what the dispatcher refuses. The docstring in the source is left with the formula, what is
peculiar to the op, and what its own kernel raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import cleandoc
from types import FunctionType
from typing import Any

from minitorch.dispatch.formulas import NOT_IMPLEMENTED
from minitorch.dispatch.op import CASTS, COMPUTES, COMPUTES_FLOATS, TO_FLOAT, Op
from minitorch.dispatch.schema import REQUIRED

_PARAGRAPH, _LINE, _NESTED = "\n\n    ", "\n    ", "\n        "
_DIMS = {"dim", "dims", "dim0", "dim1", "start_dim"}
_BY_DEFAULT = {None: ", by default all,", -1: ", by default the last,", 0: ", by default the first,"}


def of_op(op: Op, text: str | None, name: str, variants: str, namespace: str) -> str | None:
    """The docstring of an op's function and method: that of the kernel, what the declaration states, and the source."""
    if not text or not variants or name[0] == "_" or name[-1] == "_":
        return text
    text, page = _parted(text, name, variants, namespace)
    annotations = op.kernel.__annotations__
    result = annotations.get("return", "")
    schema, edits = op.schema, op.writes.edits
    names = [_public(each) for each in schema.parameters]
    tensors = [names[each] for each in schema.tensors]
    lines = []
    if op.memory.elementwise and not edits:
        lines.append(f"Returns a tensor {_elementwise(op, tensors, result)}.")
    elif "eturns" in text:
        lines += _reduced("The dimension", schema.parameters, schema.defaults, annotations)
    else:
        what = _returned(op, result)
        lines += _reduced(f"Returns {what}. The dimension", schema.parameters, schema.defaults, annotations) or [
            f"Returns {what}."
        ]
    if numbers := [names[each] for each in schema.tensors if each in schema.scalars]:
        lines.append(f"{_all(numbers)} may be {'numbers' if len(numbers) > 1 else 'a number'}.")
    if op.recording.formulas and op.recording.node_name != NOT_IMPLEMENTED and result != "BoolArray":
        inputs = [names[each] for each in op.recording.differentiable]
        lines.append(f"Differentiable in {_all(inputs)}.")
    if "out" in variants:
        lines.append(_OUT[op.writes.out_type in (CASTS, COMPUTES, COMPUTES_FLOATS)])
    several = len(tensors) > 1 or bool(schema.sequences)
    lines.append(_refused(schema.parameters, True, several, several and op.memory.elementwise and not edits))
    return text + _PARAGRAPH + _LINE.join(lines) + _PARAGRAPH + page + _LINE


def of_composite(function: Callable[..., Any], variants: str, namespace: str, out_type: str) -> str | None:
    """The docstring of a function written with other ops: its own, what its parameters state, and the source."""
    text, name = function.__doc__, function.__name__
    if not text or name[0] == "_" or name[-1] == "_":
        return text
    text, page = _parted(text, name, variants, namespace)
    if text.count(_LINE) == text.count(_NESTED):  # written inside a function that makes functions
        text = text.replace(_NESTED, _LINE)
    annotations, code = function.__annotations__, function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    given = function.__defaults__ or ()
    result = annotations.get("return", "")
    lines = [f"Returns a Python {result}."] if result in ("bool", "int", "str") else []
    lines += _reduced("The dimension", names, (REQUIRED,) * (code.co_argcount - len(given)) + given, annotations)
    if "reduction" in names:
        lines.append(_REDUCTION)
    if "out" in variants:
        lines.append(_OUT[out_type == CASTS])
    if refused := _refused(names, "Tensor" in annotations.values() and "function" in variants, False, False):
        lines.append(refused)
    lines = [each for each in lines if each not in text]  # which a function of two namespaces has already
    return text + "".join((_PARAGRAPH, _LINE.join(lines)) if lines else ()) + _PARAGRAPH + page + _LINE


def of_in_place(text: str | None, name: str, variants: str, namespace: str = "torch") -> str | None:
    """The docstring of the form that writes into `self`."""
    if not text or name[0] == "_":
        return text
    text, page = _parted(text, name if "function" in variants else name + "_", variants, namespace)
    return (
        f"`{name}` in place: {text}{_PARAGRAPH}"
        f"Writes the result into `self`, whose shape and dtype stay, and returns `self`.{_LINE}"
        f"Raises RuntimeError if the result has another shape or a dtype that can't be cast to that of `self`,{_LINE}"
        f"and for a leaf that requires a gradient, unless gradients are disabled.{_PARAGRAPH}{page}{_LINE}"
    )


_WITHOUT_PAGE = {"data", "dtype", "grad_fn", "is_cpu", "output_nr"}


def of_attributes(tensors: type) -> None:
    """Names PyTorch's page below the docstrings of a tensor's methods and properties that name no source."""
    for base in tensors.__mro__[:-1]:
        for name, value in vars(base).items():
            text = getattr(value, "__doc__", None)
            if isinstance(value, (FunctionType, property)) and name[0] != "_" and text and "://" not in text:
                page = "tensors.html" if name in _WITHOUT_PAGE else f"generated/torch.Tensor.{name}.html"
                value.__doc__ = f"{cleandoc(text)}\n\nSource: https://pytorch.org/docs/stable/{page}"


def parted(text: str) -> tuple[str, str]:
    """A docstring without the address of a page of PyTorch's at its end, and that address, or nothing."""
    text = text.rstrip()
    own, scheme, address = text.rpartition("https://pytorch.org/")
    if scheme and own and " " not in address:
        return own.rstrip().removesuffix("Source:").rstrip(), scheme + address
    return text, ""


def _parted(text: str, name: str, variants: str, namespace: str) -> tuple[str, str]:
    """A docstring without its address, and a line with that, or else with the one of PyTorch's page on the function."""
    text, address = parted(text)
    if text.endswith("PyTorch has no page about it."):
        return text.removesuffix("PyTorch has no page about it.").rstrip(), "Source: the formula; PyTorch has no page."
    if not address:
        place = {"torch": "torch" if "function" in variants else "torch.Tensor"}.get(namespace, f"torch.{namespace}")
        page = f"special.html#{place}.{name}" if namespace == "special" else f"generated/{place}.{name}.html"
        address = f"https://pytorch.org/docs/stable/{page}"
    return text, f"Source: {address}"


def _elementwise(op: Op, tensors: Sequence[str], result: str) -> str:
    """Shape and dtype of an elementwise result."""
    shape = f"of the shape that {_all(tensors)} broadcast to" if len(tensors) > 1 else f"of the shape of {tensors[0]}"
    if result == "BoolArray":
        return f"{shape}, of dtype bool"
    if not op.promoted:
        return shape
    kind = "in their common dtype" if len(op.promoted) > 1 else "in its dtype"
    else_default = ", or the default dtype for integers and bools" if op.types.promotion == TO_FLOAT else ""
    return f"{shape}, {kind}{else_default}"


def _returned(op: Op, result: str) -> str:
    """What comes back, where the docstring doesn't say."""
    if op.memory.is_view:
        return "a view, which shares the memory of `input`"
    if op.writes.edits:
        return "a changed copy of `input`, of its shape and dtype"
    if fields := getattr(op.outputs, "_fields", None):
        return f"a named tuple ({', '.join(fields)})"
    if result == "BoolArray":
        return "a new tensor of dtype bool"
    return "a tuple of tensors" if result.startswith(("tuple", "list")) else "a new tensor"


def _reduced(start: str, names: Sequence[str], defaults: Sequence[Any], annotations: Mapping[str, Any]) -> list[str]:
    """Which dimensions a reduction removes."""
    if "keepdim" not in names or "dim" not in names:
        return []
    default = defaults[names.index("dim")]
    which = "" if default is REQUIRED else _BY_DEFAULT.get(default, "")
    if annotations["dim"] == "Dims":
        return [f"{start}s `dim`{which} are removed from its shape; they stay with size 1 if `keepdim` is True."]
    return [f"{start} `dim`{which} is removed from its shape; it stays with size 1 if `keepdim` is True."]


_OUT = (
    "`out=` takes a tensor that is resized to fit and written into; its dtype must be the result's (RuntimeError).",
    "`out=` takes a tensor that is resized to fit and written into, in its own dtype if the result can be cast to it.",
)
"""What it means, by whether the op casts."""

_REDUCTION = (
    f'Returns the mean or the sum of the losses as a 0-d tensor, or with `reduction="none"` each of them.{_LINE}'
    "Raises ValueError for another `reduction`."
)


def _refused(names: Iterable[str], takes_tensors: bool, several: bool, broadcasts: bool) -> str:
    """What the dispatcher raises, whatever the op."""
    errors = []
    if takes_tensors:
        errors.append("TypeError where a tensor is expected and something else is given")
    if several:
        which = "shapes that can't be broadcast or for " if broadcasts else ""
        errors.append(f"RuntimeError for {which}tensors on different devices")
    if not _DIMS.isdisjoint(names):
        errors.append("IndexError for a dimension out of range")
    return f"Raises {f',{_LINE}'.join(errors)}." if errors else ""


def _public(name: str) -> str:
    return "`input`" if name == "self" else f"`{name}`"


def _all(names: Sequence[str]) -> str:
    """Names as a sentence lists them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
