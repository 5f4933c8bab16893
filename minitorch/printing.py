"""How a tensor prints: every character as PyTorch prints it.

All numbers of one tensor share one notation and one width, chosen from the numbers that are shown:

* integers, whole-number floats (``1.``), fixed point (``0.5000``) or scientific (``5.0000e-05``);
* right-aligned, wrapped at ``linewidth``, one pair of brackets per dimension;
* a tensor of more than ``threshold`` elements shows only the first and last ``edgeitems`` of each dimension.

What the numbers don't tell (device, size, dtype, gradient) follows as suffixes.

Source of the rules: https://pytorch.org/docs/stable/generated/torch.set_printoptions.html and torch/_tensor_str.py.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.devices import goes_without_saying
from minitorch.dtypes import bool_, complex64, complex128, float64, get_default_dtype, int64

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclasses.dataclass
class PrintOptions:
    """What `set_printoptions` sets; the defaults are the profile ``"default"``."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PRINT_OPTS = PrintOptions()

PROFILES: dict[str, dict[str, float]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print from now on; an option left at None stays as it is, except `sci_mode`.

    Args:
        precision: digits after the decimal point.
        threshold: number of elements above which a tensor is summarised.
        edgeitems: elements shown at each end of a summarised dimension.
        linewidth: characters per line.
        profile: ``"default"``, ``"short"`` or ``"full"``, applied before the other options; as in PyTorch, any other
            name changes nothing.
        sci_mode: scientific notation always (True), never (False), or where the numbers need it (None). As in PyTorch,
            every call sets it, so a call without it returns to None.

    As in PyTorch, values are not checked here: one that makes no sense raises at the next print.

    Source: https://pytorch.org/docs/stable/generated/torch.set_printoptions.html
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes = {name: value for name, value in given.items() if value is not None}
    if profile is not None:
        changes = PROFILES.get(profile, {}) | changes
    for name, value in changes.items():
        setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the current options as keyword arguments for `set_printoptions`."""
    return dataclasses.asdict(PRINT_OPTS)


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Set the options of `set_printoptions` inside a ``with`` block and restore the old ones after it."""
    before = get_printoptions()
    try:
        set_printoptions(**options)
        yield
    finally:
        set_printoptions(**before)


def host_array(tensor: Any) -> Any:
    """Return the tensor's elements as a NumPy array in host memory, outside the autograd graph."""
    return tensor.device.backend.to_host(tensor._elements)


def tensor_repr(tensor: Any) -> str:
    """Return ``repr(tensor)``: the elements, then what they don't tell, e.g. ``tensor([1, 2], dtype=torch.int32)``.

    A subclass prints under its own name. Raises for options that make no sense (see `set_printoptions`).
    """
    prefix = ("tensor" if type(tensor).__name__ in ("Tensor", "Parameter") else type(tensor).__name__) + "("
    return _append_suffixes(prefix + _contents(tensor, len(prefix)), _suffixes(tensor), len(prefix))


def parameter_repr(parameter: Any) -> str:
    """Return the ``repr`` of an `nn.Parameter`; a subclass of it is named once more around its elements."""
    text = tensor_repr(parameter)
    return "Parameter containing:\n" + (text if type(parameter).__name__ == "Parameter" else f"Parameter({text})")


def tensor_format(tensor: Any, spec: str) -> str:
    """Return ``format(tensor, spec)``: that of the Python number for a 0-dimensional plain tensor, else of its text.

    Raises TypeError for a spec of any other tensor, ValueError for one that is no format of the Python number.
    """
    if tensor.shape or tensor.is_meta or type(tensor).__name__ != "Tensor":
        return object.__format__(tensor, spec)
    return format(host_array(tensor).item(), spec)


def _suffixes(tensor: Any) -> list[str]:
    """What the elements don't tell, in PyTorch's order: device, size, dtype, gradient."""
    default = get_default_dtype()
    # From no elements nothing can be inferred, so only the default dtype goes without saying.
    hidden = tensor.is_meta or 0 in tensor.shape
    inferred = {default} if hidden else {default, complex128 if default is float64 else complex64, int64, bool_}
    show_size = tensor.is_meta or (len(tensor.shape) != 1 if hidden else not PRINT_OPTS.edgeitems)

    suffixes = []
    if not goes_without_saying(tensor.device):
        suffixes.append(f"device='{tensor.device}'")
    if show_size:
        suffixes.append(f"size={tuple(tensor.shape)}")
    if tensor.dtype not in inferred:
        suffixes.append(f"dtype={tensor.dtype}")
    if (name := _grad_fn_name(tensor)) is not None:
        suffixes.append(f"grad_fn=<{name}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    return suffixes


def _grad_fn_name(tensor: Any) -> str | None:
    try:
        grad_fn = tensor.grad_fn
    except RuntimeError:
        # A view whose base was changed in a way that autograd forbids has no valid history, but it can still be shown.
        return "Invalid"
    return None if grad_fn is None else grad_fn.name().rpartition("::")[2]


def _append_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    """Append the suffixes and the closing bracket, on a new line wherever `linewidth` would be exceeded."""
    # PyTorch counts two characters too many for the line that the elements end on.
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if column + len(suffix) + 2 > PRINT_OPTS.linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text + ")"


def _contents(tensor: Any, indent: int) -> str:
    """The elements in their brackets; `indent` is the column of the first bracket."""
    if tensor.is_meta:
        return "..."
    array = host_array(tensor)
    if array.size == 0:
        return "[]"
    cut = [False] * array.ndim
    if array.ndim and array.size > PRINT_OPTS.threshold:
        edge = PRINT_OPTS.edgeitems
        if not edge:
            return "[...]"
        cut = [size > 2 * edge for size in array.shape]
        shown = [
            [*range(edge), *range(size - edge, size)] if is_cut else range(size)
            for size, is_cut in zip(array.shape, cut, strict=True)
        ]
        # A single gather, so that the elements not shown are never copied.
        array = array[np.ix_(*shown)]

    # Python's numbers hold every dtype's values exactly, so nothing below depends on the dtype.
    values = array.ravel().tolist()
    if tensor.dtype.is_complex:
        cells, width = _complex_cells(values)
    else:
        texts, width = _float_texts(values) if tensor.dtype.is_floating_point else _integer_texts(values)
        cells = [text.rjust(width) for text in texts]
    return _layout(np.array(cells, dtype=object).reshape(array.shape), cut, indent, width)


def _integer_texts(values: list[int]) -> tuple[list[str], int]:
    """The text of each integer or bool, and the width of the longest."""
    texts = [str(value) for value in values]
    return texts, max(map(len, texts))


def _float_texts(values: list[float]) -> tuple[list[str], int]:
    """The text of each float in the notation that suits all, and the width of the longest finite nonzero one."""
    magnitudes = [abs(value) for value in values if value and math.isfinite(value)]
    smallest, largest = min(magnitudes, default=1.0), max(magnitudes, default=1.0)
    scientific = PRINT_OPTS.sci_mode
    if scientific is None:
        scientific = largest / smallest > 1000 or largest > 1e8 or smallest < 1e-4

    if scientific and magnitudes:
        texts = [format(value, f".{PRINT_OPTS.precision}e") for value in values]
    elif all(magnitude.is_integer() for magnitude in magnitudes):
        texts = [format(value, ".0f") + "." * math.isfinite(value) for value in values]
    else:
        texts = [format(value, f".{PRINT_OPTS.precision}f") for value in values]
    # Zeros, infinities and nan take the width that the others set.
    width = max(
        (len(text) for value, text in zip(values, texts, strict=True) if value and math.isfinite(value)), default=1
    )
    return texts, width


def _complex_cells(values: list[complex]) -> tuple[list[str], int]:
    """The text of each complex number, its real part aligned, and the greatest width that one may take."""
    real_texts, real_width = _float_texts([value.real for value in values])
    imag_texts, imag_width = _float_texts([value.imag for value in values])
    cells = [
        real.rjust(real_width) + ("" if imag.startswith("-") else "+") + imag + "j"
        for real, imag in zip(real_texts, imag_texts, strict=True)
    ]
    return cells, real_width + imag_width + 1


def _layout(cells: npt.NDArray[np.object_], cut: list[bool], indent: int, width: int) -> str:
    """Bracket the cells of an array, dimension by dimension, with ``...`` in the middle of those that were cut."""
    if cells.ndim == 0:
        return str(cells.item())
    if cells.ndim == 1:
        row = cells.tolist()
        if cut[0]:
            row.insert(PRINT_OPTS.edgeitems, " ...")
        per_line = max(1, math.floor((PRINT_OPTS.linewidth - indent) / (width + 2)))
        parts = [", ".join(row[start : start + per_line]) for start in range(0, len(row), per_line)]
    else:
        parts = [_layout(part, cut[1:], indent + 1, width) for part in cells]
        if cut[0]:
            parts.insert(PRINT_OPTS.edgeitems, "...")
    newlines = "\n" * max(1, cells.ndim - 1)
    return "[" + ("," + newlines + " " * (indent + 1)).join(parts) + "]"
