"""The learner's code as the packages: tests and scripts on what `my/` holds.

In mytorch the learner's parts are text, written to `my/mytorch`; into minitorch they are installed when it is imported.
As a pytest plugin (`pytest -p course.learner.mine`) it installs before the first test module is imported.
"""

import itertools
import os
import runpy
import subprocess
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

import pytest
from rich.console import Console

from course import variables
from course.files import Course
from course.learner import names, package, practice, share
from course.learner.install import install
from course.source.cells import plain, replacement_name

_INSTALLED = pytest.StashKey[ExitStack]()
_PARTS = pytest.StashKey[Iterable[str]]()


class SolutionError(Exception):
    """A kept solution raised while it was installed."""


class UnknownTestsError(LookupError):
    """An argument names neither chapters nor tests."""


def install_all(course: Course, stack: ExitStack) -> list[str]:
    """Put every kept solution that stands for a part of the package in its place, until `stack` is closed.

    Returns:
        The parts that are the learner's.

    Raises:
        SolutionError: a kept solution does not run.
    """
    parts = []
    for exercise in practice.exercises(course):
        if exercise.kind.replaces is not None and practice.is_kept(course, exercise):
            module = _load(exercise, practice.solution_path(course, exercise.name))
            solution = getattr(module, replacement_name(exercise.kind.replaces, exercise.kind.names))
            stack.enter_context(install(solution, exercise.kind.replaces, lock=False))
            parts.append(exercise.kind.replaces)
    return parts


def run_tests(course: Course, arguments: list[str]) -> int:
    """Run pytest on the learner's code; its exit code.

    Without arguments: the tests of each part of mytorch that is theirs, and those of the packages of minitorch that a
    part of theirs stands in; last, how much of mytorch is theirs. Where all arguments are chapters: the same for what
    their exercises ask for. Else the arguments are pytest's.

    Raises:
        UnknownTestsError: the first arguments are neither chapters nor files, or some of both.
    """
    package.ensure(course)
    chapters = [names.chapter(course, each) for each in arguments]
    if not all(chapters):
        for each in itertools.takewhile(lambda each: not each.startswith("-"), arguments):
            if not (course.root / each.partition("::")[0]).exists():
                is_chapter = "is a chapter, which stands alone or beside other chapters"
                is_nothing = "is no chapter, no script and no file of tests; `course progress --all` lists the chapters"
                raise UnknownTestsError(f"{each!r} {is_chapter if names.chapter(course, each) else is_nothing}")
        return _pytest(course, "course.learner.mine", *arguments)
    exercises = [each for each in practice.exercises(course) if not chapters or each.chapter in chapters]
    asked = {part for each in exercises for part in each.kind.parts}
    whole = share.of(course) if course.reference.is_dir() else share.Ownership([])
    chosen = share.Ownership([each for each in whole.definitions if each.part in asked]) if chapters else whole
    theirs = [f"--part={each.part}" for each in chosen.definitions if each.is_mine]
    replaced = [each.kind.replaces for each in exercises if each.kind.replaces and practice.is_kept(course, each)]
    codes = []
    if theirs and (course.root / "tests" / "mytorch").is_dir():  # on minitorch as it is: it says what is right
        codes.append(_pytest(course, "course.learner.selected", "-q", "tests/mytorch", *theirs))
    if replaced:
        codes.append(
            _pytest(course, "course.learner.mine", "-q", *sorted({_tests_of(course, part) for part in replaced}))
        )
    if not codes and (chapters or not whole.definitions):
        where = f" of {' and '.join(chapters)}" if chapters else ""
        print(f"Nothing{where} is yours yet.")
    if course.reference.is_dir():
        Console().print(share.marked(chosen) if chapters else share.bars(whole))
    if not codes:
        print("`course next` says where to begin.")
    return max(codes, default=0)


def _pytest(course: Course, plugin: str, *arguments: str) -> int:
    own = package.folder(course)
    environment = os.environ | ({variables.MYTORCH: str(own)} if own.is_dir() else {})
    return subprocess.call([sys.executable, "-m", "pytest", "-p", plugin, *arguments], cwd=course.root, env=environment)


def _tests_of(course: Course, part: str) -> str:
    """The tests of the package of minitorch, or of its module, that holds a part."""
    name = part.partition(":")[0].split(".")[1]
    found = (f"tests/{name}", f"tests/test_{name}.py")
    return next((path for path in found if (course.root / path).exists()), "tests")


def run_script(course: Course, script: Path, arguments: list[str]) -> None:
    """Run a Python script with the learner's parts installed; `import mytorch` is theirs."""
    package.ensure(course)
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    with ExitStack() as stack:
        install_all(course, stack)
        runpy.run_path(str(script), run_name="__main__")


def pytest_configure(config: pytest.Config) -> None:
    """Install the learner's parts, in each worker of pytest-xdist too."""
    stack = config.stash[_INSTALLED] = ExitStack()
    try:
        parts = install_all(Course.find(), stack)
    except SolutionError as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[_PARTS] = parts


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that ask more of a part of the learner's than its exercise does."""
    parts = config.stash[_PARTS]
    beyond = [
        item for item in items if any(part in parts for mark in item.iter_markers("beyond") for part in mark.args)
    ]
    config.hook.pytest_deselected(items=beyond)
    items[:] = [item for item in items if item not in beyond]


def pytest_report_header(config: pytest.Config) -> str:
    """Say which parts are the learner's."""
    return "your parts: " + (", ".join(config.stash[_PARTS]) or "none yet")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Give the package its own parts back."""
    config.stash[_INSTALLED].close()


def _load(exercise: practice.Exercise, path: Path) -> ModuleType:
    module = ModuleType(f"my.{exercise.name}")
    sys.modules[module.__name__] = module  # classes find their module by its name
    texts = [(text, f"{exercise.chapter}, setup") for text in exercise.setup]
    for text, origin in [*texts, (path.read_text(encoding="utf-8"), str(path))]:
        try:
            exec(compile(plain(text), origin, "exec"), vars(module))
        except Exception as error:
            raise SolutionError(f"{origin}: {type(error).__name__}: {error}") from error
    return module
