"""What a declared op is: a kernel, its schema, its derivatives, and in what it differs from other ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from types import FunctionType
from typing import Any, TypeVar

from minitorch.dispatch.formulas import Formula
from minitorch.dispatch.recording import Recording
from minitorch.dispatch.schema import Schema
from minitorch.dtypes import BOOL, COMPLEX, DTYPES, FLOATING, INTEGER, dtype

KEEP, TO_FLOAT, NONE = "keep", "to float", "none"
"""What promotion does to the arguments: find the common dtype; find it and make integers floats; leave all alone."""

CASTS = "casts"
COMPUTES, COMPUTES_FLOATS = "computes in it", "computes in it if it is floating"
"""What `out=` of another type means for an op: its result is cast, or computed in that type."""


@dataclass(frozen=True, slots=True)
class Types:
    """In which types an op computes."""

    promotion: str = NONE
    """KEEP, TO_FLOAT or NONE."""
    promoted: tuple[str, ...] | None = None
    """The parameters that take part in it, where these are not all tensors."""
    upcast: bool = False
    """Whether two-byte floats compute in float32. Numbers among them are rounded to their type first."""
    exact: tuple[str, ...] = ()
    """The parameters whose numbers are not rounded."""
    in_range: tuple[str, ...] = ()
    """The parameters whose numbers have to be in the range of the common type; others are cast to it."""
    check: Callable[..., None] | None = None
    """Is called with the arguments before they are promoted, if their types differ, and may refuse them."""
    categories: tuple[int, ...] = (BOOL, INTEGER, FLOATING, COMPLEX)
    """Those of the common types that the op computes in."""
    takes_numbers: bool = False
    """Whether it computes with numbers alone, as in torch.add(1, 2.0)."""
    number_is_parameter: bool = False
    """Whether a number stays a number, where other ops treat it as a 0-dim tensor."""


@dataclass(frozen=True, slots=True)
class Memory:
    """How a result lies in memory."""

    is_view: bool = False
    """Whether it shares the memory of the first argument."""
    elementwise: bool = False
    """Whether it lies as the arguments do."""
    format_from: tuple[str, ...] = ()
    """Its channels are last if one of these arguments has its channels last."""
    order: Callable[..., Any] | None = None
    """The rule, called with the op, the array module, the arguments and the result; None keeps the kernel's order."""


@dataclass(frozen=True, slots=True)
class Writes:
    """What an op may write, and into which memory."""

    edits: bool = False
    """Whether the kernel writes into its first array and returns it: a copy, or in place the tensor's own memory."""
    overlap: tuple[str, ...] = ()
    """How the aliasing checks differ from those of other ops: see `overlap.py`."""
    written_value: str = ""
    """The parameter that may alias the written memory."""
    on_expanded: tuple[str, str] | None = None
    """Warn instead of raising if the written tensor is expanded: the method's name, and the indexing that means it."""
    unchanged: Callable[[Sequence[Any]], bool] | None = None
    """Returns whether the call leaves all elements as they are."""
    redirect: Callable[[Sequence[Any]], tuple[Op, Sequence[Any]] | None] | None = None
    """Returns an equivalent op and its arguments, or None."""
    out_type: str = ""
    """Policy for `out=` of another dtype: CASTS, the default of elementwise ops, one that computes in it, or one of
    `out_types`.
    """


@dataclass(frozen=True, slots=True)
class Devices:
    """Where the arguments of an op may lie."""

    from_cpu: tuple[str, ...] = ()
    """Parameters that accept a CPU tensor while the op runs on a GPU. Elementwise ops always accept 0-dim ones."""
    elsewhere: Mapping[str, Callable[..., str]] = field(default_factory=dict)
    """Error messages for a tensor on the wrong device, by parameter: each a function of the op's arguments, by name."""
    autocast_on_gpu: str = ""
    """The autocast policy that applies on GPUs only (`autocast.POLICIES`)."""


Record = TypeVar("Record", Types, Memory, Writes, Devices)


class Op:
    """A declared op.

    What `apply` asks in every call and would have to work out from the records is worked out once: the number of
    `leading` tensors that need no further look, whether it `is_binary`, the positions that are `promoted` and the
    dtypes that it `computes_in` as they are.
    """

    __slots__ = (
        *("aten", "devices", "functions", "kernel", "memory", "name", "no_elements", "no_tensors", "outputs"),
        *("recording", "schema", "takes_sparse", "types", "writes"),
        *("computes_in", "is_binary", "leading", "promoted"),
    )

    def __init__(
        self,
        kernel: FunctionType,
        derivatives: Mapping[str, Formula],
        *,
        prefix: str = "",
        keyword_only: str = "",
        number_first: str = "",
        outputs: Callable[..., Any] | None = None,
        node: str | Callable[..., str] | None = None,
        saves_all: bool = False,
        takes_sparse: bool = False,
        aten: str | Callable[..., str] = "",
        no_elements: str = "",
        no_tensors: str = "",
        **options: Any,
    ) -> None:
        """The options are explained at `declare`, and those of the records there."""
        self.kernel = kernel
        self.name = prefix + kernel.__name__.rstrip("_")
        self.aten, self.outputs, self.takes_sparse = aten or self.name, outputs, takes_sparse
        self.no_elements, self.no_tensors = no_elements, no_tensors
        self.schema = schema = Schema.of(kernel, self.name, keyword_only, number_first)
        self.types, self.memory = _taken(Types, options), _taken(Memory, options)
        self.writes, self.devices = _taken(Writes, options), _taken(Devices, options)
        if options:
            raise TypeError(f"an op has no option {next(iter(options))!r}")
        self.recording = Recording(
            schema,
            derivatives,
            node,
            edits=self.writes.edits,
            saves_all=saves_all,
            saves_number=self.types.number_is_parameter,
        )
        self.functions: dict[str, Callable[..., Any]] = {}  # the public ones, by what of `dispatch.apply` they call

        names, all_tensors = self.types.promoted, schema.tensors + schema.sequences
        promoted = all_tensors if names is None else [schema.positions[name] for name in names]
        self.promoted = frozenset(promoted if self.types.promotion != NONE else ())
        self.computes_in = frozenset(each for each in DTYPES if _computes_in(self, each))
        starts = schema.tensors in ((0,), (0, 1)) and not schema.sequences and not self.writes.edits
        self.leading = len(schema.tensors) if starts else 0
        self.is_binary = self.leading == 2 and len(self.promoted) == 2 and 1 in schema.scalars

    def aten_name(self, args: Sequence[Any]) -> str:
        """What PyTorch calls the op that computes with these arguments, in tables and errors."""
        return self.aten if isinstance(self.aten, str) else self.aten(*args)

    def twin(
        self,
        node: str | Callable[..., str],
        formulas: Mapping[str, Formula] | None = None,
        saves_number: bool = False,
    ) -> Op:
        """The same op with another node name and, if `formulas` are given, other derivatives, as in-place forms have.

        With `saves_number`, the node saves a number as a number, not as a tensor.
        """
        twin, own = copy(self), self.recording
        twin.recording = Recording(
            self.schema,
            formulas or own.formulas,
            node,
            edits=self.writes.edits,
            saves_all=own.saves_all,
            saves_number=saves_number or own.saves_number,
        )
        return twin


def _taken(record: type[Record], options: dict[str, Any]) -> Record:
    """A record of its own options, which are taken out of all options."""
    return record(**{each.name: options.pop(each.name) for each in fields(record) if each.name in options})


def _computes_in(op: Op, kind: dtype) -> bool:
    """Whether the op computes in a dtype as it is."""
    types = op.types
    becomes_float = types.promotion == TO_FLOAT and kind.category < FLOATING
    becomes_float32 = types.upcast and kind.is_low_precision
    return kind.category in types.categories and not (op.promoted and (becomes_float or becomes_float32))
