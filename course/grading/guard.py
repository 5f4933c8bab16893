"""What a check runs on: the names and functions as they were before the learner's code, whatever it changed since."""

import builtins
import sys
import threading
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any


class Guard:
    """Remembers the course's modules, the builtins and a namespace; `restore` puts back what was changed.

    It clears what would run beside a check: trace functions, finders of modules, hooks. It cannot undo everything, nor
    need it: a check judges nothing, and the values that it shows are compared in another process.
    """

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.names = dict(namespace)
        self._modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "course"]
        self._kept = {
            holder: dict(vars(holder)) for module in [*self._modules, builtins] for holder in _holders(module)
        }
        values = {id(value): value for kept in self._kept.values() for value in kept.values()}.values()
        functions = {inner for value in values for inner in _unwrapped(value)}
        self._functions = {each: (each.__code__, each.__defaults__, each.__kwdefaults__) for each in functions}
        lists: list[list[Any]] = [sys.meta_path, sys.path, sys.path_hooks]
        self._lists = [(each, list(each)) for each in lists]
        self._hooks = {name: getattr(sys, name) for name in ("displayhook", "excepthook", "unraisablehook", "stdout")}

    def restore(self) -> None:
        """Put everything back."""
        sys.settrace(None)
        sys.setprofile(None)
        threading.settrace(None)
        for module in self._modules:
            sys.modules[module.__name__] = module
        for holder, kept in self._kept.items():
            _put_back(holder, kept)
        for function, (code, defaults, keywords) in self._functions.items():
            if function.__code__ is not code:
                function.__code__ = code
            function.__defaults__, function.__kwdefaults__ = defaults, keywords
        for each, content in self._lists:
            each[:] = content + [added for added in each if added not in content]
        for name, hook in self._hooks.items():
            setattr(sys, name, hook)


def _holders(module: ModuleType) -> list[Any]:
    """A module and the classes that it defines."""
    own = [value for value in vars(module).values() if type(value) is type and value.__module__ == module.__name__]
    return [module, *own] if module is not builtins else [module]


def _unwrapped(value: Any) -> Iterator[FunctionType]:
    """A function, and the functions that it wraps."""
    while type(value) is FunctionType:
        yield value
        value = vars(value).get("__wrapped__")


def _put_back(holder: Any, kept: dict[str, Any]) -> None:
    for name in vars(holder).keys() - kept.keys():
        delattr(holder, name)
    for name, value in kept.items():
        if vars(holder).get(name) is not value:
            setattr(holder, name, value)
