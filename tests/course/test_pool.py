"""A sandbox that serves several submissions: it is started once, and none costs the next one its grade."""

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest

from course.files import CODE, Course
from course.grading import runner
from course.grading.grade import grade
from course.grading.pool import Pool
from course.grading.report import Report
from course.sandbox import launch
from course.sandbox.launch import Limits

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


@pytest.mark.turns(8)
def test_sandboxes_are_started_once_for_the_reference_and_a_class(
    course: Course, submission: Callable[..., Any], tmp_path: Path, starts: list[str]
) -> None:
    write(tmp_path / "class", **{name: submission(solved=True) for name in "abcd"})
    assert points(grade([tmp_path / "class"], course)) == dict.fromkeys("abcd", 8)
    assert (sorted(starts) == sorted({*starts})) == launch.can_nest()  # else each run of an answer starts one


@pytest.mark.turns(8)
def test_what_does_not_pass_runs_once_and_is_told_its_mistake(
    course: Course, submission: Callable[..., Any], tmp_path: Path, starts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[str] = []
    really = runner.Started.run

    def run(self: runner.Started, task: runner.Task, *rest: Any) -> Any:
        runs.append(task.exercise)
        return really(self, task, *rest)

    monkeypatch.setattr(runner.Started, "run", run)
    wrong = "prediction = (12, 3, 1)"
    write(tmp_path / "class", a=submission(solved=True), b=submission(solved=True, predict_strides=wrong))
    report = grade([tmp_path / "class"], course)
    assert points(report) == {"a": 8, "b": 7}
    assert report.submissions[1].items[0].message.startswith("These would be")
    mutants = [name for name in runs if " " in name]
    assert runs.count("predict_strides") == 3  # the reference, and each submission
    assert {name.split(" ")[0] for name in mutants} == {"predict_strides"}  # no other answer is wrong
    assert (sorted(starts) == sorted({*starts})) == launch.can_nest()  # else each run of an answer starts one


def test_an_unsolved_notebook_runs_nothing(
    course: Course, submission: Callable[..., Any], tmp_path: Path, starts: list[str]
) -> None:
    write(tmp_path / "class", a=submission())
    assert points(grade([tmp_path / "class"], course)) == {"a": 0}
    assert starts == []


def test_a_submission_never_waits_for_another_that_takes_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its own time is over before it has begun: exercises with other packages run side by side."""
    ended, both_run = threading.Event(), threading.Barrier(3, timeout=20)

    def run(tasks: list[Any], *rest: Any) -> dict[str, Any]:
        if tasks[0].exercise == "slow":
            with contextlib.suppress(threading.BrokenBarrierError):
                both_run.wait()
            ended.wait(20)
        return {task.exercise: "ran" for task in tasks}

    monkeypatch.setattr(runner, "run", run)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    slow = [SimpleNamespace(exercise="slow", packages=Path(name)) for name in ("one", "other")]
    quick: list[Any] = [SimpleNamespace(exercise="quick", packages=Path("one"))]
    with Pool(Limits(), threading.Event(), size=1, jobs=2) as pool, ThreadPoolExecutor(2) as two:
        first = two.submit(pool.run, slow, {}, 60, 900)  # type: ignore[arg-type]
        with contextlib.suppress(threading.BrokenBarrierError):
            both_run.wait(1)  # as much of it as ever will runs at the same time
        second = two.submit(pool.run, quick, {}, 60, 900)
        try:
            assert second.result(timeout=5) == {"quick": "ran"}
        finally:
            ended.set()
        assert first.result(timeout=20) == {"slow": "ran"}


COUNTED = """
import contextlib, json, sys
from course.__main__ import main
from course.grading.packages import Kits
from course.reports import feedback
from course.sandbox import launch

done = []
really, made, tasks = launch.process, Kits._make, feedback._tasks
launch.process = lambda module, *rest: done.append(module) or really(module, *rest)
Kits._make = lambda kits, name, *rest: done.append(name) or made(kits, name, *rest)
feedback._tasks = lambda path: done.append(path.name) or tasks(path)
with contextlib.redirect_stdout(sys.stderr), contextlib.suppress(SystemExit):
    main(["grade", *sys.argv[1:]], standalone_mode=False)
heavy = {"jupytext", "jupyter_server", "tornado", "IPython", "minitorch", "matplotlib"} & {*sys.modules}
print(json.dumps([done, sorted(heavy)]))
"""


def test_the_command_starts_only_what_reads_a_notebook_that_nobody_has_answered() -> None:
    path = Course(CODE).pristine / "03_views_and_layout.ipynb"
    ran = subprocess.run([sys.executable, "-c", COUNTED, str(path)], capture_output=True, text=True, check=False)
    assert json.loads(ran.stdout.splitlines()[-1]) == [["course.grading.reading"], []], ran.stderr


@pytest.mark.turns(8)
@pytest.mark.parametrize("harm", HARM)
def test_harm_done_to_a_sandbox_costs_the_next_submission_nothing(
    course: Course, submission: Callable[..., Any], tmp_path: Path, harm: str
) -> None:
    evil = f"import os, resource, signal\ntry:\n    {HARM[harm]}\nfinally:\n    prediction = (12, 1, 4)"
    write(
        tmp_path / "class",
        a=submission(solved=True, predict_strides=evil),
        b=submission(solved=True, predict_strides=f"{NEEDY}prediction = (12, 1, 4)"),
    )
    assert points(grade([tmp_path / "class"], course, explain=False))["b"] == 8


@pytest.mark.turns(8)
def test_a_submission_has_one_budget_of_time_for_all_its_runs(
    course: Course, submission: Callable[..., Any], tmp_path: Path
) -> None:
    forever = "while True: pass"
    write(
        tmp_path / "class",
        a=submission(solved=True, predict_strides=forever, running_mean=forever, smallest_step=forever),
    )
    limits = Limits(cell_seconds=4, wall_seconds=6)
    (result,) = grade([tmp_path / "class"], course, limits=limits, explain=False).submissions
    told = [item.message for item in result.items if item.status == "timeout"]
    assert "the solution cell: stopped after 4 seconds" in told
    assert any("the whole run took too long" in message for message in told)


@pytest.mark.turns(8)
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
