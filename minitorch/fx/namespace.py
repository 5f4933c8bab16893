"""How the names of a graph are chosen: each is unique, an identifier, and hides no builtin.

Source: torch/fx/graph.py, `_Namespace`.
"""

from __future__ import annotations

import builtins
import keyword
import math
import re
from typing import Any

from minitorch.devices import device

GLOBALS: dict[str, Any] = {"inf": math.inf, "nan": math.nan, "NoneType": type(None), "torch": None, "device": device}
"""The names that generated code may always use. What `torch` means there is in `names`."""

_TAKEN = {*keyword.kwlist, *vars(builtins), *GLOBALS, "fx_pytree", "pytree"}
_NAME = re.compile(r"^([a-zA-Z_][0-9a-zA-Z_]*?)(?:_(\d+))?$")


def snake_case(name: str) -> str:
    """BatchNorm -> batch_norm."""
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


class Namespace:
    """The names that are in use, and those of objects."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._used: set[str] = set()
        self._counts: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """A name like `candidate` that nobody has yet. An object, if given, gets the same name every time."""
        if obj is not None and obj in self._names:
            return self._names[obj]
        match = _NAME.match(candidate)
        if match is None:
            candidate = re.sub("[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
            candidate = f"_{candidate}" if candidate[0].isdigit() else candidate
            match = _NAME.match(candidate)
            assert match is not None
        base, suffix = match.groups()
        if suffix is None or candidate in self._used:
            number = self._counts.get(base, 0)
            if candidate in _TAKEN and (obj is None or obj is not getattr(builtins, candidate, GLOBALS.get(candidate))):
                number += 1
                candidate = f"{base}_{number}"
        else:
            number = int(suffix)
        while candidate in self._used:
            number += 1
            candidate = f"{base}_{number}"
        self._used.add(candidate)
        self._counts[base] = number
        if obj is not None:
            self._names[obj] = candidate
        return candidate

    def name(self, obj: Any, name: str) -> None:
        """Says which name an object has."""
        self._names[obj] = name
