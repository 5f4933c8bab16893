"""A learner's work breaks nothing: the build leaves it, its check passes over it, and reset gives the original back."""

import copy
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.authoring.build import build, differences
from course.files import CODE, Course
from course.learner import practice

CHAPTER = "01_fixture"
STRIDES = "def contiguous_strides(size):\n    return mine"


def command(course: Course, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["--root", str(course.root), *arguments])
    return result.exit_code, result.output


def output(text: str) -> Any:
    return nbformat.v4.new_output("stream", name="stdout", text=text)


@pytest.fixture
def path(own_course: Course) -> Path:
    return own_course.exercises / f"{CHAPTER}.ipynb"


@pytest.fixture
def worked(own_course: Course, path: Path, submission: Callable[..., Any]) -> Any:
    """The notebook in which a learner worked: an answer, a wrong one, a comment, cells added, moved, copied, edited."""
    notebook = submission(
        contiguous_strides=STRIDES, predict_strides="prediction = 'wrong'", running_mean="# no idea yet"
    )
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count, cell.outputs = 7, [output(f"ran {cell.id}\n")]
    place = next(place for place, cell in enumerate(notebook.cells) if cell.id == "contiguous_strides")
    second = copy.deepcopy(notebook.cells[place])
    second.id, second.source = "second", "def contiguous_strides(size):\n    return 'another attempt'"
    notebook.cells[place + 1 : place + 1] = [second, nbformat.v4.new_markdown_cell("A thought", id="thought")]
    plain = next(cell for cell in notebook.cells if "itemsize" in cell.source)
    plain.source += "  # tried"
    notebook.cells.insert(0, nbformat.v4.new_code_cell("scratch = 1", id="scratch", outputs=[output("hello\n")]))
    notebook.metadata.language_info = {"name": "python", "version": "3.11.7"}
    nbformat.write(notebook, path)
    own_course.mine.mkdir()
    practice.solution_path(own_course, "contiguous_strides").write_text("contiguous_strides = 'not an answer'")
    (own_course.exercises / "Untitled.ipynb").write_text("{}")
    return notebook


def edit_source(course: Course) -> None:
    """A newer task, newer checks and newer stubs."""
    source = course.chapters / CHAPTER / "exercises.py"
    text = source.read_text()
    for old, new in (
        ("Everything here needs NumPy alone.", "Everything here still needs NumPy alone."),
        ("### Exercise 3 · A mean that starts too low", "### Exercise 3 · A newer title"),
        ("def contiguous_strides(size: tuple[int, ...]) -> tuple[int, ...]:", "def contiguous_strides(size):"),
        ('"running mean": running_mean(values)}', '"newer": running_mean(values)}'),
        ('"of a scalar": of_a_scalar', '"newer": of_a_scalar'),
    ):
        assert old in text
        text = text.replace(old, new)
    source.write_text(text)


@pytest.mark.turns(8)
def test_the_check_passes_and_the_build_leaves_the_work(own_course: Course, path: Path, worked: Any) -> None:
    before = path.read_bytes()
    assert differences(own_course) == []
    build(own_course)
    assert path.read_bytes() == before
    assert not (own_course.mine / "backups").exists()


@pytest.mark.turns(8)
def test_a_new_build_keeps_what_the_learner_wrote(own_course: Course, path: Path, worked: Any) -> None:
    before = path.read_bytes()
    edit_source(own_course)
    code, said = command(own_course, "build", "01")
    assert (code, f"kept a copy: my/backups/{CHAPTER}-1.ipynb" in said.splitlines()) == (0, True), said
    assert (own_course.mine / "backups" / f"{CHAPTER}-1.ipynb").read_bytes() == before
    pristine = nbformat.read(own_course.pristine / path.name, as_version=4)
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = {cell.id: cell for cell in notebook.cells}
    tried = [name for name, cell in cells.items() if cell.source.endswith("# tried")]
    assert [name.endswith("-2") for name in tried] == [True]  # no random id of nbformat's, which mends equal ones
    sources = [cell.source for cell in notebook.cells]
    assert sources[0] == "scratch = 1" and notebook.cells[0].outputs[0].text == "hello\n"
    place = sources.index(STRIDES)
    assert sources[place + 1 : place + 3] == [
        "def contiguous_strides(size):\n    return 'another attempt'",
        "A thought",
    ]
    assert "nbgrader" not in notebook.cells[place + 1].metadata
    assert cells["contiguous_strides"].outputs[0].text == "ran contiguous_strides\n"
    assert cells["predict_strides"].source == "prediction = 'wrong'"
    assert cells["running_mean"].source == "# no idea yet"
    assert 'print("itemsize:", np.dtype("float32").itemsize)  # tried' in sources
    assert cells["running_mean-task"].source.startswith("### Exercise 3 · A newer title")
    assert cells["smallest_step-check"] in pristine.cells  # run, but not answered
    built = [cell.source for cell in pristine.cells if cell.metadata.get("minitorch", {}).get("role") != "solution"]
    assert [source for source in sources if source in built] == built
    assert differences(own_course) == []


@pytest.mark.turns(8)
def test_a_notebook_older_than_the_last_build_gets_no_cell_twice(own_course: Course, path: Path, worked: Any) -> None:
    before = path.read_bytes()
    edit_source(own_course)
    build(own_course)
    expected = [cell.source for cell in nbformat.read(path, as_version=4).cells]
    path.write_bytes(before)
    assert differences(own_course) == []  # the learner's own business: it holds an answer
    source = own_course.chapters / CHAPTER / "exercises.py"
    source.write_text(source.read_text().replace("A newer title", "The newest title"))
    build(own_course)
    found = [cell.source for cell in nbformat.read(path, as_version=4).cells]
    assert found == [text.replace("A newer title", "The newest title") for text in expected]


@pytest.mark.turns(8)
def test_a_new_build_replaces_what_was_only_run(own_course: Course, path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count, cell.outputs = 7, [output("ran\n")]
    nbformat.write(notebook, path)
    assert differences(own_course) == []
    edit_source(own_course)
    build(own_course)
    assert path.read_bytes() == (own_course.pristine / path.name).read_bytes()
    assert not (own_course.mine / "backups").exists()


@pytest.mark.turns(8)
def test_a_file_that_is_no_notebook_is_kept_aside(own_course: Course, path: Path) -> None:
    path.write_bytes(b"<<<<<<< \xff")
    assert differences(own_course) == [f"exercises/{path.name}: is no notebook"]
    build(own_course)
    assert path.read_bytes() == (own_course.pristine / path.name).read_bytes()
    assert (own_course.mine / "backups" / f"{CHAPTER}-1.ipynb").read_bytes() == b"<<<<<<< \xff"


@pytest.mark.turns(8)
def test_an_unsolved_notebook_of_an_older_build_is_found(own_course: Course, path: Path) -> None:
    older = path.read_bytes()
    edit_source(own_course)
    build(own_course)
    path.write_bytes(older)
    assert differences(own_course) == [f"exercises/{path.name}: differs from its source"]
    path.unlink()
    assert differences(own_course) == [f"exercises/{path.name}: missing"]


@pytest.mark.turns(8)
def test_a_lesson_that_was_run_in_jupyterlab_is_no_difference(own_course: Course) -> None:
    path = own_course.notebooks / f"{CHAPTER}.ipynb"
    lesson = nbformat.read(path, as_version=4)
    lesson.metadata.language_info = {"name": "python", "version": "3.11.7", "file_extension": ".py"}
    for number, cell in enumerate(lesson.cells):
        cell.metadata["scrolled"] = True
        if cell.cell_type == "code":
            cell.execution_count = 100 + number
            for each in cell.outputs:
                if each.output_type == "error":
                    each.traceback = ["Traceback, with \x1b[31mcolours\x1b[0m"]
                if each.output_type == "execute_result":
                    each.execution_count = 100 + number
    nbformat.write(lesson, path)
    assert differences(own_course) == []


@pytest.mark.turns(8)
def test_lessons_are_compared_on_the_reference_of_mytorch(own_course: Course) -> None:
    for folder, text in ((own_course.reference, "whose = 'reference'"), (own_course.mine / "mytorch", "broken, half")):
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(text)
    cell = nbformat.v4.new_code_cell("from course import check\nimport mytorch\nprint(mytorch.whose)", id="whose")
    cell.execution_count, cell.outputs = 1, [output("reference\n")]
    for path in own_course.root.rglob("*.ipynb"):
        if path.parent != own_course.pristine:
            path.unlink()
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), own_course.notebooks / "lesson.ipynb")
    options = [
        "--nbval",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options, "notebooks"],
        cwd=own_course.root,
        env={**os.environ, "PYTHONPATH": str(CODE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout


def test_reset_of_one_exercise_leaves_the_others(own_course: Course, path: Path, worked: Any) -> None:
    assert command(own_course, "reset", "contiguous_strides")[0] == 0
    cells = {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}
    assert cells["contiguous_strides"].source == practice.find(own_course, "contiguous_strides").stub
    pristine = {cell.id: cell for cell in nbformat.read(own_course.pristine / path.name, as_version=4).cells}
    assert cells["contiguous_strides-check"] == pristine["contiguous_strides-check"]
    assert cells["predict_strides"].source == "prediction = 'wrong'"
    assert cells["predict_strides-check"].outputs[0].text == "ran predict_strides-check\n"
    assert {"scratch", "thought"} <= set(cells) and "second" not in cells


def test_a_solution_cell_that_was_deleted_comes_back(own_course: Course, path: Path, worked: Any) -> None:
    worked.cells = [cell for cell in worked.cells if cell.id != "running_mean"]
    nbformat.write(worked, path)
    assert command(own_course, "reset", "running_mean")[0] == 0
    ids = [cell.id for cell in nbformat.read(path, as_version=4).cells]
    assert ids[ids.index("running_mean-check") - 1] == "running_mean"


def test_all_exercises_reset_one_by_one_give_the_original(
    own_course: Course, path: Path, submission: Callable[..., Any]
) -> None:
    names = [exercise.name for exercise in practice.exercises(own_course)]
    notebook = submission(**dict.fromkeys(names, "wrong = 1"))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count, cell.outputs = 7, [output("ran\n")]
    nbformat.write(notebook, path)
    assert command(own_course, "reset", *names)[0] == 0
    assert path.read_bytes() == (own_course.pristine / path.name).read_bytes()


def test_reset_all_gives_the_original_and_keeps_copies(own_course: Course, path: Path, worked: Any) -> None:
    before = path.read_bytes()
    code, said = command(own_course, "reset", "--all")
    copies = [f"my/backups/{CHAPTER}-1.ipynb", "my/backups/contiguous_strides-1.py"]
    assert (code, said.splitlines()) == (0, [f"kept a copy: {name}" for name in copies])
    assert path.read_bytes() == (own_course.pristine / path.name).read_bytes()
    assert (own_course.root / copies[0]).read_bytes() == before
    assert practice.solution_path(own_course, "contiguous_strides").exists() is False
    assert command(own_course, "reset")[0] == command(own_course, "reset", "--all", "running_mean")[0] == 2
