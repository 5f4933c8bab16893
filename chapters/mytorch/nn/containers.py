"""Modules that hold modules: in a row, in a list, in a dict."""

# 09 · Modules and parameters
from __future__ import annotations

from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from .module import Module
from .words import indented, written


class Row(Module):
    """What a row and a list of modules have in common: the modules are named "0", "1", ..."""

    def add(self, modules: Iterable[Module]) -> None:
        """Add modules at the end."""
        for module in modules:
            self.add_module(str(len(self._modules)), module)

    def append(self, module: Module) -> Any:
        """Add a module at the end."""
        self.add([module])
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add several at the end."""
        self.add(modules)
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
    """Modules, each of which takes what the one before gives: `Sequential(a, b)(x)` is `b(a(x))`.

    Instead of the modules, one `OrderedDict` of names and modules may be given.
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], OrderedDict):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            self.add(modules)

    def forward(self, x: Any) -> Any:
        """Pass x through all of them."""
        for module in self:
            x = module(x)
        return x


class ModuleList(Row):
    """A list of modules. It can't be called: its owner says what to do with them."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.add(modules)

    def chosen(self, names: list[str]) -> Any:
        """What a list of these is made from: it counts from 0 again."""
        return [self._modules[name] for name in names]

    def __repr__(self) -> str:
        """Neighbours that print alike are written once: "(0-2): 3 x Linear(...)"."""
        groups: list[tuple[int, int, str]] = []
        for place, text in enumerate(map(repr, self)):
            first = groups.pop()[0] if groups and groups[-1][2] == text else place
            groups.append((first, place, text))
        lines = [
            f"({first}): {indented(text)}"
            if first == last
            else f"({first}-{last}): {last - first + 1} x {indented(text)}"
            for first, last, text in groups
        ]
        return written("ModuleList", "", lines)


class ModuleDict(Module):
    """A dict of modules by name."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def update(self, modules: Mapping[str, Module]) -> None:
        """Add these."""
        for name, module in modules.items():
            self[name] = module

    def __getitem__(self, name: str) -> Module:
        module: Module = self._modules[name]
        return module

    def __setitem__(self, name: str, module: Module) -> None:
        self.add_module(name, module)

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, name: str) -> bool:
        return name in self._modules

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._modules.keys()

    def values(self) -> ValuesView[Module]:
        """The modules."""
        return self._modules.values()

    def items(self) -> ItemsView[str, Module]:
        """Names and modules."""
        return self._modules.items()
