"""The learner's version of a part in the place of the package's own, which is locked meanwhile."""

import functools
import importlib
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager, nullcontext
from typing import Any

from course.learner.lock import locked


@contextmanager
def install(mine: Any, target: str, lock: bool = True) -> Iterator[None]:
    """Put `mine` in the place of `target` while the context is open. The original cannot be called meanwhile.

    Args:
        mine: a function, class or value.
        target: "module:attribute", where the attribute may be a path through classes, objects and dicts
            ("minitorch.optim.sgd:SGD.step", "minitorch.dispatch.declaration:OPS.mul.kernel"). What stands at a module's
            top level is also replaced in every global of the same package that holds the original.
        lock: see `course.learner.lock`. Without it the original can still be called by whoever holds it.

    Raises:
        ImportError: no such module.
        AttributeError, LookupError: no such attribute or item.
    """
    module_name, _, path = target.partition(":")
    module, last = importlib.import_module(module_name), path.rpartition(".")[2]
    holder, original = _find(target)
    places = [(holder, last)]
    if holder is module:
        package = module_name.partition(".")[0]
        places += [
            (other, name)
            for other in list(sys.modules.values())
            if getattr(other, "__name__", "").partition(".")[0] == package
            for name, value in list(vars(other).items())
            if value is original and (other, name) != (module, last)
        ]
    with locked(original, target) if lock else nullcontext():
        try:
            for place, name in places:
                _put(place, name, mine)
            yield
        finally:
            for place, name in places:
                _put(place, name, original)


def find_part(target: str) -> Any:
    """The part "module:attribute" of a package (see `install`)."""
    return _find(target)[1]


def _find(target: str) -> tuple[Any, Any]:
    """What holds a part, and the part."""
    module, _, path = target.partition(":")
    *outer, last = path.split(".")
    holder = functools.reduce(_child, outer, importlib.import_module(module))
    part = _child(holder, last)
    return holder, vars(holder).get(last, part) if isinstance(holder, type) else part  # a static method itself


def _child(holder: Any, name: str) -> Any:
    if isinstance(holder, Mapping):
        return holder[name]
    return holder[int(name)] if isinstance(holder, (list, tuple)) else getattr(holder, name)


def _put(holder: Any, name: str, value: Any) -> None:
    if isinstance(holder, MutableMapping):
        holder[name] = value
    else:
        setattr(holder, name, value)
