"""A course of one chapter, which needs NumPy alone, built once for all tests of a worker."""

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course.build import build
from course.files import Course

FIXTURES = Path(__file__).parent / "fixtures"
CORE_FIXTURES = Path(__file__).parent / "fixtures_core"
CHAPTER = "01_fixture"


@pytest.fixture(scope="session")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The built course. Tests read it; one that writes makes a copy."""
    root = tmp_path_factory.mktemp("built") / "course"
    shutil.copytree(FIXTURES, root)
    build(Course(root))
    return Course(root)


@pytest.fixture
def own_course(course: Course, tmp_path: Path) -> Course:
    """A copy that the test may change."""
    return Course(Path(shutil.copytree(course.root, tmp_path / "course")))


@pytest.fixture(scope="session")
def core_course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A built course of one chapter about parts of a small mytorch. Tests read it."""
    root = tmp_path_factory.mktemp("core") / "course"
    shutil.copytree(CORE_FIXTURES, root)
    build(Course(root))
    return Course(root)


@pytest.fixture
def own_core_course(core_course: Course, tmp_path: Path) -> Course:
    """A copy that the test may change."""
    return Course(Path(shutil.copytree(core_course.root, tmp_path / "course")))


@pytest.fixture(scope="session")
def submission(course: Course) -> Callable[..., Any]:
    """Makes a submission: the learner's notebook (the reference if `solved`) with these solution cells filled in."""

    def make(solved: bool = False, **solutions: str) -> Any:
        folder = course.solutions if solved else course.exercises
        notebook = copy.deepcopy(nbformat.read(folder / f"{CHAPTER}.ipynb", as_version=4))
        for cell in notebook.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            if name in solutions:
                cell.source = solutions.pop(name)
        assert not solutions, f"no such exercise: {solutions}"
        return notebook

    return make
