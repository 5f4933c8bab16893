"""Modules that hold other modules, or parameters, in order.

Source: https://pytorch.org/docs/stable/nn.html#containers
"""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, TypeVar

from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.settings import typename
from minitorch.tensor import Tensor

S = TypeVar("S", bound="_Numbered")


def _index(index: Any, length: int) -> int:
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range")
    return index % length


def _require_iterable(owner: str, method: str, value: Any, of: str = "iterable") -> None:
    if not isinstance(value, Iterable) or isinstance(value, Tensor):
        raise TypeError(f"{owner}.{method} should be called with an {of}, but got {type(value).__name__}")


class _Numbered(Module):
    """Submodules that are reached by their position; their names are "0", "1", …"""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, list(self._modules)[_index(idx, len(self))], module)

    def __delitem__(self, idx: int | slice) -> None:
        names = list(self._modules)
        for name in names[idx] if isinstance(idx, slice) else [names[_index(idx, len(self))]]:
            delattr(self, name)
        self._renumber(self._modules.values())

    def _renumber(self, modules: Iterable[Any]) -> None:
        self._modules = {str(number): module for number, module in enumerate(modules)}

    def append(self: S, module: Module) -> S:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Removes a module and returns it."""
        module = self[key]
        del self[key]
        return module

    def __getitem__(self, idx: Any) -> Any:
        raise NotImplementedError


class Container(Module):
    """Modules under the names of keyword arguments; deprecated.

    Source: https://github.com/pytorch/pytorch/blob/main/torch/nn/modules/container.py
    """

    def __init__(self, **kwargs: Any) -> None:
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that "
            "instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class Sequential(_Numbered):
    """Modules that run one after the other, given as arguments or as an OrderedDict of names.

    Source: https://pytorch.org/docs/stable/generated/torch.nn.Sequential.html
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = len(args) == 1 and isinstance(args[0], OrderedDict)
        modules: Any = args[0].items() if named else enumerate(args)
        for name, module in modules:
            self.add_module(name if named else str(name), module)

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return list(self._modules.values())[_index(idx, len(self))]

    def insert(self, index: int, module: Module) -> Sequential:
        """Puts a module before the one at `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        count = len(self)
        if not -count <= index <= count:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self._modules.values())
        modules.insert(index + count if index < 0 else index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Sequential:
        """Adds all modules at the end."""
        for module in sequential:
            self.append(module)
        return self

    def __add__(self, other: Any) -> Sequential:
        return Sequential(*self, *self._checked(other))

    def __iadd__(self, other: Any) -> Sequential:
        return self.extend(list(self._checked(other)))

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*(list(self) * self._times(other)))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Sequential:
        return self.extend(list(self) * (self._times(other) - 1))

    def _checked(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return other

    def _times(self, count: Any) -> int:
        if not isinstance(count, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(count)}")
        if count <= 0:
            raise ValueError(f"Non-positive multiplication factor {count} for {type(self)}")
        return count


class ModuleList(_Numbered):
    """A list of modules. Source: https://pytorch.org/docs/stable/generated/torch.nn.ModuleList.html"""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[str(_index(idx, len(self)))]

    def insert(self, index: int, module: Module) -> None:
        """Puts a module before the one at `index`."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Adds all modules at the end."""
        _require_iterable("ModuleList", "extend", modules)
        for module in list(modules):
            self.append(module)
        return self

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        """Neighbours that print the same are printed once, with their number."""
        if not len(self):
            return f"{self._get_name()}()"
        runs: list[tuple[int, int, str]] = []
        for number, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], number, text)
            else:
                runs.append((number, number, text))
        blocks = "\n".join(
            f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in runs
        )
        return f"{self._get_name()}(\n{blocks}".replace("\n", "\n  ") + "\n)"


class ModuleDict(Module):
    """A dict of modules. Source: https://pytorch.org/docs/stable/generated/torch.nn.ModuleDict.html"""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Removes all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Removes a module and returns it."""
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        return self._modules.keys()

    def items(self) -> ItemsView[str, Any]:
        return self._modules.items()

    def values(self) -> ValuesView[Any]:
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Adds the modules of a mapping or of pairs of name and module."""
        for key, module in _pairs(
            "ModuleDict", "ModuleDict.update", modules, isinstance(modules, (Mapping, ModuleDict))
        ):
            self[key] = module


def _pairs(owner: str, caller: str, values: Any, is_mapping: bool) -> list[tuple[str, Any]]:
    """The items of a mapping or a sequence of pairs. Raises TypeError or ValueError for anything else."""
    if not isinstance(values, Iterable):
        raise TypeError(
            f"{caller} should be called with an iterable of key/value pairs, but got {type(values).__name__}"
        )
    if is_mapping:
        return list(values.items())  # type: ignore[attr-defined]
    pairs = list(values)
    for number, pair in enumerate(pairs):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{owner} update sequence element #{number} should be Iterable; is{type(pair).__name__}")
        length = len(pair)  # type: ignore[arg-type]
        if length != 2:
            raise ValueError(f"{owner} update sequence element #{number} has length {length}; 2 is required")
    return pairs


def _described(name: str, value: Any, kind: str) -> str:
    """A line of the repr of a container of parameters."""
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    size = "x".join(map(str, value.size()))
    where = f" ({value.device})" if value.is_cuda else ""
    holder = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({name}): {holder} containing: [{kind} of size {size}{where}]"


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class ParameterList(Module):
    """A list in which tensors become parameters.

    Source: https://pytorch.org/docs/stable/generated/torch.nn.ParameterList.html
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)([self[i] for i in range(*idx.indices(len(self)))])
        return getattr(self, str(_index(idx, len(self))))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, str(_index(idx, len(self))), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> ParameterList:
        return self.extend(parameters)

    def append(self, value: Any) -> ParameterList:
        """Adds a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Adds all values at the end."""
        _require_iterable("ParameterList", "extend", values)
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(
            _described(str(i), each, str(each.dtype) if isinstance(each, Tensor) else "") for i, each in enumerate(self)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict in which tensors become parameters.

    Source: https://pytorch.org/docs/stable/generated/torch.nn.ParameterDict.html
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._checked(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, self._checked(key), _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def _checked(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Another ParameterDict of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of `key`, which is `default` from now on where there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of `key`, or `default`."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A ParameterDict with the same value for all keys."""
        return ParameterDict([(key, default) for key in keys])

    def clear(self) -> None:
        """Removes everything."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Removes a value and returns it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Removes the last key and returns it with its value."""
        if not self._keys:
            raise KeyError("popitem(): dictionary is empty")
        key = list(self._keys)[-1]
        return key, self.pop(key)

    def keys(self) -> KeysView[str]:
        return self._keys.keys()

    def items(self) -> Iterator[tuple[str, Any]]:
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterator[Any]:
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Adds the values of a mapping, in the order of its sorted keys unless it is an OrderedDict, or of pairs."""
        is_mapping = isinstance(parameters, (Mapping, ParameterDict))
        pairs = _pairs("ParameterDict", "ParametersDict.update", parameters, is_mapping)
        if is_mapping and not isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs = sorted(pairs)
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(
            _described(key, each, typename(each) if isinstance(each, Tensor) else "") for key, each in self.items()
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: Any) -> ParameterDict:
        copy = self.copy()
        copy.update(other)
        return copy

    def __ror__(self, other: Any) -> Any:
        copy = other.copy()
        copy.update(self)
        return copy

    def __ior__(self, other: Any) -> ParameterDict:
        self.update(other)
        return self
