"""What a check cell calls, in the learner's notebook and in the grader's kernel. Checks show values and never judge."""

import builtins
import functools
import html
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

import numpy as np

from course import magic, nbgrader
from course.authoring import assemble
from course.authoring.cells import plain
from course.authoring.parts import misplaced
from course.files import Course
from course.grading import bundle as _bundle
from course.kinds import Core
from course.learner import package, practice, scope, verdict
from course.learner.lock import locked

PRACTICE_SEED = 20260101
SEED_VARIABLE = "MINITORCH_COURSE_SEED"
REVEAL_VARIABLE = "MINITORCH_COURSE_REVEAL"
deliver: Callable[[_bundle.Bundle], None] | None = None
"""Takes what a check shows, in a grade."""
made: Callable[[str], None] | None = None
"""Takes each of the learner's parts once it is in the package, in a grade."""
setup: list[str] | None = None
"""The setup cells, in a grade."""
only: Sequence[str] = ()
"""Which parts of a check are the learner's, while they are tried one by one; all of them, if empty."""
_NOT_ANSWERED = "Not answered yet"
reveal = REVEAL_VARIABLE in os.environ
"""Whether secret values are shown beside their digest: for the course's own answers, in a build and a grade."""
_CELLS: list[str] = []  # what ran since this module was imported: nbval leaves no history


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
        secret: show one digest of all values in their place.

    Raises:
        TypeError: a value of a kind that cannot be shown.
        ValueError: too many elements, or a secret value that is not exact.
    """
    named = values if isinstance(values, dict) else {"value": values}
    shown = _bundle.bundle(named, rtol, atol, secret, str(seed()), reveal)
    if deliver is not None:
        deliver(shown)
        return
    for_nbgrader = nbgrader.is_running()
    if not for_nbgrader and SEED_VARIABLE not in os.environ:
        _verdict(shown)  # first, since the values may fill pages
    plain = "\n".join(filter(None, (text, _bundle.describe(shown["values"]))))
    _display({_bundle.MIME: shown, "text/plain": plain})
    if for_nbgrader:
        nbgrader.require(shown, _history()[-1], Course.find())


def error(call: Callable[..., Any], *arguments: Any, **keywords: Any) -> Exception | None:
    """The exception that `call(*arguments, **keywords)` raises, or None."""
    try:
        call(*arguments, **keywords)
    except Exception as raised:
        return raised
    return None


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


def mytorch(*parts: str, chapter: int | str) -> ModuleType:
    """Import mytorch as of a chapter, in which these parts are the learner's and everything else is the reference's.

    The learner's text is the last cell run that defines them all. `import mytorch` gives this package from now on.
    Where parts are tried one by one, `only` says which are the learner's now.

    Raises:
        LookupError: no such part, or no cell that was run defines them.
    """
    chosen = [part for part in parts if not only or part in only]
    mine: dict[str, str] = {}
    if parts:
        written = [Core(parts=asked).answer_in(_history()) for asked in (parts, chosen)]
        if (text := written[0] or written[1]) is None:
            names = ", ".join(part.partition(":")[2] for part in parts)
            inner = next(filter(None, (misplaced(each, parts) for each in reversed(_history()))), None)
            todo = "; ".join(inner or ["run the cell with your solution, then this one"])
            raise LookupError(f"no cell that was run defines {names}: {todo}")
        mine = dict.fromkeys(chosen, text)
    others = [part for part in parts if part not in chosen]
    module = package.with_parts(Course.find(), chapter, mine, others, _setup_of(list(parts)) if parts else [])
    if made is not None:
        for part in chosen:
            made(part)
    return module


def hint(exercise: str) -> None:
    """Print the next hint of an exercise."""
    print(practice.next_hint(Course.find(), exercise))


def _verdict(shown: _bundle.Bundle) -> None:
    """Tell the learner at once whether the values are right, and keep the solution if they are. No grade reads this."""
    history = _history()
    exercise = practice.exercise_of_check(history[-1]) if history else None
    if exercise is None:
        return
    if wrong := verdict.wrong(exercise, ([shown], ""), history, functools.partial(_alone, exercise)):
        answered = practice.is_answered(exercise, history[:-1])
        message = f"✗ Not yet.\n{wrong}" if answered else f"✗ {_NOT_ANSWERED}: this is the code that was given."
    else:
        solution = exercise.kind.answer_in(history[:-1])
        kept = "" if solution is None else practice.keep(Course.find(), exercise, solution)
        message = f"✓ Right ({exercise.name}).{kept}"
    _tell(message, wrong)
    if exercise.kind.parts and not wrong:
        package.write(Course.find())


def _before(info: Any) -> None:
    """Note a cell, and give an answer the names that its part's file has."""
    _CELLS.append(info.raw_cell)
    course = Course.find()
    history = [*_CELLS, *(_shell().history_manager.input_hist_raw if info.store_history else [])]
    exercise = practice.written_in(course, info.raw_cell, history)
    _shell().user_ns["__builtins__"] = (
        scope.Names(exercise.kind.parts, lambda: assemble.as_of(assemble.read(package.reference(course)), exercise.key))
        if exercise
        else builtins
    )


def _after(result: Any) -> None:
    """Where a check raised, tell which parts are right all the same, if they are scored one by one."""
    raised = result.error_in_exec
    if not isinstance(raised, Exception) or nbgrader.is_running() or SEED_VARIABLE in os.environ:
        return
    exercise = practice.exercise_of_check(result.info.raw_cell)
    if exercise is not None and exercise.kind.shares and practice.is_answered(exercise, _history()[:-1]):
        shown: verdict.Shown = ([], f"{type(raised).__name__}: {raised}")
        wrong = verdict.wrong(exercise, shown, _history(), functools.partial(_alone, exercise))
        _tell(f"✗ Not yet.\n{wrong}", wrong)


def _alone(exercise: practice.Exercise, chosen: list[str]) -> verdict.Shown:
    """Run a check with only these parts the learner's, on a copy of the notebook's names."""
    global deliver, only
    shown: list[_bundle.Bundle] = []
    deliver, only = shown.append, chosen
    shell = _shell()
    try:
        with assemble.kept():
            exec(compile(plain(exercise.check), "<check>", "exec", shell.compile.flags), dict(shell.user_ns))
    except Exception as raised:
        return [], f"{type(raised).__name__}: {raised}"
    finally:
        deliver, only = None, ()
    return shown, ""


def _tell(message: str, wrong: str) -> None:
    color = "var(--jp-error-color1, #b3261e)" if wrong else "var(--jp-success-color1, #1b7f3b)"  # the theme's own
    style = f"color:{color};border-left:4px solid;padding-left:.6em;white-space:pre-wrap"
    _display({"text/plain": message, "text/html": f'<div style="{style}">{html.escape(message)}</div>'})


class NotAnsweredError(Exception):
    """What a learner reads in place of a traceback where an answer is still missing."""


def _show_error(shell: Any, kind: type[Exception], error: Exception, traceback: Any, tb_offset: Any = None) -> None:
    """Show what a cell raised, as IPython does; of an answer that is still missing say just that."""
    history = _history()
    exercise = practice.exercise_of_check(history[-1])
    unwritten = isinstance(error, NotImplementedError) and not error.args
    frame = list(walk_tb(traceback))[-1][0].f_code.co_name
    if practice.exercise_of_stub(history[-1]):
        message = f"{_NOT_ANSWERED}: your code goes into this cell."
    elif exercise is not None and not practice.is_answered(exercise, history[:-1]):
        message = f"{_NOT_ANSWERED}: write your answer into the cell above, run that cell, then this one."
    elif unwritten and not frame.startswith("<"):
        message = f"{_NOT_ANSWERED}: {frame} still raises NotImplementedError."
    else:
        shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)
        return
    shell._showtraceback(NotAnsweredError, NotAnsweredError(message), [message])


def _history() -> list[str]:
    """The text of every cell that this kernel ran, the one that runs now included."""
    shell = _shell()
    history: list[str] = [] if shell is None else shell.history_manager.input_hist_raw
    return _CELLS if _CELLS and (not history or history[-1] != _CELLS[-1]) else history


def _setup_of(parts: list[str]) -> list[str]:
    """The setup cells of the exercise about these parts."""
    if setup is not None:
        return setup
    return next((each.setup for each in practice.exercises(Course.find()) if each.kind.parts == parts), [])


def _shell() -> Any:
    """IPython's shell, or None outside it."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython  # its module has no type hints
    return shell()


def _display(data: dict[str, Any]) -> None:
    from IPython.display import publish_display_data

    publish: Any = publish_display_data
    publish(data)


if "ipykernel" in sys.modules and _shell() is not None:
    magic.load(_shell())
    _shell().events.register("pre_run_cell", _before)
    _shell().events.register("post_run_cell", _after)
    if nbgrader.is_running():
        nbgrader.prepare(Course.find())
    elif Path.cwd() == Course.find().exercises:
        _shell().set_custom_exc((Exception,), _show_error)
    try:
        package.ensure(Course.find())  # `import mytorch` shall find the learner's package
    except LookupError as reason:  # kept solutions that do not fit together are no reason to stop here
        print(f"my/mytorch could not be written: {reason}")
