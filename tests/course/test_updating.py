"""A learner's clone gets the course's next version: with real git, and with Jupyter's own way of saving."""

import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner
from nbclient import NotebookClient

from course import setup
from course.__main__ import main
from course.authoring.release import release
from course.files import CODE, Course
from course.notebooks import rebuild
from course.notebooks.notebook import KERNELSPEC, v4
from tests.course.in_browser import wait_for

CHAPTER = "01_fixture"
ANSWER = "def contiguous_strides(size):\n    return mine"
IDENTITY = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.mark.parametrize("path", sorted((CODE / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_no_cell_of_a_lesson_is_taken_for_the_learners(path: Path) -> None:
    """Else an update would keep the older version's text beside the new one."""
    newer, before = v4.new_notebook(), rebuild.read(path)
    assert before is not None and before.cells
    assert rebuild.with_work(newer, newer, before) is newer


def git(folder: Path, *arguments: str, code: int = 0) -> str:
    environment = {**os.environ, **IDENTITY, "GIT_CONFIG_GLOBAL": os.devnull, "PYTHONPATH": str(CODE)}
    command = ["git", "-c", "protocol.file.allow=always", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def clone(own_course: Course, tmp_path: Path) -> Course:
    """A learner's clone of `own_course`, set up."""
    shutil.copy(CODE / ".gitattributes", own_course.root)
    (own_course.root / ".gitignore").write_text("my/\n__pycache__/\n.ipynb_checkpoints/\n")
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "one"]):
        git(own_course.root, *arguments)
    git(tmp_path, "clone", "-q", str(own_course.root), "clone")
    setup.git(tmp_path / "clone")
    return Course(tmp_path / "clone")


def next_version(course: Course) -> None:
    """Chapter 01 and its lesson change."""
    for folder in (course.exercises, course.pristine, course.notebooks):
        path = folder / f"{CHAPTER}.ipynb"
        notebook = nbformat.read(path, as_version=4)
        notebook.cells[0].source += "\n\nThis is new."
        path.write_text(nbformat.v4.writes(notebook) + "\n")
    (course.root / "new.txt").write_text("new")
    git(course.root, "add", ".")
    git(course.root, "commit", "-q", "-m", "two")


def saved_by_jupyter(notebook: Any) -> Any:
    """As after a run: with counts, and with what a kernel says about its language."""
    notebook.metadata.language_info = {"name": "python", "version": "3.11.7", "file_extension": ".py"}
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            cell.execution_count = 50 + number
    return notebook


def text_of(course: Course, folder: str = "exercises") -> str:
    return (course.root / folder / f"{CHAPTER}.ipynb").read_text()


@pytest.mark.turns(8)
@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("options", [[], ["--rebase"]])
def test_a_pull_keeps_the_answers_and_brings_the_new_text(
    own_course: Course, clone: Course, submission: Callable[..., Any], committed: bool, options: list[str]
) -> None:
    nbformat.write(saved_by_jupyter(submission(contiguous_strides=ANSWER)), clone.exercises / f"{CHAPTER}.ipynb")
    lesson = clone.notebooks / f"{CHAPTER}.ipynb"
    nbformat.write(saved_by_jupyter(nbformat.read(lesson, as_version=4)), lesson)
    if committed:
        git(clone.root, "commit", "-qam", "my answers")
    next_version(own_course)
    git(clone.root, "pull", "-q", "--no-edit", *(options or ["--no-rebase"]))
    for folder in ("exercises", "notebooks"):
        text = text_of(clone, folder)
        assert ("This is new." in text, "<<<<" in text) == (True, False)
    cells = {cell.id: cell for cell in nbformat.read(clone.exercises / f"{CHAPTER}.ipynb", as_version=4).cells}
    assert (cells["contiguous_strides"].source, cells["contiguous_strides"].execution_count) == (
        ANSWER,
        next(number for number, name in enumerate(cells, 50) if name == "contiguous_strides"),
    )
    assert text_of(clone, "notebooks") == text_of(own_course, "notebooks")  # it was only run
    assert git(clone.root, "stash", "list") == ""
    assert git(clone.root, "status", "--short") == ("" if committed else f" M exercises/{CHAPTER}.ipynb\n")


@pytest.mark.turns(8)
def test_two_pulls_after_each_other(own_course: Course, clone: Course, submission: Callable[..., Any]) -> None:
    """Also while the notebook is not saved again in between, and with a cell of the learner's own."""
    notebook = saved_by_jupyter(submission(contiguous_strides=ANSWER))
    notebook.cells.insert(2, nbformat.v4.new_code_cell("tried = 1", id="tried"))
    nbformat.write(notebook, clone.exercises / f"{CHAPTER}.ipynb")
    for _ in range(2):
        next_version(own_course)
        git(clone.root, "pull", "-q", "--no-rebase")
    sources = [cell.source for cell in nbformat.read(clone.exercises / f"{CHAPTER}.ipynb", as_version=4).cells]
    assert sources[0].count("This is new.") == 2 and sources.count("tried = 1") == sources.count(ANSWER) == 1


@pytest.mark.turns(8)
def test_a_file_that_is_no_notebook_is_not_lost(own_course: Course, clone: Course) -> None:
    path = clone.exercises / f"{CHAPTER}.ipynb"
    path.write_text("mine, broken\n")
    next_version(own_course)
    git(clone.root, "pull", "-q", "--no-rebase")
    assert "mine, broken" in path.read_text() or "mine, broken" in git(
        clone.root, "show", f"stash@{{0}}:exercises/{path.name}"
    )


@pytest.mark.turns(8)
def test_two_builds_are_merged_as_git_does(own_course: Course, clone: Course) -> None:
    """No author's build is taken for an answer: where both changed a cell there is a conflict."""
    next_version(own_course)
    path = clone.exercises / f"{CHAPTER}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[0].source += "\n\nThis is another text."
    path.write_text(nbformat.v4.writes(notebook) + "\n")
    git(clone.root, "commit", "-qam", "another build")
    git(clone.root, "pull", "-q", "--no-rebase", code=1)
    assert "<<<<<<<" in path.read_text()


def test_a_students_copy_gets_the_next_archive(
    own_course: Course, submission: Callable[..., Any], tmp_path: Path
) -> None:
    for arguments in (["init", "-q"], ["add", "."]):
        git(own_course.root, *arguments)
    release(own_course, tmp_path / "one.zip")
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        archive.extractall(tmp_path)
    copy = Course(tmp_path / "minitorch-course")
    notebook = submission(contiguous_strides=ANSWER)
    nbformat.write(notebook, copy.exercises / f"{CHAPTER}.ipynb")
    lesson = saved_by_jupyter(nbformat.read(copy.notebooks / f"{CHAPTER}.ipynb", as_version=4))
    lesson.cells.append(nbformat.v4.new_markdown_cell("A note of mine.", id="note"))
    nbformat.write(lesson, copy.notebooks / f"{CHAPTER}.ipynb")
    (copy.exercises / "Untitled.ipynb").write_text("mine")
    next_version(own_course)
    release(own_course, tmp_path / "two.zip")
    command = ["--root", str(copy.root), "update", str(tmp_path / "two.zip")]
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, done.output.count("kept a copy: my/backups/")) == (0, 2), done.output
    for folder, mine in (("exercises", json.dumps(ANSWER)[1:-1].split("\\n")[1]), ("notebooks", "A note of mine.")):
        text = text_of(copy, folder)
        assert ("This is new." in text, mine in text) == (True, True)
    assert (copy.exercises / "Untitled.ipynb").read_text() == "mine"
    assert text_of(copy, "exercises/.pristine") == text_of(own_course, "exercises/.pristine")
    assert os.access(copy.root / ".ci" / "check", os.X_OK)
    before = text_of(copy)
    assert CliRunner().invoke(main, command).output == "" and text_of(copy) == before

    (tmp_path / "other.zip").write_text("no archive")
    refused = CliRunner().invoke(main, [*command[:3], str(tmp_path / "other.zip")])
    assert (refused.exit_code, "File is not a zip file" in refused.output) == (1, True)
    refused = CliRunner().invoke(main, ["--root", str(own_course.root), *command[2:]])
    assert (refused.exit_code, "is a clone of the course: update it with git pull" in refused.output) == (1, True)


@pytest.fixture
def contents(own_course: Course, tmp_path: Path) -> Iterator[str]:
    """The address of the files of a Jupyter server on `own_course`, with jupytext as everybody has it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = os.pathsep.join([str(CODE / "course/jupyter/etc/jupyter"), str(Path(sys.prefix) / "etc/jupyter")])
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
        "JUPYTER_CONFIG_PATH": config,
        "PYTHONPATH": str(CODE),
    }
    options = [f"--port={port}", "--no-browser", "--allow-root", f"--ServerApp.root_dir={own_course.root}"]
    options += ["--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True"]
    log = tmp_path / "server.log"
    with (
        log.open("w") as out,
        subprocess.Popen(
            [sys.executable, "-m", "jupyter_server", *options], env=environment, stdout=out, stderr=out
        ) as server,
    ):
        try:
            wait_for(f"http://127.0.0.1:{port}/api", server, log)
            assert "[Jupytext Server Extension] Deriving" in log.read_text()
            yield f"http://127.0.0.1:{port}/api/contents/"
        finally:
            server.terminate()


@pytest.mark.turns(8)
def test_opening_running_and_saving_a_lesson_changes_nothing(own_course: Course, contents: str) -> None:
    def save(name: str, change: Callable[[Any], Any]) -> bytes:
        with urllib.request.urlopen(contents + name) as answer:
            model = json.load(answer)
        model["content"] = json.loads(json.dumps(change(nbformat.from_dict(model["content"]))))
        body = json.dumps({name: model[name] for name in ("type", "format", "content")}).encode()
        urllib.request.urlopen(urllib.request.Request(contents + name, body, method="PUT")).close()
        return (own_course.root / name).read_bytes()

    lesson, exercises = (f"{folder}/{CHAPTER}.ipynb" for folder in ("notebooks", "exercises"))
    before = (own_course.root / lesson).read_bytes()
    assert save(lesson, saved_by_jupyter) == before
    assert save(exercises, saved_by_jupyter) != (own_course.pristine / f"{CHAPTER}.ipynb").read_bytes()

    def note(notebook: Any) -> Any:
        notebook["cells"][0]["source"] += "\nA note of mine."
        return notebook

    assert b"A note of mine." in save(lesson, note)


def test_the_kernel_finds_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However Jupyter was started: here with a PATH that lacks this environment."""
    setup.kernel(tmp_path)
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share" / "jupyter"))
    monkeypatch.setenv("PATH", os.defpath)
    cell = nbformat.v4.new_code_cell("import shutil; shutil.which('course')")
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": KERNELSPEC})
    NotebookClient(notebook, kernel_name="python3").execute()
    assert notebook.cells[0].outputs[0].data["text/plain"] == repr(str(Path(sys.executable).parent / "course"))
