"""Modules that hold modules: in a row, in a list, in a dict."""

# 09 · Modules and parameters
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from itertools import groupby
from typing import Any

from .module import Module
from .words import indented, written


class Row(Module):
    """What a row and a list of modules have in common: the modules are named "0", "1", ..."""

    def append(self, module: Module) -> Any:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add several at the end."""
        for module in modules:
            self.append(module)
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __getitem__(self, place: Any) -> Any:
        names = list(self._modules)
        if isinstance(place, slice):
            kind: Any = type(self)
            return kind(self.chosen(names[place]))
        if not -len(names) <= place < len(names):
            raise IndexError(f"index {place} is out of range")
        return self._modules[names[place]]

    def chosen(self, names: list[str]) -> Any:
        """What a row of these is made from: their names stay."""
        return OrderedDict((name, self._modules[name]) for name in names)

    def __setitem__(self, place: int, module: Module) -> None:
        setattr(self, list(self._modules)[place], module)


class Sequential(Row):
    """Modules, or an `OrderedDict` of them, each of which takes what the one before gives: `b(a(x))`."""

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], OrderedDict):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            self.extend(modules)

    def forward(self, x: Any) -> Any:
        for module in self:
            x = module(x)
        return x


class ModuleList(Row):
    """A list of modules. It can't be called: its owner says what to do with them."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)

    def chosen(self, names: list[str]) -> Any:
        """What a list of these is made from: it counts from 0 again."""
        return [self._modules[name] for name in names]

    def __repr__(self) -> str:
        """Neighbours that print alike are written once: "(0-2): 3 x Linear(...)"."""
        lines, start = [], 0
        for text, alike in groupby(map(repr, self)):
            count = len(list(alike))
            places, times = (start, "") if count == 1 else (f"{start}-{start + count - 1}", f"{count} x ")
            lines.append(f"({places}): {times}{indented(text)}")
            start += count
        return written("ModuleList", "", lines)


class ModuleDict(Module, MutableMapping[str, Module]):
    """A dict of modules by name. The rest of a dict's methods come from the five below."""

    __eq__, __hash__ = object.__eq__, object.__hash__  # as of all modules

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def __getitem__(self, name: str) -> Module:
        return self._modules[name]

    def __setitem__(self, name: str, module: Module) -> None:
        self.add_module(name, module)

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)
