"""Our part of `pytest --nbval`: how the notebooks of a course run, and what of their outputs is compared.

Lessons and solutions are compared with what they store, the values of checks by tolerance. In any other notebook that
names a chapter of the course the answers are judged (`course.nbval_exercises`). Notebooks of others are left to nbval.
"""

import importlib.util
import json
import os
import subprocess
import time
from collections.abc import Generator, Iterable
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from nbformat import NotebookNode
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, RunningKernel, start_new_kernel
from nbval.plugin import IPyNbCell, IPyNbFile

from course import variables
from course.check import PRACTICE_SEED
from course.checks import bundle
from course.files import CODE, Course
from course.grading.find import content
from course.image import without_pixels
from course.nbval_exercises import SubmissionFile, practice_of
from course.notebooks.notebook import OURS


class KernelEndedError(Exception):
    """A cell ended its kernel."""


class Kernel(RunningKernel):  # type: ignore[misc]
    """This interpreter's kernel, whatever a notebook asks for, with the reference of mytorch.

    Args:
        course: whose reference it is.
        folder: where it runs.
        startup_timeout: in seconds.
    """

    def __init__(self, course: Course, folder: Path, startup_timeout: float) -> None:
        paths = [str(CODE), str(course.root), str(course.solutions), os.environ.get("PYTHONPATH", "")]
        ours = {
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(filter(None, paths))),
            variables.SEED: str(PRACTICE_SEED),
            variables.MYTORCH: str(course.reference),
        }
        self.km, self.kc = start_new_kernel(
            startup_timeout,
            CURRENT_ENV_KERNEL_NAME,
            stderr=subprocess.DEVNULL,
            cwd=str(folder),
            env={**os.environ, **ours},
        )
        self._ensure_iopub_up()

    def await_reply(self, msg_id: str, timeout: float) -> None:
        """Wait for the end of a cell; nbval would wait for a kernel that has ended, too.

        Raises:
            KernelEndedError: the cell ended it.
            Empty: the cell takes longer than `timeout`.
        """
        deadline = time.monotonic() + timeout
        while True:
            try:
                super().await_reply(msg_id, timeout=min(1.0, timeout))
            except Empty:
                if not self.is_alive():
                    raise KernelEndedError("the cell ended the Python process") from None
                if time.monotonic() >= deadline:
                    raise
            else:
                return


class CourseNotebook(IPyNbFile):  # type: ignore[misc]
    """A lesson or a solution."""

    def setup(self) -> None:
        """Start the kernel, unless a package is missing that a cell's tag `needs-PACKAGE` names."""
        if missing := missing_packages(self.path):
            required = os.environ.get("MINITORCH_REQUIRE_ALL") == "1"
            (pytest.fail if required else pytest.skip)(missing)
        seconds = self.config.option.nbval_kernel_startup_timeout
        self.kernel = Kernel(Course.find(self.path.parent), self.path.parent, seconds)
        self.setup_sanitize_files()

    def collect(self) -> Iterable[pytest.Item]:
        return [
            CourseCell.from_parent(self, name=item.name, cell_num=item.cell_num, cell=item.cell, options=item.options)
            for item in super().collect()
        ]


class CourseCell(IPyNbCell):  # type: ignore[misc]
    """A cell whose values, if it shows any, are compared by tolerance, and what it printed beside them is not."""

    def setup(self) -> None:
        """nbval lets all cells after one that was stopped count as passed."""

    def sanitize(self, s: Any) -> Any:
        return without_pixels(super().sanitize(s)) if isinstance(s, str) else s

    def compare_outputs(self, test: list[Any], ref: list[Any], skip_compare: Any = None) -> bool:
        expected, other_expected = _split(ref)
        if not expected:
            return bool(super().compare_outputs(test, ref, skip_compare))
        shown, other_shown = _split(test)
        self.comparison_traceback = _differences(expected[0], shown)
        return not self.comparison_traceback and bool(
            super().compare_outputs(other_shown, other_expected, skip_compare)
        )


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Generator[None, list[Any], list[Any]]:
    collectors = yield
    return [_ours(file_path, parent) or each if type(each) is IPyNbFile else each for each in collectors]


def missing_packages(path: Path) -> str:
    """Which packages a notebook needs, beyond the course's, that aren't installed here; empty if none."""
    tags = {tag for cell in json.loads(content(path))["cells"] for tag in cell["metadata"].get("tags", [])}
    needed = sorted(tag.removeprefix("needs-") for tag in tags if tag.startswith("needs-"))
    missing = [package for package in needed if importlib.util.find_spec(package) is None]
    return "; ".join(f"{each} is not installed: pip install 'minitorch-course[{each}]'" for each in missing)


def _ours(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """What collects a notebook of a course; None for a notebook of others."""
    folder, course = path.parent.resolve(), Course.find(path.parent)
    if folder in (course.notebooks, course.solutions):
        return CourseNotebook.from_parent(parent, path=path)  # type: ignore[no-any-return]
    if course.exercises in (folder, *folder.parents) or _is_marked(path):
        return SubmissionFile.from_parent(parent, path=path, practice=practice_of(parent.config, course))
    return None


def _is_marked(path: Path) -> bool:
    """Whether a notebook's metadata say that it is one of a course, or it cannot be read: nbval would stop there."""
    try:
        return OURS in json.loads(content(path))["metadata"]
    except Exception:  # it may hold anything
        return True


def _differences(expected: bundle.Bundle, shown: list[bundle.Bundle]) -> list[str]:
    """What is wrong with the values that a check showed, in words."""
    if len(shown) != 1:
        return [f"the check showed {len(shown)} bundles of values, not one"]
    return [text for text in (bundle.difference(expected, shown[0]),) if text]


def _split(outputs: list[NotebookNode]) -> tuple[list[Any], list[NotebookNode]]:
    """The bundles shown, and the other outputs but for what was printed: a leftover `print` costs nothing."""
    bundles = [output.data[bundle.MIME] for output in outputs if bundle.MIME in output.get("data", {})]
    others = [o for o in outputs if bundle.MIME not in o.get("data", {}) and o.output_type != "stream"]
    return bundles, others
