"""What a declared op is: its kernel, its parameters, its derivatives, and in what it differs from other ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from types import FunctionType
from typing import TYPE_CHECKING, Any

from minitorch.dispatch.formulas import Derivative, Formula, parameters_of
from minitorch.dispatch.plan import Plan
from minitorch.dtypes import BOOL, COMPLEX, DTYPES, FLOATING, INTEGER

if TYPE_CHECKING:
    from minitorch.autograd.node import OpNode

KEEP, TO_FLOAT, NONE = "keep", "to float", "none"
"""What promotion does to the arguments: find the common dtype; find it and make integers floats; leave all alone."""

CASTS = "casts"
"""What `out=` of another type means for an op: its result is cast."""


class Op:
    """A declared op: the kernel, its parameters, its derivatives, and how its arguments are typed."""

    __slots__ = (
        "aten", "autocast_on_gpu", "categories", "check", "computes_in", "count", "defaults", "defaults_from",
        "derivatives", "differentiable", "edits", "elementwise", "elsewhere", "exact", "flags", "format_from",
        "formulas", "from_cpu", "functions", "gradient_sequence", "instead", "ints", "is_binary", "is_overloaded",
        "is_view", "kernel", "keyword_only_from", "leading", "name", "no_elements", "no_tensors", "node_name", "nodes",
        "number_first", "number_is_parameter", "numbers", "on_expanded", "optional", "order", "out_type", "outputs",
        "overlap", "parameters", "plans", "positions", "promoted", "required", "saves_all", "saves_number",
        "saves_self", "scalars", "sequences", "takes_numbers", "takes_sparse", "tensors", "to_float", "unchanged",
        "unchecked", "upcast", "variadic", "written_value",
    )  # fmt: skip

    def __init__(
        self,
        kernel: FunctionType,
        derivatives: Mapping[str, Formula],
        *,
        prefix: str = "",
        promotion: str = NONE,
        upcast: bool = False,
        categories: tuple[int, ...] = (BOOL, INTEGER, FLOATING, COMPLEX),
        is_view: bool = False,
        node: str | Callable[..., str] | None = None,
        outputs: Callable[..., Any] | None = None,
        promoted: tuple[str, ...] | None = None,
        edits: bool = False,
        check: Callable[..., None] | None = None,
        order: Callable[..., Any] | None = None,
        elementwise: bool = False,
        format_from: tuple[str, ...] = (),
        from_cpu: tuple[str, ...] = (),
        elsewhere: Mapping[str, Callable[..., str]] | None = None,
        exact: tuple[str, ...] = (),
        out_type: str = "",
        overlap: tuple[str, ...] = (),
        written_value: str = "",
        on_expanded: tuple[str, str] | None = None,
        unchanged: Callable[[Sequence[Any]], bool] | None = None,
        instead: Callable[[Sequence[Any]], tuple[Op, Sequence[Any]] | None] | None = None,
        saves_all: bool = False,
        number_is_parameter: bool = False,
        number_first: str = "",
        no_tensors: str = "",
        takes_sparse: bool = False,
        takes_numbers: bool = False,
        aten: str | Callable[..., str] = "",
        no_elements: str = "",
    ) -> None:
        """The options are explained at `declare`."""
        code = kernel.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        first = int(code.co_varnames[:1] == ("xp",))
        self.kernel = kernel
        self.name = prefix + kernel.__name__.rstrip("_")
        self.aten, self.no_elements = aten or self.name, no_elements
        self.parameters = code.co_varnames[first:count]
        self.count = count - first
        self.positions = {name: position for position, name in enumerate(self.parameters)}
        self.keyword_only_from = code.co_argcount - first
        self.required = self.keyword_only_from - len(kernel.__defaults__ or ())
        self.defaults = _defaults(kernel, self.parameters, self.keyword_only_from)
        self.defaults_from = [self.defaults[given:] for given in range(self.count + 1)]
        # `apply` has all arguments in order, and calls by position, which is fastest: here the `*` has no effect.
        kernel.__code__ = code.replace(co_argcount=count, co_kwonlyargcount=0)
        kernel.__defaults__ = self.defaults[self.required :]
        kinds = [kernel.__annotations__.get(name, "").replace("Tensor", "Array") for name in self.parameters]
        self.sequences = tuple(i for i, kind in enumerate(kinds) if kind.startswith("Sequence[Array"))
        self.tensors = tuple(i for i, kind in enumerate(kinds) if kind.startswith("Array"))
        self.scalars = frozenset(i for i, kind in enumerate(kinds) if "Number" in kind)
        self.numbers = self.scalars - frozenset(self.tensors)
        self.optional = frozenset(i for i, kind in enumerate(kinds) if "None" in kind)
        self.flags = tuple(i for i, kind in enumerate(kinds) if kind == "bool")
        self.ints = tuple(i for i, kind in enumerate(kinds) if kind in ("int", "int | None"))
        demanding = len(kernel.__kwdefaults__ or ()) < code.co_kwonlyargcount  # calls without a keyword are refused
        self.unchecked = -1 if demanding else min((self.keyword_only_from, *self.flags))
        self.variadic = kinds.index("Variadic") if "Variadic" in kinds else None
        if promotion == NONE:
            self.promoted: frozenset[int] = frozenset()
        elif promoted is None:
            self.promoted = frozenset(self.tensors + self.sequences)
        else:
            self.promoted = frozenset(self.positions[name] for name in promoted)
        self.to_float, self.upcast, self.categories = promotion == TO_FLOAT, upcast, categories
        self.computes_in = frozenset(
            each
            for each in DTYPES
            if each.category in categories
            and not (self.to_float and each.category < FLOATING and self.promoted)
            and not (upcast and each.is_low_precision and self.promoted)
        )
        self.is_view = is_view
        self.edits, self.check, self.order = edits, check, order
        self.format_from = tuple(self.positions[name] for name in format_from)
        self.elementwise = elementwise
        self.from_cpu, self.elsewhere = from_cpu, elsewhere or {}
        self.exact = frozenset(self.positions[name] for name in exact)
        self.node_name = node or "".join(part.capitalize() for part in self.name.strip("_").split("_")) + "Backward0"
        self.is_overloaded = callable(node)
        self.outputs = outputs
        self.out_type = out_type or (CASTS if elementwise else "")
        self.overlap = frozenset(overlap)
        self.written_value = self.positions.get(written_value)
        self.on_expanded, self.unchanged, self.instead = on_expanded, unchanged, instead
        self.number_is_parameter = self.saves_number = number_is_parameter
        self.number_first, self.no_tensors, self.autocast_on_gpu = number_first, no_tensors, ""
        self.takes_sparse, self.takes_numbers, self.saves_all = takes_sparse, takes_numbers, saves_all
        self.leading = len(self.tensors) if self.tensors in ((0,), (0, 1)) and not self.sequences and not edits else 0
        self.is_binary = self.leading == 2 and len(self.promoted) == 2 and 1 in self.scalars
        self.differentiable = self._inputs_of(derivatives)
        self.gradient_sequence = next((each for each in self.differentiable if each in self.sequences), None)
        self.saves_self = edits and any("self" in parameters_of(formula) for formula in derivatives.values())
        self.formulas = derivatives
        self.derivatives: tuple[Derivative, ...] | None = None
        self.nodes: dict[str, type[OpNode]] = {}
        self.functions: dict[str, Callable[..., Any]] = {}  # the public ones, by what of `dispatch.apply` they call
        self.plans: dict[Any, Plan] = {}

    def _inputs_of(self, formulas: Mapping[str, Formula]) -> tuple[int, ...]:
        """The parameters that the formulas are for."""
        return tuple(sorted(self.positions[name.strip()] for names in formulas for name in names.split(",")))

    def plan(self, mask: int, args: Sequence[Any]) -> Plan:
        """What to save and which formulas to run when the inputs in the bit set `mask` need gradients."""
        key: Any = (mask, self.node_name(*args)) if self.is_overloaded else mask  # type: ignore[operator]
        plan = self.plans.get(key)
        if plan is None:
            if self.derivatives is None:  # not before, since hundreds of ops are declared and few are differentiated
                self.derivatives = tuple(Derivative(self, names, each) for names, each in self.formulas.items())
            plan = self.plans[key] = Plan(self, mask, args)
        return plan

    def aten_name(self, args: Sequence[Any]) -> str:
        """What PyTorch calls the op that computes with these arguments, in tables and errors."""
        return self.aten if isinstance(self.aten, str) else self.aten(*args)

    def twin(
        self,
        node_name: str | Callable[..., str],
        formulas: Mapping[str, Formula] | None = None,
        saves_number: bool = False,
    ) -> Op:
        """The same op with another name of its node, and other derivatives if given: those of the form in place.

        `saves_number` says that the node keeps a number as such, not as a tensor.
        """
        twin = copy(self)
        twin.node_name, twin.is_overloaded, twin.nodes, twin.plans = node_name, callable(node_name), {}, {}
        twin.saves_number = saves_number or self.saves_number
        twin.formulas, twin.derivatives = formulas or self.formulas, None
        twin.differentiable = self._inputs_of(twin.formulas)
        return twin

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """All arguments in the order of the signature, defaults filled in.

        Raises TypeError as PyTorch's parser does.
        """
        if self.number_first and len(args) == self.keyword_only_from + 1:
            args, kwargs = (args[0], *args[2:]), {self.number_first: args[1], **kwargs}
        if len(args) > self.keyword_only_from:
            raise self._too_many(len(args))
        bound = list(args) + list(self.defaults[len(args) :])
        for name, value in kwargs.items():
            names = (name, *ALIASES.get(name, ()))
            position = next((self.positions[each] for each in names if each in self.positions), None)
            if position is None:
                raise TypeError(f"{self.name}() got an unexpected keyword argument '{name}'")
            if position < len(args):
                raise TypeError(f"{self.name}() got multiple values for argument '{name}'")
            if position in self.numbers and hasattr(value, "requires_grad"):
                if value.dim() or value.requires_grad:
                    raise TypeError(f"{self.name}(): argument '{name}' must be Number, not Tensor")
                value = value.item()
            bound[position] = value
        self._check_bound(bound, len(args))
        return bound

    def _too_many(self, given: int) -> TypeError:
        """The error for too many arguments by position. As of a method, `self` isn't counted."""
        own = int(self.parameters[0] == "self")
        least, most, given = self.required - own, self.keyword_only_from - own, given - own
        if not most:
            return TypeError(f"TensorBase.{self.name}() takes no arguments ({given} given)")
        count = (
            f"{most} positional argument{'s' * (most > 1)}"
            if least == most
            else f"from {least} to {most} positional arguments"
        )
        return TypeError(f"{self.name}() takes {count} but {given} were given")

    def _check_bound(self, bound: list[Any], count: int) -> None:
        """Raises TypeError if an argument is missing, something else is given for a bool, or a bool for an int; the
        first `count` of all arguments were given by position.
        """
        if any(value is REQUIRED for value in bound):
            missing = [_public(name) for name, value in zip(self.parameters, bound, strict=True) if value is REQUIRED]
            raise TypeError(
                f"{self.name}() missing {len(missing)} required positional argument{'s' * (len(missing) == 1)}: "
                + ", ".join(f'"{name}"' for name in missing)
            )
        for position in self.flags:
            if bound[position].__class__ is not bool:
                place = f" (position {position + 1})" if position < count else ""
                kind = bound[position].__class__.__name__
                raise TypeError(
                    f"{self.name}(): argument '{self.parameters[position]}'{place} must be bool, not {kind}"
                )
        if any(bound[position].__class__ is bool for position in self.ints):
            raise TypeError("an integer must be int, not bool")  # `arguments` says which


class Required:
    """The default of a parameter that has none."""

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


REQUIRED = Required()
ALIASES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("a", "x", "x1"), ("self", "input", "A")),
    "axis": ("dim",),
    "axis0": ("dim0",),
    "axis1": ("dim1",),
    "element": ("elements",),
    "from": ("from_",),
    "input": ("self", "A"),
    "keepdims": ("keepdim",),
    "self": ("input",),
    "test_element": ("test_elements",),
    "x2": ("other",),
}
"""Keywords that a function takes for those of its parameters: NumPy's names, which PyTorch takes too, the names of
older functions, and those of other overloads.
"""


def _public(name: str) -> str:
    return "input" if name == "self" else name


def _defaults(kernel: FunctionType, parameters: tuple[str, ...], positional: int) -> tuple[Any, ...]:
    given = kernel.__defaults__ or ()
    named = kernel.__kwdefaults__ or {}
    values: list[Any] = [REQUIRED] * (positional - len(given)) + list(given)
    return tuple(values + [named.get(name, REQUIRED) for name in parameters[positional:]])
