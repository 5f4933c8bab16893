"""What an op takes: its parameters, and how the arguments of a call become theirs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import FunctionType
from typing import Any


@dataclass(frozen=True, slots=True)
class Schema:
    """The parameters of an op, which PyTorch declares in native_functions.yaml and its kernel here.

    They are read from the kernel's signature after `xp`. Where a field holds positions, they count from 0.
    """

    name: str
    parameters: tuple[str, ...]
    positions: dict[str, int]
    count: int
    """How many parameters there are."""
    required: int
    """How many of those that may be given by position have no default."""
    defaults: tuple[Any, ...]
    """Of all parameters; REQUIRED where there is none."""
    defaults_from: tuple[tuple[Any, ...], ...]
    """The defaults of all parameters from a position on."""
    keyword_only_from: int
    """The position from which arguments are given by keyword alone."""
    number_first: str
    """A factor that older programs give before the operands: x.addcmul_(value, tensor1, tensor2)."""
    tensors: tuple[int, ...]
    """The positions annotated `Array`."""
    sequences: tuple[int, ...]
    """Those annotated `Sequence[Array]`."""
    scalars: frozenset[int]
    """Those that a number may be given for."""
    numbers: frozenset[int]
    """Those that only a number may be given for."""
    optional: frozenset[int]
    """Those that None may be given for."""
    flags: tuple[int, ...]
    """Those annotated `bool`."""
    ints: tuple[int, ...]
    """Those annotated `int`, for which PyTorch takes no bool."""
    variadic: int | None
    """The position from which ints may be given one by one: x.expand(2, 3)."""
    unchecked: int
    """Up to how many arguments, all by position, need no look at their kinds."""

    @classmethod
    def of(cls, kernel: FunctionType, name: str, keyword_only: str, number_first: str) -> Schema:
        """The schema of a kernel. `keyword_only` names the first parameter that is given by keyword alone."""
        code = kernel.__code__
        parameters = code.co_varnames[code.co_varnames[:1] == ("xp",) : code.co_argcount]
        given = kernel.__defaults__ or ()
        defaults = (REQUIRED,) * (len(parameters) - len(given)) + given
        kinds = [kernel.__annotations__.get(each, "").replace("Tensor", "Array") for each in parameters]
        tensors = _places(kind.startswith("Array") for kind in kinds)
        scalars = frozenset(_places("Number" in kind for kind in kinds))
        flags = _places(kind == "bool" for kind in kinds)
        named_from = parameters.index(keyword_only) if keyword_only else len(parameters)
        demands = REQUIRED in defaults[named_from:]  # calls without a keyword are refused
        return cls(
            name=name,
            parameters=parameters,
            positions={each: position for position, each in enumerate(parameters)},
            count=len(parameters),
            required=defaults[:named_from].count(REQUIRED),
            defaults=defaults,
            defaults_from=tuple(defaults[given:] for given in range(len(parameters) + 1)),
            keyword_only_from=named_from,
            number_first=number_first,
            tensors=tensors,
            sequences=_places(kind.startswith("Sequence[Array") for kind in kinds),
            scalars=scalars,
            numbers=scalars - frozenset(tensors),
            optional=frozenset(_places("None" in kind for kind in kinds)),
            flags=flags,
            ints=_places(kind in ("int", "int | None") for kind in kinds),
            variadic=kinds.index("Variadic") if "Variadic" in kinds else None,
            unchecked=-1 if demands else min((named_from, *flags)),
        )

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


def _places(chosen: Iterable[bool]) -> tuple[int, ...]:
    """The positions at which something is so."""
    return tuple(position for position, each in enumerate(chosen) if each)
