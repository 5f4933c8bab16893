"""The learner's code as the package: install what `my/` holds, then run tests or a script.

As a pytest plugin (`pytest -p course.mine`) it installs before the first test module is imported.
"""

import runpy
import subprocess
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

import pytest

from course import practice
from course.cells import plain, replacement_name
from course.check import install
from course.files import Course

_INSTALLED = pytest.StashKey[ExitStack]()
_PARTS = pytest.StashKey[Iterable[str]]()


class SolutionError(Exception):
    """A kept solution raised while it was installed."""


def install_all(course: Course, stack: ExitStack) -> list[str]:
    """Put every kept solution that stands for a part of the package in its place, until `stack` is closed.

    Returns:
        The parts that are the learner's.

    Raises:
        SolutionError: a kept solution does not run.
    """
    parts = []
    for exercise in practice.exercises(course):
        path = practice.solution_path(course, exercise.name)
        if exercise.replaces is not None and path.exists():
            module = _load(exercise, path)
            solution = getattr(module, replacement_name(exercise.replaces, exercise.names))
            stack.enter_context(install(solution, exercise.replaces))
            parts.append(exercise.replaces)
    return parts


def run_tests(course: Course, arguments: list[str]) -> int:
    """Run pytest with the learner's parts installed; its exit code."""
    return subprocess.call([sys.executable, "-m", "pytest", "-p", "course.mine", *arguments], cwd=course.root)


def run_script(course: Course, script: Path, arguments: list[str]) -> None:
    """Run a Python script with the learner's parts installed."""
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
