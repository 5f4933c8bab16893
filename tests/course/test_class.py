"""No submission costs another's grade, whatever it is called or holds; a grade that is stopped goes on later."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.checks.printable import printable, printable_path
from course.files import CODE, Course
from course.grading import find
from course.grading import run as run_module
from course.grading.find import content, notebooks
from course.grading.grade import grade
from course.grading.pool import Pool
from course.grading.report import Report, Result
from course.grading.submission import RejectedError, Submission

posix = pytest.mark.skipif(os.name == "nt", reason="names of bytes, pipes and signals are POSIX's")


@posix
def test_names_and_contents_of_every_kind(
    course: Course, submission: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "class"
    for name in ("closed", "elsewhere"):
        (folder / name).mkdir(parents=True)
    text = nbformat.writes(submission())
    (folder / os.fsdecode(b"caf\xe9.ipynb")).write_text(text)
    (folder / "\u202eright\x1b[2J\n.ipynb").write_text(text)
    (folder / "mark.ipynb").write_text(text, encoding="utf-8-sig")
    (folder / "nan.ipynb").write_text(text.replace('"nbformat":', '"x": NaN, "nbformat":', 1))
    (folder / "infinite.ipynb").write_text(text.replace('"nbformat_minor": 5', '"nbformat_minor": 1e999'))
    os.mkfifo(folder / "pipe.ipynb")
    (folder / "link.ipynb").symlink_to(course.solutions / "01_fixture.ipynb")
    (folder / "linked").symlink_to(course.solutions)
    scandir = os.scandir

    def closed(path: Any = ".") -> Any:
        if str(path).endswith("closed"):
            raise PermissionError
        return scandir(path)

    monkeypatch.setattr(find.os, "scandir", closed)
    report = grade([folder], course, jobs=2, explain=False)
    saved = tmp_path / "report.json"
    saved.write_text(report.to_json(), encoding="utf-8")
    said = {each["path"].rpartition("/")[2]: each for each in json.loads(saved.read_text())["submissions"]}
    assert {name: each["reason"] for name, each in said.items() if each["status"] == "rejected"} == {
        "nan.ipynb": "not a valid notebook: NaN is not a number that JSON has room for",
        "infinite.ipynb": "not a valid notebook: 1e999 is not a number that JSON has room for",
        "pipe.ipynb": "not a file: a pipe, a socket or a device",
        "link.ipynb": "a link: submissions are files, and links are not followed",
        "linked": "a link: submissions are files, and links are not followed",
        "closed": "a folder that cannot be read",
    }
    assert {name for name, each in said.items() if each["status"] == "graded"} == {
        "caf\\udce9.ipynb",
        "\\u202eright\\x1b[2J\\n.ipynb",
        "mark.ipynb",
    }


def test_a_link_is_refused_as_an_argument_too(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    (path,) = notebooks([tmp_path / "link"])
    with pytest.raises(RejectedError, match="a link"):
        content(path)


def test_no_two_paths_are_printed_alike() -> None:
    paths = [Path(name) for name in ("\udce9", r"\udce9", r"\\udce9", "\x1b", r"\x1b", "\u2066", "é")]
    assert len({printable_path(path) for path in paths}) == len(paths)
    assert printable("é\u202e\x07\x7f\ud800\n\t") == "é\\u202e\\x07\\x7f\\ud800\n\t"


def test_an_error_of_ours_in_one_submission_stops_no_other(
    course: Course, submission: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        nbformat.write(
            submission(predict_strides=f"raise ValueError('\\x1b{name}\\u202e')"), tmp_path / f"{name}.ipynb"
        )
    score = run_module.score

    def fails_once(*arguments: Any) -> Any:
        monkeypatch.setattr(run_module, "score", score)
        raise MemoryError("no\x07room")

    monkeypatch.setattr(run_module, "score", fails_once)
    kept: list[int] = []
    first, second = grade([tmp_path], course, explain=False, keep=lambda r: kept.append(len(r.submissions))).submissions
    assert (first.status, first.reason) == ("not graded", "MemoryError: no\\x07room")
    raised = "the solution cell: ValueError: \\x1bb\\u202e (line 1 of your answer: "
    assert second.status == "graded" and second.items[0].message.startswith(raised)
    assert kept == [1, 2]


@pytest.mark.turns(8)
@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_grade_that_is_stopped_keeps_what_was_done_and_goes_on_later(
    course: Course, submission: Callable[..., Any], tmp_path: Path, number: int
) -> None:
    saved, folder = tmp_path / "report.json", tmp_path / "class"
    folder.mkdir()
    nbformat.write(submission(solved=True), folder / "a.ipynb")
    nbformat.write(submission(predict_strides="while True: pass"), folder / "b.ipynb")
    command = [sys.executable, "-m", "course", "--root", str(course.root), "grade", str(folder), "--json", str(saved)]
    environment = {**os.environ, "PYTHONPATH": str(CODE)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    while not saved.exists():
        assert process.poll() is None
        time.sleep(0.1)
    time.sleep(2)  # the second kernel starts
    started = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    assert "--resume` continues" in process.communicate()[1]
    assert (process.returncode, psutil.wait_procs(started, timeout=300)[1]) == (130, [])
    before = Report.from_json(saved.read_text())
    assert [(Path(result.path).name, result.score) for result in before.submissions] == [("a.ipynb", 8)]

    nbformat.write(submission(solved=True), folder / "b.ipynb")
    done = subprocess.run([*command, "--resume"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    after = Report.from_json(saved.read_text())
    assert (after.seed, after.submissions[0]) == (before.seed, before.submissions[0])
    assert [(Path(result.path).name, result.score) for result in after.submissions[1:]] == [("b.ipynb", 8)]

    nbformat.write(submission(), folder / "a.ipynb")  # another content: it is graded again, the other one is not
    subprocess.run([*command, "--resume"], env=environment, capture_output=True, text=True, check=True)
    again = Report.from_json(saved.read_text())
    assert again.submissions[1] == after.submissions[1]
    assert [(Path(result.path).name, result.score) for result in again.submissions[:1]] == [("a.ipynb", 0)]


@pytest.mark.turns(8)
def test_a_report_never_loses_a_submission(course: Course, submission: Callable[..., Any], tmp_path: Path) -> None:
    """Not when reports are made of it anew, nor while it goes on: what is graded again stays until then."""
    folder, empty, saved, table = (tmp_path / name for name in ("class", "empty", "report.json", "grades.csv"))
    folder.mkdir()
    empty.mkdir()
    nbformat.write(submission(), folder / "a.ipynb")
    (folder / "broken.ipynb").write_text("{")
    command = ["--root", str(course.root), "grade", "--json", str(saved), "--resume", "--csv", str(table)]
    assert CliRunner().invoke(main, [*command, str(folder)]).exit_code == 1
    before = saved.read_text()
    assert CliRunner().invoke(main, [*command, str(empty)]).exit_code == 1  # one of them is rejected
    assert saved.read_text() == before
    assert [line.split(",")[3] for line in table.read_text().splitlines()[1:]] == ["a", "broken"]

    nbformat.write(submission(predict_strides="prediction = (12, 1, 4)"), folder / "broken.ipynb")
    nbformat.write(submission(), folder / "c.ipynb")
    held: list[list[str]] = []
    grade(
        [folder],
        course,
        explain=False,
        before=Report.from_json(before),
        keep=lambda report: held.append([Path(result.path).stem for result in report.submissions]),
    )
    assert {tuple(names[:2]) for names in held} == {("a", "broken")} and held[-1] == ["a", "broken", "c"]
    assert CliRunner().invoke(main, [*command, str(folder / "broken.ipynb")]).exit_code == 0
    assert [result.score for result in Report.from_json(saved.read_text()).submissions] == [0, 1]


DETACHES = """import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(500)", "MARK"])
    os._exit(0)
time.sleep(500)"""


def sandboxed(grader: "subprocess.Popen[bytes]", word: str = "course.grading.inside") -> list[psutil.Process]:
    """The processes that a grader has started, as soon as one has this word on its command line."""
    while grader.poll() is None:
        started = psutil.Process(grader.pid).children(recursive=True)
        for each in started:
            with contextlib.suppress(psutil.NoSuchProcess):  # others may have ended meanwhile
                if word in each.cmdline():
                    return started
        time.sleep(0.1)
    raise AssertionError("the grader ended")


@pytest.mark.turns(8)
@posix
def test_a_grade_that_is_stopped_while_the_reference_runs(
    own_course: Course, submission: Callable[..., Any], tmp_path: Path
) -> None:
    path = own_course.solutions / "01_fixture.ipynb"
    reference = nbformat.read(path, as_version=4)
    for cell in reference.cells:
        if cell.metadata.get("minitorch", {}).get("role") == "setup":
            cell.source += "\nimport time\ntime.sleep(300)"
    nbformat.write(reference, path)
    nbformat.write(submission(solved=True), tmp_path / "a.ipynb")
    command = [sys.executable, "-m", "course", "--root", str(own_course.root), "grade", str(tmp_path / "a.ipynb")]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(CODE)})
    started = sandboxed(process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=250) == 130  # the setup sleeps longer
    assert psutil.wait_procs(started, timeout=300)[1] == []


@posix
def test_a_grade_is_stopped_by_a_signal_that_another_thread_gets(
    course: Course, submission: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel chooses the thread, and none but the first acts on signals."""
    is_waiting, was_stopped = threading.Event(), list[bool]()

    def graded(result: Result, submission: Submission, reference_of: Any, pool: Pool) -> dict[str, int]:
        if Path(result.path).name == "b.ipynb":
            assert is_waiting.wait(60)
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
            was_stopped.append(pool.stop.wait(60))
        return {}

    monkeypatch.setattr("course.grading.grade.grade_one", graded)
    for name in ("a", "b"):
        nbformat.write(submission(solved=True), tmp_path / f"{name}.ipynb")
    with pytest.raises(KeyboardInterrupt):
        grade([tmp_path], course, keep=lambda report: is_waiting.set())
    assert was_stopped == [True]


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    "mode",
    [
        pytest.param("bubblewrap", marks=pytest.mark.needs("bubblewrap")),
        pytest.param("Landlock", marks=pytest.mark.skipif(sys.platform != "linux", reason="Linux's reaper")),
    ],
)
def test_a_grader_that_is_killed_leaves_no_process_behind(
    course: Course, submission: Callable[..., Any], tmp_path: Path, mode: str
) -> None:
    mark = uuid.uuid4().hex
    nbformat.write(submission(predict_strides=DETACHES.replace("MARK", mark)), tmp_path / "a.ipynb")
    command = ["-m", "course", "--root", str(course.root), "grade", str(tmp_path / "a.ipynb")]
    path = os.environ["PATH"] if mode == "bubblewrap" else str(Path(sys.executable).parent)  # without bwrap
    process = subprocess.Popen([sys.executable, *command], env={**os.environ, "PYTHONPATH": str(CODE), "PATH": path})
    while not (detached := [each for each in psutil.process_iter(["cmdline"]) if mark in (each.info["cmdline"] or ())]):
        assert process.poll() is None
        time.sleep(0.1)
    process.kill()
    process.wait()
    left = psutil.wait_procs(detached, timeout=60)[1]
    for each in left:
        each.kill()
    assert left == []


@pytest.mark.parametrize("text", ["", "[]", '{"schema_version": 2, "seed": 1, "submissions": []}', '{"seed": 1}'])
def test_a_file_that_is_no_report_is_not_resumed(text: str) -> None:
    with pytest.raises(ValueError, match="a report of"):
        Report.from_json(text)
