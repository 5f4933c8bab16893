"""A course of one chapter, which needs NumPy alone, built once for all tests of a worker."""

import copy
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course.authoring.build import build
from course.files import CODE, Course

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


@pytest.fixture
def nbgrader(tmp_path: Path) -> Callable[[Course], Callable[..., str]]:
    """Makes what runs nbgrader's commands, for a course and in the folder `tmp_path`; it gives what they print."""

    def prepare(course: Course) -> Callable[..., str]:
        kernel, commands = tmp_path / "jupyter" / "kernels" / "python3", Path(sys.prefix) / "nbgrader" / "bin"
        kernel.mkdir(parents=True)
        start = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        (kernel / "kernel.json").write_text(json.dumps({"argv": start, "display_name": "python", "language": "python"}))
        (tmp_path / "nbgrader_config.py").write_text("get_config().CourseDirectory.course_id = 'course'\n")
        environment = {
            **os.environ,
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",  # it calls alembic
            "JUPYTER_PATH": str(tmp_path / "jupyter"),
            "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
            "MINITORCH_COURSE_ROOT": str(course.root),
            "PYTHONPATH": os.pathsep.join(map(str, (CODE, course.root))),
            "PYTHONWARNINGS": "ignore",
        }
        environment.pop("MINITORCH_COURSE_MYTORCH", None)

        def run(program: str, *arguments: str, code: int = 0, **variables: str) -> str:
            command, variables = [commands / program, *arguments], environment | variables
            done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
            assert done.returncode == code, done.stderr
            return done.stderr if code else done.stdout

        return run

    return prepare
