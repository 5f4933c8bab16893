"""A sandbox that serves several submissions: it is started once, and none costs the next one its grade."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course.files import Course
from course.grading import runner
from course.grading.grade import grade
from course.grading.report import Report
from course.grading.warm import Pool
from course.sandbox.outside import Limits

pytestmark = pytest.mark.needs("bubblewrap")

HARM = {
    "kills": "os.kill(os.getppid(), signal.SIGKILL)",
    "stops": "os.kill(os.getppid(), signal.SIGSTOP)",
    "memory": "resource.prlimit(os.getppid(), resource.RLIMIT_AS, (1 << 20, 1 << 20))",
    "files": "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (3, 3))",
    "processor": "resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
}
NEEDY = "import tempfile\ntempfile.TemporaryFile()\nbytearray(100 << 20)\nsum(range(20_000_000))\n"


def write(folder: Path, **notebooks: Any) -> None:
    folder.mkdir(exist_ok=True)
    for name, notebook in notebooks.items():
        nbformat.write(notebook, folder / f"{name}.ipynb")


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The packages of each sandbox that is started."""
    found: list[str] = []

    def started(task: runner.Task, *arguments: Any) -> Any:
        found.append(task.packages.name)
        return really(task, *arguments)

    really = runner.started
    monkeypatch.setattr(runner, "started", started)
    return found


def points(report: Report) -> dict[str, int]:
    return {Path(result.path).stem: result.score for result in report.submissions}


def test_sandboxes_are_started_once_for_a_class(
    course: Course, submission: Callable[..., Any], tmp_path: Path, starts: list[str]
) -> None:
    write(tmp_path / "class", **{name: submission(solved=True) for name in "abcd"})
    assert points(grade([tmp_path / "class"], course, explain=False)) == dict.fromkeys("abcd", 8)
    assert sorted(starts) == sorted([*set(starts)] * 2)  # for the reference, and for all submissions together


def test_what_does_not_pass_is_run_again_in_a_new_one(
    course: Course, submission: Callable[..., Any], tmp_path: Path, starts: list[str]
) -> None:
    wrong = "prediction = (12, 3, 1)"
    write(tmp_path / "class", a=submission(solved=True), b=submission(solved=True, predict_strides=wrong))
    report = grade([tmp_path / "class"], course)
    assert points(report) == {"a": 8, "b": 7}
    assert report.submissions[1].items[0].message.startswith("These would be")
    assert starts.count("minitorch") == 3
    starts.clear()
    (tmp_path / "class" / "a.ipynb").unlink()
    grade([tmp_path / "class"], course)
    assert starts.count("minitorch") == 2  # nobody was in it before


@pytest.mark.parametrize("harm", HARM)
def test_harm_done_to_a_sandbox_costs_the_next_submission_nothing(
    course: Course, submission: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    monkeypatch.setattr("course.grading.runner._END_SECONDS", 2)  # who was stopped never says that it ended
    evil = f"import os, resource, signal\n{HARM[harm]}\nprediction = (12, 1, 4)"
    write(
        tmp_path / "class",
        a=submission(solved=True, predict_strides=evil),
        b=submission(solved=True, predict_strides=f"{NEEDY}prediction = (12, 1, 4)"),
    )
    assert points(grade([tmp_path / "class"], course, explain=False))["b"] == 8


def test_a_slow_cell_has_all_its_time_in_the_end(
    course: Course, submission: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("course.grading.warm._CELL_SECONDS", 0.5)
    slow = "import time\ntime.sleep(1.5)\nprediction = (12, 1, 4)"
    write(tmp_path / "class", a=submission(solved=True), b=submission(solved=True, predict_strides=slow))
    assert points(grade([tmp_path / "class"], course, explain=False)) == {"a": 8, "b": 8}


def test_no_more_wait_than_there_is_room_for(
    course: Course, submission: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[int] = []
    ended: list[Any] = []
    really = Pool._trim

    def trim(pool: Pool, size: int) -> None:
        ended.extend(each.process.process.popen for each in pool._waiting.values())
        really(pool, size)
        waiting.append(len(pool._waiting))

    monkeypatch.setattr(Pool, "_trim", trim)
    monkeypatch.setattr("course.grading.grade._WARM", 1)
    write(tmp_path / "class", a=submission(solved=True), b=submission(solved=True))
    assert points(grade([tmp_path / "class"], course, explain=False)) == {"a": 8, "b": 8}
    assert set(waiting) == {0, 1} and waiting[-1] == 0
    assert ended and all(popen.poll() is not None for popen in ended)
    assert Pool(1, Limits(), threading.Event(), 1).run([], {}, lambda name, outcome: True) == {}
