"""What a check cell calls, in the learner's notebook and in the grader's kernel. Checks show values and never judge."""

import functools
import html
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from course import bundle as _bundle
from course import practice
from course.files import Course

PRACTICE_SEED = 20260101
SEED_VARIABLE = "MINITORCH_COURSE_SEED"


def seed() -> int:
    """The seed of this run: the practice seed, or the grader's fresh one."""
    return int(os.environ.get(SEED_VARIABLE, PRACTICE_SEED))


def rng() -> np.random.Generator:
    """A new random generator, made from `seed()`."""
    return np.random.default_rng(seed())


def show(values: Any, *, rtol: float = 1e-5, atol: float = 1e-6, text: str = "", secret: bool = False) -> None:
    """Show values to the reader and, under a MIME type of its own, to the grader.

    Args:
        values: a dict from a name to a value, or one value.
        rtol: relative tolerance for floating-point data.
        atol: absolute tolerance for floating-point data.
        text: what the values mean, in words.
        secret: store a digest in place of the values.

    Raises:
        TypeError: a value of a kind that cannot be shown.
        ValueError: too many elements, or a secret value that is not exact.
    """
    shown = _bundle.bundle(values if isinstance(values, dict) else {"value": values}, rtol, atol, secret)
    plain = "\n".join(filter(None, (text, _bundle.describe(shown["values"]))))
    _display({_bundle.MIME: shown, "text/plain": plain})
    if SEED_VARIABLE not in os.environ:
        _verdict(shown)


def error(call: Callable[..., Any], *arguments: Any, **keywords: Any) -> Exception | None:
    """The exception that `call(*arguments, **keywords)` raises, or None."""
    try:
        call(*arguments, **keywords)
    except Exception as raised:
        return raised
    return None


@contextmanager
def install(mine: Any, target: str) -> Iterator[None]:
    """Put `mine` in the place of `target` while the context is open.

    Args:
        mine: a function, class or value.
        target: "module:attribute", where the attribute may be a path through classes, objects and dicts
            ("minitorch.optim.sgd:SGD.step", "minitorch.ops.declaration:OPS.mul.kernel"). What stands at a module's
            top level is also replaced in every global of the same package that holds the original.

    Raises:
        ImportError: no such module.
        AttributeError, LookupError: no such attribute or item.
    """
    module_name, _, path = target.partition(":")
    *outer, last = path.split(".")
    module = importlib.import_module(module_name)
    holder = functools.reduce(_child, outer, module)
    original = _child(holder, last)
    if isinstance(holder, type):
        original = vars(holder).get(last, original)  # a static method itself, not what it gives
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
    for place, name in places:
        _put(place, name, mine)
    try:
        yield
    finally:
        for place, name in places:
            _put(place, name, original)


def _child(holder: Any, name: str) -> Any:
    if isinstance(holder, Mapping):
        return holder[name]
    return holder[int(name)] if isinstance(holder, (list, tuple)) else getattr(holder, name)


def _put(holder: Any, name: str, value: Any) -> None:
    if isinstance(holder, MutableMapping):
        holder[name] = value
    else:
        setattr(holder, name, value)


def hint(exercise: str) -> None:
    """Print the next hint of an exercise."""
    print(practice.next_hint(Course.find(), exercise))


def _verdict(shown: _bundle.Bundle) -> None:
    """Tell the learner at once whether the values are right, and keep the solution if they are. No grade reads this."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if shell is None:
        return
    history: list[str] = shell.history_manager.input_hist_raw
    exercise = practice.exercise_of_check(history[-1])
    if exercise is None:
        return
    if wrong := _bundle.difference(exercise.expected, shown):
        message = "\n".join(filter(None, ("✗ Not yet.", wrong, exercise.mutants.get(_bundle.fingerprint(shown)))))
    else:
        message = f"✓ Right ({exercise.name}).{practice.keep(exercise, history)}"
    style = f"color:{'#b3261e' if wrong else '#1b7f3b'};border-left:4px solid;padding-left:.6em;white-space:pre-wrap"
    _display({"text/plain": message, "text/html": f'<div style="{style}">{html.escape(message)}</div>'})


def _display(data: dict[str, Any]) -> None:
    from IPython.display import publish_display_data

    publish: Any = publish_display_data
    publish(data)
