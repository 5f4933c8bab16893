"""Our part of `pytest --nbval`: how the notebooks of a course run, and what of their outputs is compared.

Lessons and solutions are compared with what they store, the values of checks by tolerance. Any other notebook that
names a chapter of the course is a submission: of it only the answers count, and everything else, the outputs to be
compared with among it, is the pristine notebook's. Notebooks of others are left to nbval.
"""

import json
import os
import subprocess
import time
from collections import defaultdict
from collections.abc import Generator, Iterable
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from nbformat import NotebookNode
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, RunningKernel, start_new_kernel
from nbval.plugin import IPyNbCell, IPyNbFile, NbCellError, find_metadata_tags

from course.authoring.notebook import OURS, exercise_of, role, tasks, v4
from course.check import PRACTICE_SEED, SEED_VARIABLE
from course.files import CODE, Course
from course.grading import bundle
from course.grading.find import content
from course.grading.intake import Reader
from course.grading.submission import Submission as Answers
from course.image import without_pixels
from course.learner.package import VARIABLE, keep_passed
from course.reports.printable import ANSI

_CELL_SECONDS = 60.0  # of a submission's cells, unless `--nbval-cell-timeout` is shorter


class CellStoppedError(Exception):
    """A cell ran too long, or ended its kernel."""


class NotAnsweredError(Exception):
    """An exercise whose answer is missing, still the stub, or no Python."""


class Kernel(RunningKernel):  # type: ignore[misc]
    """This interpreter's kernel, whatever a notebook asks for, with the reference of mytorch.

    Args:
        course: whose reference it is.
        folder: where it runs.
        startup_timeout: in seconds.
        most_seconds: how long a cell may run, if nbval's own limit is longer.
    """

    def __init__(self, course: Course, folder: Path, startup_timeout: float, most_seconds: float) -> None:
        paths = [str(CODE), str(course.root), str(course.solutions), os.environ.get("PYTHONPATH", "")]
        ours = {
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(filter(None, paths))),
            SEED_VARIABLE: str(PRACTICE_SEED),
            VARIABLE: str(course.reference),
        }
        self.most_seconds = most_seconds
        self.km, self.kc = start_new_kernel(
            startup_timeout,
            CURRENT_ENV_KERNEL_NAME,
            stderr=subprocess.DEVNULL,
            cwd=str(folder),
            env={**os.environ, **ours},
        )
        self._ensure_iopub_up()

    def await_reply(self, msg_id: str, timeout: float | None = None) -> None:
        """Wait for the end of a cell; nbval would wait for a kernel that has ended, too.

        Raises:
            CellStoppedError: it ended the kernel, or was stopped with it after `most_seconds`.
            Empty: it takes longer than `timeout`.
        """
        seconds = min(self.most_seconds, timeout or self.most_seconds)
        deadline = time.monotonic() + seconds
        while True:
            try:
                super().await_reply(msg_id, timeout=min(1.0, seconds))
            except Empty:
                if not self.is_alive():
                    raise CellStoppedError("the cell ended the Python process") from None
                if time.monotonic() < deadline:
                    continue
                if seconds < self.most_seconds:
                    raise
                self.km.shutdown_kernel(now=True)
                raise CellStoppedError(f"stopped after {seconds:g} seconds") from None
            else:
                return


class CourseNotebook(IPyNbFile):  # type: ignore[misc]
    """A lesson or a solution."""

    most_seconds = float("inf")

    @property
    def course(self) -> Course:
        """The course that it belongs to."""
        return Course.find(self.path.parent)

    def setup(self) -> None:
        """Start the kernel."""
        seconds = self.config.option.nbval_kernel_startup_timeout
        self.kernel = Kernel(self.course, self.path.parent, seconds, self.most_seconds)
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
        self.comparison_traceback = self.wrong(expected[0], shown)
        return not self.comparison_traceback and self.compare_others(other_shown, other_expected, skip_compare)

    def wrong(self, expected: bundle.Bundle, shown: list[Any]) -> list[str]:
        """What is wrong with the values that a check showed, in words."""
        if len(shown) != 1:
            return [f"the check showed {len(shown)} bundles of values, not one"]
        known = self.cell.metadata[OURS].get("mutants", [])
        return [text for text in (bundle.difference({**expected, "mistakes": known}, shown[0]),) if text]

    def compare_others(self, shown: list[Any], expected: list[Any], skip_compare: Any) -> bool:
        """Whether what a check shows beside its values is as expected."""
        return bool(super().compare_outputs(shown, expected, skip_compare))


class Submission(CourseNotebook):
    """The pristine notebook of a chapter, with the answers of this one."""

    most_seconds = _CELL_SECONDS
    reason = ""  # why it cannot be judged

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.passed: list[str] = []

    def setup(self) -> None:
        if not self.reason:
            super().setup()

    def collect(self) -> Iterable[pytest.Item]:
        pristine = {path.stem: path for path in self.course.pristine.glob("*.ipynb")}
        with Reader(pristine, apart=False) as reader:
            result, theirs = reader.read(self.path)[0]
        if theirs is None:  # an error of collection would stop all other notebooks
            self.reason = result.reason
            return [Rejected.from_parent(self, name="rejected")]
        return self.cells(theirs, pristine[theirs.chapter])

    def cells(self, theirs: Answers, pristine: Path) -> Iterable["CourseCell"]:
        """The cells of the pristine notebook, with the answers of a submission."""
        self.theirs, self.nb = theirs, v4.reads(pristine.read_text(encoding="utf-8"))
        self.abouts = tasks(self.nb)
        self.answers = {name: theirs.solutions[name] for name in theirs.answered}
        for number, cell in enumerate(cell for cell in self.nb.cells if cell.cell_type == "code"):
            name = exercise_of(cell)
            if role(cell) == "solution":
                cell.source = self.answers.get(name, cell.source)
            if role(cell) == "check":
                cell.execution_count = 1  # nbval compares nothing of a cell that was never run
                cell.metadata[OURS]["mutants"] = self.abouts[name]["mutants"]
            kind = SubmittedCell if name else CourseCell
            yield kind.from_parent(
                self,
                name=self.title(name) if role(cell) == "check" else f"Cell {number}",
                cell_num=number,
                cell=cell,
                options=defaultdict(bool, find_metadata_tags(cell.metadata), check=True),
            )

    def title(self, exercise: str) -> str:
        """An exercise and its points."""
        points = self.abouts[exercise]["points"]
        return f"{exercise} ({points} point{'s' * (points > 1)})"

    def start_again(self) -> None:
        """A new kernel in the place of one that has ended, so that one answer costs no other its points."""
        self.setup()
        for cell in self.nb.cells:
            if role(cell) == "setup":
                self.kernel.await_reply(self.kernel.execute_cell_input(cell.source, allow_stdin=False))

    def teardown(self) -> None:
        """What passed counts as it does in JupyterLab."""
        super().teardown()
        keep_passed(self.course, self.path, {name: self.answers[name] for name in self.passed})


class Rejected(pytest.Item):
    """A notebook that cannot be judged."""

    def runtest(self) -> None:
        pytest.fail(getattr(self.parent, "reason", ""), pytrace=False)


class SubmittedCell(CourseCell):
    """The answer or the check of an exercise."""

    def runtest(self) -> None:
        name = exercise_of(self.cell)
        if name not in self.parent.answers:
            raise NotAnsweredError(f"{self.parent.title(name)}: not answered yet")
        if told := self.parent.theirs.untried(name)[1]:
            raise NotAnsweredError(f"{self.parent.title(name)}: {told}")
        if not self.parent.kernel.is_alive():
            self.parent.start_again()
        super().runtest()
        if role(self.cell) == "check":
            self.parent.passed.append(name)

    def compare_others(self, shown: list[Any], expected: list[Any], skip_compare: Any) -> bool:
        """What an answer shows beside the values costs nothing."""
        return True

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:
        """In words: the reader knows the check's code, or has it before them."""
        error = excinfo.value
        if isinstance(error, NotAnsweredError):
            return str(error)
        title = self.parent.title(exercise_of(self.cell))
        if isinstance(error, CellStoppedError):
            return f"{title}: {error}"
        if isinstance(error, NbCellError) and role(self.cell) == "check":
            said = "\n".join(getattr(self, "comparison_traceback", None) or [str(error.inner_traceback or error)])
            return f"{title}: not yet\n{ANSI.sub('', said)}"
        return ANSI.sub("", str(super().repr_failure(excinfo)))

    def reportinfo(self) -> tuple[Path, int, str]:
        """What a failure is headed with."""
        return self.path, 0, self.nodeid


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Generator[None, list[Any], list[Any]]:
    collectors = yield
    return [_ours(file_path, parent) or each if type(each) is IPyNbFile else each for each in collectors]


def _ours(path: Path, parent: pytest.Collector) -> CourseNotebook | None:
    """What collects a notebook of a course; None for a notebook of others."""
    folder, course = path.parent.resolve(), Course.find(path.parent)
    if folder in (course.notebooks, course.solutions):
        return CourseNotebook.from_parent(parent, path=path)  # type: ignore[no-any-return]
    if course.exercises in (folder, *folder.parents) or _is_marked(path):
        return Submission.from_parent(parent, path=path)  # type: ignore[no-any-return]
    return None


def _is_marked(path: Path) -> bool:
    """Whether a notebook's metadata say that it is one of a course, or it cannot be read: nbval would stop there."""
    try:
        return OURS in json.loads(content(path))["metadata"]
    except Exception:  # it may hold anything
        return True


def _split(outputs: list[NotebookNode]) -> tuple[list[Any], list[NotebookNode]]:
    """The bundles shown, and the other outputs but for what was printed: a leftover `print` costs nothing."""
    bundles = [output.data[bundle.MIME] for output in outputs if bundle.MIME in output.get("data", {})]
    others = [o for o in outputs if bundle.MIME not in o.get("data", {}) and o.output_type != "stream"]
    return bundles, others
