"""Which sizes and numbers have changed from call to call: they are symbols in the next graph.

Source: torch/_dynamo/pgo.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minitorch._dynamo import config
from minitorch.nn.parameter import Parameter
from minitorch.tensor import Tensor


class Changes:
    """What the calls of one function have had in common.

    Args:
        dynamic: whether sizes are symbols from the first graph on (True), never (False), or when they change (None).
    """

    def __init__(self, dynamic: bool | None) -> None:
        self.dynamic = dynamic
        self._dims: dict[str, set[int]] = {}
        self._symbols: set[str] = set()
        self._last: Mapping[str, Any] | None = None

    def learn(self, arguments: Mapping[str, Any]) -> None:
        """Makes symbols of the sizes and numbers that differ from those of the last capture."""
        if self._last is None or self.dynamic is False or not config.automatic_dynamic_shapes:
            return
        for source, value in _facts(arguments).items():
            other = self._last.get(source)
            if isinstance(value, tuple) and isinstance(other, tuple) and len(value) == len(other):
                changed = {dim for dim, size in enumerate(value) if size != other[dim]}
                self._dims.setdefault(source, set()).update(changed)
            elif type(value) is type(other) and not isinstance(value, tuple) and value != other:
                self._symbols.add(source)

    def remember(self, arguments: Mapping[str, Any]) -> None:
        """Remembers the arguments of a capture, with which the next one compares its own."""
        self._last = _facts(arguments)

    def symbolic(self, arguments: Mapping[str, Any]) -> tuple[dict[str, set[int]], set[str]]:
        """The dimensions and numbers that are symbols in the next capture. 0 and 1 never are."""
        dims = {source: set(each) for source, each in self._dims.items()}
        symbols = set(self._symbols)
        for source, value in _leaves(arguments).items():
            if isinstance(value, Tensor):
                asked = set(range(value.ndim)) if self.dynamic and not isinstance(value, Parameter) else set()
                asked |= getattr(value, "_dynamo_dynamic_indices", set())
                dims.setdefault(source, set()).update(asked)
                dims[source] = {dim for dim in dims[source] if dim < value.ndim and value.shape[dim] > 1}
            elif self.dynamic and type(value) is int:
                symbols.add(source)
        return {source: each for source, each in dims.items() if each}, symbols


def _leaves(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors and numbers among arguments, by their sources."""
    found: dict[str, Any] = {}

    def add(value: Any, source: str) -> None:
        if isinstance(value, Tensor) or type(value) in (int, float):
            found[source] = value
        elif type(value) in (tuple, list):
            for place, each in enumerate(value):
                add(each, f"{source}[{place}]")
        elif type(value) is dict:
            for key, each in value.items():
                add(each, f"{source}[{key!r}]")

    for name, value in arguments.items():
        add(value, f"L[{name!r}]")
    return found


def _facts(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The sizes of the tensors among arguments, and the numbers, by their sources."""
    leaves = _leaves(arguments).items()
    return {source: tuple(each.shape) if isinstance(each, Tensor) else each for source, each in leaves}
