"""How an op's tests are declared: its name and its sample inputs. README.md describes the format."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import ml_dtypes
import numpy as np

DTYPES = (
    "bool", "uint8", "int8", "int16", "int32", "int64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip

BITS = ("conjugate", "negative")

CASES: list[Case] = []
UNTESTED: dict[str, str] = {}
"""Names without a case, and why that is right."""


@dataclass(frozen=True)
class Sample:
    """The arguments of one call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    differentiable: bool = True
    worded: bool = True

    def kink(self) -> Sample:
        """At a kink or tie: the gradient is compared with torch's, but not with finite differences."""
        return replace(self, differentiable=False)

    def type_only(self) -> Sample:
        """Of an error, only the type is compared and not the message."""
        return replace(self, worded=False)


def args(*positional: Any, **named: Any) -> Sample:
    """A sample: the arguments as they stand in a call."""
    return Sample(positional, named)


@dataclass(frozen=True)
class Case:
    """One op: where torch has it, and what to call it with."""

    name: str
    samples: Callable[[Make], Sequence[Sample]]
    errors: Callable[[Make], Sequence[Sample]] | None
    dtypes: tuple[str, ...]
    strides: bool
    grad_fn: bool
    tolerance: float
    gradcheck: bool
    twice: bool
    layouts: bool

    def make(self, lib: Any, dtype: str, layout: str = "contiguous") -> Make:
        return Make(lib, dtype, zlib.crc32(self.name.encode()), layout)

    @property
    def in_place(self) -> bool:
        """Whether the op writes into its first argument."""
        last = self.name.rpartition(".")[2]
        if last.startswith("__"):
            return last in _IN_PLACE_OPERATORS
        return last.endswith("_")


_IN_PLACE_OPERATORS = {
    "__iadd__", "__isub__", "__imul__", "__itruediv__", "__idiv__", "__ifloordiv__", "__imod__", "__ipow__",
    "__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__", "__setitem__",
}  # fmt: skip


def case(
    names: str,
    samples: Callable[[Make], Sequence[Sample]],
    *,
    errors: Callable[[Make], Sequence[Sample]] | None = None,
    dtypes: str | Sequence[str] = DTYPES,
    strides: bool = True,
    grad_fn: bool = True,
    tolerance: float = 1.0,
    gradcheck: bool = True,
    twice: bool = True,
    layouts: bool = True,
) -> None:
    """Declares the tests of the op `names`; several names, separated by spaces, share samples but are tested each.

    A name is the path below `torch`: "mul", "nn.functional.relu", "linalg.inv", "Tensor.view", "Tensor.__getitem__".
    `samples` gives the calls to compare, `errors` the calls that must fail as torch's do, both for a `Make`.
    """
    chosen = tuple(dtypes.split()) if isinstance(dtypes, str) else tuple(dtypes)
    for name in names.split():
        CASES.append(Case(name, samples, errors, chosen, strides, grad_fn, tolerance, gradcheck, twice, layouts))


class Make:
    """Makes a sample's tensors, for one library in one dtype. The same calls in the same order give the same data.

    `layout` is how tensors lie in memory whose sample doesn't say; or "conjugate" or "negative": then all tensors that
    can be are such views.
    """

    def __init__(self, lib: Any, dtype: str, seed: int, layout: str = "contiguous") -> None:
        self.lib = lib
        self.dtype_name = dtype
        self.layout = layout
        self._random = np.random.default_rng(seed)
        self._constants: list[Any] = []

    @property
    def dtype(self) -> Any:
        """The library's dtype object: for arguments such as `dtype=make.dtype`."""
        return getattr(self.lib, self.dtype_name)

    def __call__(
        self,
        *shape: int,
        low: float = -2.0,
        high: float = 2.0,
        dtype: str | None = None,
        layout: str | None = None,
        requires_grad: bool = True,
    ) -> Any:
        """A tensor of random numbers in [low, high].

        `layout` is "contiguous", "transposed" (column-major), "sliced" (every second element along each dimension) or
        "expanded" (stride 0 along the first dimension). `requires_grad=False` keeps it out of all gradient checks.
        """
        name = dtype or self.dtype_name
        layout = layout or (self.layout if self.layout not in BITS else "contiguous")
        stored = tuple(2 * size for size in shape) if layout == "sliced" else shape
        data = cast(self._draw(stored, low, high, name), name)
        if layout == "transposed":
            data = np.asarray(data, order="F")
        elif layout == "sliced":
            data = data[(slice(None, None, 2),) * len(shape)]
        elif layout == "expanded":
            data = np.broadcast_to(data[:1].copy(), shape)
        elif layout != "contiguous":
            raise ValueError(f"no layout {layout!r}")
        return self._tensor(data, requires_grad)

    def of(self, data: Any, *, dtype: str | None = None, requires_grad: bool = True) -> Any:
        """A tensor of the given numbers."""
        name = dtype or self.dtype_name
        if not name.startswith(("float", "bfloat", "complex")):
            data = np.nan_to_num(
                np.asarray(data, np.float64), nan=0.0, posinf=100, neginf=0 if name == "uint8" else -100
            )
            data = np.abs(data) if name == "uint8" else data
        return self._tensor(cast(np.asarray(data), name), requires_grad)

    def index(self, *shape: int, below: int) -> Any:
        """An int64 tensor of random numbers in [0, below)."""
        return self._tensor(self._random.integers(0, max(below, 1), shape), False)

    def mask(self, *shape: int) -> Any:
        """A bool tensor."""
        return self._tensor(self._random.integers(0, 2, shape).astype(bool), False)

    def is_constant(self, tensor: Any) -> bool:
        return any(tensor is each for each in self._constants)

    def _draw(self, shape: tuple[int, ...], low: float, high: float, name: str) -> Any:
        if name == "bool":
            return self._random.integers(0, 2, shape)
        if name.startswith(("int", "uint")):
            lowest = int(np.ceil(max(low, 0) if name == "uint8" else low))
            return self._random.integers(lowest, max(lowest, int(high)) + 1, shape)
        real = self._random.uniform(low, high, shape)
        return real + 1j * self._random.uniform(low, high, shape) if name.startswith("complex") else real

    def _tensor(self, data: Any, requires_grad: bool) -> Any:
        tensor = with_bit(self.lib, tensor_of(self.lib, data), self.layout)
        if not requires_grad:
            self._constants.append(tensor)
        return tensor


def with_bit(lib: Any, tensor: Any, layout: str) -> Any:
    """The same elements in a tensor of which the conjugate or the negative bit is set, if the layout says so."""
    with lib.no_grad():
        if layout == "conjugate" and tensor.is_complex():
            return tensor.conj().resolve_conj().conj()
        if layout == "negative" and (tensor.is_complex() or tensor.is_floating_point()):
            return lib._neg_view(lib._neg_view(tensor).resolve_neg())
    return tensor


def tensor_of(lib: Any, data: Any) -> Any:
    """A NumPy array, of any strides, as a tensor of a library."""
    if not data.size:  # NumPy's strides are zero there
        return lib.zeros(data.shape, dtype=getattr(lib, data.dtype.name))
    if lib.__name__ == "torch" and data.dtype.name == "bfloat16":
        return lib.from_numpy(data.view(np.int16)).view(lib.bfloat16)
    return lib.from_numpy(np.asarray(data))


def cast(data: Any, name: str) -> Any:
    """Numbers as a NumPy array of a dtype given by its name in PyTorch."""
    return np.array(data, dtype=ml_dtypes.bfloat16 if name == "bfloat16" else name)


def leaves(value: Any, is_leaf: Callable[[Any], bool]) -> Iterator[Any]:
    """The tensors in nested lists, tuples and dicts."""
    if is_leaf(value):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from leaves(each, is_leaf)
    elif isinstance(value, dict):
        yield from leaves(list(value.values()), is_leaf)


def mapped(value: Any, is_leaf: Callable[[Any], bool], change: Callable[[Any], Any]) -> Any:
    """The same nesting with the tensors changed."""
    if is_leaf(value):
        return change(value)
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(mapped(each, is_leaf, change) for each in value)
    if isinstance(value, dict):
        return {key: mapped(each, is_leaf, change) for key, each in value.items()}
    return value
