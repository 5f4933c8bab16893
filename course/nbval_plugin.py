"""Our part of a `pytest --nbval` run.

The values that checks show are compared by tolerance. With `--course-report FILE` it is a grade: the learner's cells
run whatever marks they carry, a dead kernel is noticed and a new one goes on, and the file gets a line for each cell.
"""

import json
import os
import re
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Generator, Iterable
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from jupyter_client.manager import KernelManager
from nbformat import NotebookNode
from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbCell, IPyNbFile

from course import bundle
from course.kernel import manager_options
from course.notebook import OURS, exercise_of, role

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_MAX_MESSAGE = 2000


class KernelDiedError(Exception):
    """The kernel's process ended while a cell ran."""


class Kernel(RunningKernel):  # type: ignore[misc]
    """This interpreter's kernel, whatever the notebook asks for; its death is noticed within a second."""

    def __init__(self, working_folder: Path, startup_seconds: float) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="kernel-")
        self.km = KernelManager(**manager_options(Path(self.folder.name)))
        self.km.start_kernel(cwd=str(working_folder), env=dict(os.environ), stderr=subprocess.DEVNULL)
        self.kc = self.km.client()
        self.kc.start_channels()
        self.kc.wait_for_ready(timeout=startup_seconds)
        self._ensure_iopub_up()

    def get_message(self, stream: str, timeout: float | None = None) -> Any:
        deadline = time.monotonic() + (timeout or 0)
        while True:
            remaining = deadline - time.monotonic()
            try:
                return super().get_message(stream, timeout=max(0, min(0.5, remaining)))
            except Empty:
                if not self.is_alive():
                    raise KernelDiedError("the cell ended the Python process") from None
                if remaining <= 0:
                    raise


class GradedNotebook(IPyNbFile):  # type: ignore[misc]
    """The merged notebook; its kernel's folder is an empty one beside it."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.passed: set[str] = set()  # ids of the solution cells that ran

    def setup(self) -> None:
        folder = Path(self.path).parent / "work"
        folder.mkdir(exist_ok=True)
        self.kernel = Kernel(folder, self.config.option.nbval_kernel_startup_timeout)

    def restart(self, cell: NotebookNode) -> None:
        """Start a new kernel after a death, and run what `cell` needs: the setup and, for a check, the solution."""
        self.setup()
        for earlier in self.nb.cells:
            solution = earlier.id in self.passed and exercise_of(earlier) == exercise_of(cell)
            if solution or (role(earlier) == "setup" and earlier is not cell):
                request = self.kernel.execute_cell_input(earlier.source, allow_stdin=False)
                self.kernel.await_reply(request, timeout=self.config.option.nbval_cell_timeout)
                self.kernel.await_idle(request, self.config.option.nbval_cell_timeout)

    def collect(self) -> Iterable["GradedCell"]:
        return [_as(GradedCell, item, self) for item in super().collect()]


class ComparedNotebook(IPyNbFile):  # type: ignore[misc]
    """A lesson or a solution, run and compared as nbval does, but for the values of checks."""

    def collect(self) -> Iterable["ComparedCell"]:
        return [_as(ComparedCell, item, self) for item in super().collect()]


class ComparedCell(IPyNbCell):  # type: ignore[misc]
    """A cell whose values, if it shows any, are compared by tolerance, and what it printed beside them is not."""

    compared = False

    def compare_outputs(self, test: list[Any], ref: list[Any], skip_compare: Any = None) -> bool:
        expected, other_expected = _split(ref)
        if not expected:
            return bool(super().compare_outputs(test, ref, skip_compare))
        shown, other_shown = _split(test)
        self.comparison_traceback = []
        if len(shown) != 1:
            self.comparison_traceback = [f"the check showed {len(shown)} bundles of values, not one"]
        elif wrong := bundle.difference(expected[0], shown[0]):
            known = self.cell.metadata[OURS].get("mutants", {}).get(bundle.fingerprint(shown[0]))
            self.comparison_traceback = [wrong] + [known] * bool(known)
        else:
            self.compared = bool(super().compare_outputs(other_shown, other_expected, skip_compare))
        return self.compared


class GradedCell(ComparedCell):
    """A cell of the merged notebook. Only check cells are compared, and no mark in a learner's text counts."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.options = defaultdict(bool, check=role(self.cell) == "check")
        self.status, self.message = "error", ""

    def setup(self) -> None:
        """Without nbval's: it marks the cells after a timeout as expected failures."""

    def runtest(self) -> None:
        try:
            self._run()
        except (
            KernelDiedError
        ):  # an earlier cell may have told the kernel to exit: only a second death is this cell's own
            try:
                self._run()
            except KernelDiedError as error:
                self.message = str(error)
                raise
        self.status = "passed"
        if role(self.cell) == "solution":
            self.parent.passed.add(self.cell.id)

    def _run(self) -> None:
        self.parent.timed_out = False
        if not self.parent.kernel.is_alive():
            self.parent.restart(self.cell)
        super().runtest()

    def raise_cell_error(self, message: str, *details: Any) -> None:
        self.status, self.message = self._explain(message)
        super().raise_cell_error(message, *details)

    def _explain(self, message: str) -> tuple[str, str]:
        if message == "Cell outputs differ":
            return "failed", "\n".join(self.comparison_traceback)
        if message.startswith("Timeout"):
            return "timeout", f"stopped after {self.config.option.nbval_cell_timeout:g} seconds"
        if self.test_outputs and self.test_outputs[-1].output_type == "error":
            return "error", f"{self.test_outputs[-1].ename}: {self.test_outputs[-1].evalue}"
        return "error", message


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--course-report", type=Path, help="file that gets a JSON line for each cell")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Generator[None, list[Any], list[Any]]:
    collectors = yield
    ours = ComparedNotebook if parent.config.option.course_report is None else GradedNotebook
    return [ours.from_parent(parent, path=file_path) if type(c) is IPyNbFile else c for c in collectors]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    path: Path | None = item.config.option.course_report
    if path is not None and isinstance(item, GradedCell) and (report.when == "call" or report.outcome != "passed"):
        message = item.message or (str(call.excinfo.value) if call.excinfo else "")
        line = {
            "role": role(item.cell),
            "exercise": item.cell.metadata[OURS].get("exercise", ""),
            "when": report.when,
            "outcome": report.outcome if not hasattr(report, "wasxfail") else f"x{report.outcome}",
            "status": item.status,
            "compared": item.compared,
            "message": _ANSI.sub("", message)[:_MAX_MESSAGE],
        }
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    return report


def _as(kind: type[Any], item: IPyNbCell, parent: IPyNbFile) -> Any:
    return kind.from_parent(parent, name=item.name, cell_num=item.cell_num, cell=item.cell, options=item.options)


def _split(outputs: list[NotebookNode]) -> tuple[list[Any], list[NotebookNode]]:
    """The bundles shown, and the other outputs but for what was printed: a leftover `print` costs nothing."""
    bundles = [output.data[bundle.MIME] for output in outputs if bundle.MIME in output.get("data", {})]
    others = [o for o in outputs if bundle.MIME not in o.get("data", {}) and o.output_type != "stream"]
    return bundles, others
