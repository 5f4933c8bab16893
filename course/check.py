"""What a check cell calls, in the learner's notebook and in the grader's kernel. Checks show values and never judge."""

import ast
import builtins
import functools
import html
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

import numpy as np

from course import magic, nbgrader, variables
from course.checks import bundle as _bundle
from course.designs import design as design
from course.files import Course
from course.intact import intact as intact
from course.learner import lines, package, practice, ran, scope, verdict
from course.learner.install import install as install
from course.learner.ran import CellRun
from course.parsed import parsed
from course.source import assemble
from course.source.cells import plain
from course.source.kinds import Core
from course.source.parts import defines, misplaced, undefined
from course.variants import Candidate, ServedVariants, here
from course.variants import verify as _verify

PRACTICE_SEED = 20260101
deliver: Callable[[_bundle.Bundle], None] | None = None
"""Takes what a check shows, in a grade."""
made: Callable[[str], None] | None = None
"""Takes each of the learner's parts once it is in the package, in a grade."""
setup: list[str] | None = None
"""The setup cells, in a grade."""
only: Sequence[str] = ()
"""Which parts of a check are the learner's, while they are tried one by one; all of them, if empty."""
_NOT_ANSWERED = "Not answered yet"
_WRITE = f"{_NOT_ANSWERED}: write your answer into the cell above, run that cell, then this one."
served: ServedVariants | None = None
"""The variants of an exercise, or its machine, in a grade."""
reveal = variables.REVEAL in os.environ
"""Whether secret values are shown beside their digest: for the course's own answers, in a build and a grade. An
answer that is graded shows its own, too, so that the grade can say how many are right."""
runs: list[CellRun] = []
"""What ran in this kernel, in order; in a grade, the answer alone."""
_answer: CellRun | None = None  # of the check that runs: the attempt that it is about
_trouble = ""  # of the check that runs: why it has no answer to check


def seed() -> int:
    """The seed of this run: the practice seed, or the grader's fresh one."""
    return int(os.environ.get(variables.SEED, PRACTICE_SEED))


def rng() -> np.random.Generator:
    """A new random generator, made from `seed()`."""
    return np.random.default_rng(seed())


def show(
    values: Any, *, rtol: float = 1e-5, atol: float = 1e-6, text: str = "", secret: bool = False, each: str = ""
) -> None:
    """Show values to the reader and, under a MIME type of its own, to the grader.

    Args:
        values: a dict from a name to a value, or one value.
        rtol: relative tolerance for floating-point data.
        atol: absolute tolerance for floating-point data.
        text: what the values mean, in words.
        secret: show one digest of all values in their place.
        each: values that should be this text earn their share of the points one by one, if all others are right.

    Raises:
        TypeError: a value of a kind that cannot be shown.
        ValueError: too many elements, or a secret value that is not exact.
    """
    named = values if isinstance(values, dict) else {"value": values}
    shown = _bundle.bundle(named, rtol, atol, secret, str(seed()), reveal or deliver is not None, each)
    if deliver is not None:
        deliver(shown)
        return
    for_nbgrader = nbgrader.is_running()
    if _is_practice():
        _verdict(shown)  # first, since the values may fill pages
    plain = "\n".join(filter(None, (text, _bundle.describe(shown["values"]))))
    _display({_bundle.MIME: shown, "text/plain": plain})
    if for_nbgrader:
        nbgrader.require(shown, runs[-1].text, Course.find())


def error(call: Callable[..., Any], *arguments: Any, **keywords: Any) -> Exception | None:
    """The exception that `call(*arguments, **keywords)` raises, or None."""
    try:
        call(*arguments, **keywords)
    except Exception as raised:
        return raised
    return None


def verify(
    tests: Callable[[Any], Any],
    shown: Sequence[str],
    rng: np.random.Generator,
    own: dict[str, Callable[..., Any]] | None = None,
) -> dict[str, str]:
    """Which variants of an answer the learner's tests accept: those shown, and in a grade all (`course.variants`)."""
    return _verify(tests, shown, rng, own, served)


def machine(text: str) -> Candidate:
    """What does and counts the work of a `timed` exercise (`course.work`): this text, or in a grade what is served."""
    return here(text, seed()) if served is None else served.candidate(seed(), 0)


def mytorch(*parts: str, chapter: int | str) -> ModuleType:
    """Import mytorch as of a chapter, in which these parts are the learner's and everything else is the reference's.

    The learner's text is the cell for the answer as it last ran, or the last cell run that defines them all. `import
    mytorch` gives this package from now on. Where parts are tried one by one, `only` says which are the learner's now.

    Raises:
        LookupError: no such part.
        NotAnsweredError: no cell that was run defines them.
    """
    chosen = [part for part in parts if not only or part in only]
    mine: dict[str, str] = {}
    if parts:
        texts = [run.text for run in ([_answer] if _answer else runs)]
        written = [Core(parts=asked).answer_in(texts) for asked in (parts, chosen)]
        if (text := written[0] or written[1]) is None:
            near = (
                each for each in reversed(texts) if misplaced(each, parts) or any(defines(each, part) for part in parts)
            )
            raise NotAnsweredError(undefined(next(near, ""), parts))
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


def _is_practice() -> bool:
    """Whether the learner reads what is said here: no grade and no build does."""
    return variables.SEED not in os.environ and not nbgrader.is_running()


def _verdict(shown: _bundle.Bundle) -> None:
    """Tell the learner at once whether the values are right, and keep the solution if they are. No grade reads this."""
    exercise = practice.exercise_of_check(runs[-1].text) if runs else None
    if exercise is None or _answer is None:
        return
    if wrong := verdict.wrong(exercise, ([shown], ""), _answer.text, functools.partial(_alone, exercise)):
        answered = practice.is_answered(exercise, _answer.text)
        message = f"✗ Not yet.\n{wrong}" if answered else f"✗ {_NOT_ANSWERED}: this is the code that was given."
    else:
        message = f"✓ Right ({exercise.name}).{practice.keep(Course.find(), exercise, _answer.text)}"
    _tell(message, wrong)
    if exercise.kind.parts and not wrong:
        package.write(Course.find())


def _before(info: Any) -> None:
    """Before a cell: run the setup that it needs, find the answer that it checks, give an answer its part's names."""
    global _answer, _trouble
    course = Course.find()
    if _is_practice() and (exercise := practice.exercise_of_cell(info.raw_cell, info.cell_id)):
        _set_up(exercise)
    _answer, _trouble = None, ""
    if _is_practice() and (checked := practice.exercise_of_check(info.raw_cell)):
        _answer = ran.attempt(checked, runs, practice.reset_at(course, checked.name))
        _trouble = _why_unanswered(checked)
    runs.append(CellRun(info.raw_cell, info.cell_id or ""))
    written = practice.written_in(course, info.raw_cell, [run.text for run in runs])
    _shell().user_ns["__builtins__"] = (
        scope.Names(written.kind.parts, lambda: assemble.as_of(assemble.read(package.reference(course)), written.key))
        if written
        else builtins
    )


class _Stopped(ast.NodeTransformer):
    """Stops a check that has no answer before it runs an earlier one, which may take for ever."""

    def visit(self, node: ast.AST) -> ast.AST:
        raises = f"raise __import__({__name__!r}, fromlist=['check']).NotAnsweredError({_trouble!r})"
        return parsed(raises) if _trouble else node


def _set_up(exercise: practice.Exercise) -> None:
    """Run the setup cells of an exercise's notebook that have not run in this kernel."""
    missing = ran.setup_missing(exercise, runs)
    if missing:
        print("The setup cells at the top had not run in this kernel, so they ran first.")
    for text in missing:
        _shell().run_cell(text)


def _why_unanswered(exercise: practice.Exercise) -> str:
    """Why there is no answer to check, although an earlier one may still be in the kernel; empty if there is one."""
    shown = ran.on_screen.pop(exercise.name, None)
    if _answer is None or (isinstance(_answer.error, NotImplementedError) and practice.exercise_of_stub(_answer.text)):
        return _WRITE
    if shown is not None and shown.strip() != _answer.text.strip():
        return ran.CHANGED
    return ran.trouble(exercise.kind, _answer)


def _after(result: Any) -> None:
    """Note what a cell raised; where it was a check, tell which parts are right all the same, if each is scored."""
    raised = result.error_before_exec or result.error_in_exec
    if run := next((run for run in reversed(runs) if run.text == result.info.raw_cell), None):
        run.error = raised
    if not isinstance(raised, Exception) or not _is_practice() or _answer is None or _trouble:
        return
    exercise = practice.exercise_of_check(result.info.raw_cell)
    if exercise is not None and exercise.kind.shares and practice.is_answered(exercise, _answer.text):
        shown: verdict.Shown = ([], f"{type(raised).__name__}: {raised}")
        wrong = verdict.wrong(exercise, shown, _answer.text, functools.partial(_alone, exercise))
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
    """What a learner reads in place of a traceback where an answer is missing, or is of a kind no check works with."""


def _show_error(shell: Any, kind: type[Exception], error: Exception, traceback: Any, tb_offset: Any = None) -> None:
    """Show what a cell raised, as IPython does, or say in words what an answer lacks."""
    if message := _in_words(error, traceback):
        shell._showtraceback(NotAnsweredError, NotAnsweredError(message), [message])
        return
    written = "\n".join(run.text for run in runs)
    shell.showtraceback((kind, error, lines.without_reference(traceback, written)), tb_offset=tb_offset)
    if isinstance(error, NameError) and (found := scope.provider(str(error.name), practice.setup_texts())):
        print(f"`{error.name}` comes with `{found}`.")


def _in_words(error: Exception, traceback: Any) -> str:
    """What a learner reads in place of a traceback; empty if the traceback says more."""
    text = runs[-1].text
    exercise = practice.exercise_of_check(text)
    unwritten = isinstance(error, NotImplementedError) and not error.args
    frames = [frame for frame, _ in walk_tb(traceback)]
    last = frames[-1].f_code.co_name
    if practice.exercise_of_stub(text):
        return f"{_NOT_ANSWERED}: your code goes into this cell."
    if exercise is not None and (_trouble or _answer is None or not practice.is_answered(exercise, _answer.text)):
        return f"✗ {_trouble or _WRITE}"
    if isinstance(error, NotAnsweredError):
        return f"✗ Not yet: {error}."
    if unwritten and not last.startswith("<"):
        return f"{_NOT_ANSWERED}: {last} still raises NotImplementedError."
    cells = [frame.f_code.co_filename for frame in frames if frame.f_globals is _shell().user_ns]
    if exercise is None or exercise.kind.parts or len(set(cells)) > 1:  # the learner's own code raised
        return ""
    names = {name: _shell().user_ns[name] for name in exercise.kind.names if name in _shell().user_ns}
    with redirect_stdout(io.StringIO()):
        gave = ran.gave(names, lambda: _alone(exercise, []))
    return f"✗ Not yet.\n{ran.failed(gave, f'{type(error).__name__}: {error}')}"


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
    runs += [CellRun(text) for text in _shell().history_manager.input_hist_raw[1:]]  # nbval leaves none
    magic.load(_shell())
    _shell().events.register("pre_run_cell", _before)
    _shell().events.register("post_run_cell", _after)
    _shell().ast_transformers.append(_Stopped())
    if nbgrader.is_running():
        nbgrader.prepare(Course.find())
    elif Path.cwd() == Course.find().exercises:
        _shell().set_custom_exc((Exception,), _show_error)
    try:
        package.ensure(Course.find())  # `import mytorch` shall find the learner's package
    except LookupError as reason:  # kept solutions that do not fit together are no reason to stop here
        print(f"my/mytorch could not be written: {reason}")
