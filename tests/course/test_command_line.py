"""What `course` says where something is missing, misspelled or can't be written; and how it shows the whole course."""

import io
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import click
import nbformat
import pytest
from click.testing import CliRunner
from rich.console import Console

from course.__main__ import main
from course.files import CODE, DATA, Course
from course.learner import names, practice
from course.learner.progress import BAR, table, table_of
from course.learner.update import update

CHAPTER = "01_fixture"
NO_COURSE = "there is no course in this folder or above it: create one with `course start FOLDER`"


def command(course: Course, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["--root", str(course.root), *arguments])
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `pip install` of the course's wheel puts into site-packages; nothing of its repository."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    built = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(CODE)]
    subprocess.run([*pip, *built], check=True)
    (wheel,) = folder.glob("*.whl")
    target = folder / "site-packages"
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", str(target), str(wheel)], check=True)
    return target


def run_installed(installed: Path, where: Path, *arguments: str, others: bool = True) -> tuple[int, str]:
    """Run `course` of the wheel in a folder, with the packages that it needs or without."""
    packages = (sysconfig.get_path("purelib"), Path(click.__file__).parents[1])
    path = [str(installed), *(dict.fromkeys(map(str, packages)) if others else [])]
    start = f"import sys; sys.path += {path}; from course.__main__ import main; main(prog_name='course')"
    environment = {key: text for key, text in os.environ.items() if key not in ("PYTHONPATH", "MINITORCH_COURSE_ROOT")}
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-c", start, *arguments],
        cwd=where,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.turns(8, together=True)
def test_an_installation_without_a_course_says_so(installed: Path, course: Course, tmp_path: Path) -> None:
    for arguments in (["next"], ["progress"], ["check", "a.ipynb"], ["grade", "a.ipynb"], ["mine"], ["read", "06"]):
        code, said = run_installed(installed, tmp_path, *arguments)
        assert (code, NO_COURSE in said, "Traceback" in said) == (1, True, False), said
    assert run_installed(installed, course.exercises, "next") == (
        0,
        f"predict_strides (1 point) in exercises/{CHAPTER}.ipynb\n",
    )
    code, said = run_installed(installed, course.root, "check", f"exercises/{CHAPTER}.ipynb")
    assert (code, "0 of 8 points" in said) == (1, True), said


LEARNED = "00_welcome"


@pytest.fixture(scope="module")
def started(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The folder of a learner who has the course from its wheel alone."""
    folder = tmp_path_factory.mktemp("home")
    code, said = run_installed(installed, folder, "start", "learn")
    assert (code, said) == (0, "The course is in learn. Next: cd learn, then course lab\n")
    return Course(folder / "learn")


def answered(course: Course, name: str) -> str:
    """Write the reference's answer to an exercise into the learner's notebook; its text."""
    cells = nbformat.read(course.solutions / f"{LEARNED}.ipynb", as_version=4).cells
    text = next(cell.source for cell in cells if cell.metadata.get("nbgrader", {}).get("grade_id") == name)
    path = course.exercises / f"{LEARNED}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == name:
            cell.source = text
    nbformat.write(notebook, path)
    return str(text)


@pytest.mark.turns(8, together=True)
def test_a_folder_is_started_and_an_answer_graded(installed: Path, started: Course) -> None:
    """From a wheel alone: what a learner does first."""
    here = {path.name for path in started.root.iterdir()}
    assert here == {"README.md", "docs", "exercises", "my", "notebooks", "pytest.ini", "solutions", "tests"}
    names = {path.name for path in Course(CODE).pristine.glob("*.ipynb")}
    for folder in (started.exercises, started.pristine, started.notebooks, started.solutions):
        assert {path.name for path in folder.glob("*.ipynb")} == names
    assert run_installed(installed, started.root, "next")[1].startswith("welcome_first_derivative (1 point)")
    assert "class VersionCounter" in run_installed(installed, started.root, "read", "06")[1]
    answered(started, "welcome_more_operations")
    code, said = run_installed(installed, started.root, "grade", f"exercises/{LEARNED}.ipynb")
    assert (code, "graded, 3 of 14 points" in said) == (0, True), said
    assert "welcome_more_operations" in str(list(started.mine.glob("*.py")))


@pytest.mark.turns(8, together=True)
def test_a_folder_that_holds_something_is_refused(installed: Path, started: Course, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for where, name in ((started.root, "."), (tmp_path, "file"), (tmp_path, ".")):
        before = sorted(where.iterdir())
        code, said = run_installed(installed, where, "start", name)
        assert (code, said) == (1, f"Error: {name} is not empty: name a new or empty folder\n")
        assert sorted(where.iterdir()) == before
    (tmp_path / "empty").mkdir()
    assert run_installed(installed, tmp_path, "start", "empty")[0] == 0


@pytest.mark.turns(8, together=True)
def test_the_tests_run_in_a_started_folder(installed: Path, started: Course) -> None:
    """With the markers and the way of importing that pyproject.toml has; and none looks beside the installed code."""
    code, said = run_installed(installed, started.root, "mine", "-q", "tests/mytorch/test_01_settings.py")
    assert (code, "passed" in said, "warning" in said) == (0, True, False), said
    assert not [path.name for path in started.root.glob("tests/mytorch/*.py") if "import CODE" in path.read_text()]


@pytest.mark.turns(8, together=True)
def test_an_update_brings_what_is_installed_and_keeps_the_answers(installed: Path, started: Course) -> None:
    text = answered(started, "welcome_squared_distance")
    assert run_installed(installed, started.root, "update") == (0, "")
    data = installed / "course" / "data"
    for folder in ("exercises/.pristine", "notebooks"):
        path = data / folder / f"{LEARNED}.ipynb"
        notebook = nbformat.read(path, as_version=4)
        notebook.cells[0].source += "\n\nThis is new."
        path.write_text(nbformat.v4.writes(notebook) + "\n")
    old = data / "exercises/.pristine/16_losses_and_optimizers.ipynb"
    old.rename(old.with_name("16_renamed.ipynb"))
    code, said = run_installed(installed, started.root, "update")
    assert (code, said) == (0, f"kept a copy: my/backups/{LEARNED}-1.ipynb\n")
    for path in (started.exercises / f"{LEARNED}.ipynb", started.notebooks / f"{LEARNED}.ipynb"):
        assert "This is new." in path.read_text()
    cells = nbformat.read(started.exercises / f"{LEARNED}.ipynb", as_version=4).cells
    assert text in [cell.source for cell in cells]
    assert {path.name[:4] for path in started.pristine.glob("16_*")} == {"16_r"}
    assert (started.exercises / "16_losses_and_optimizers.ipynb").exists()  # the learner may have worked in it


def test_a_copy_of_the_code_is_not_updated_from_itself() -> None:
    with pytest.raises(ValueError, match=r"is a clone of the course: update it with git pull"):
        update(Course(CODE))
    with pytest.raises(ValueError, match="is a student's copy: name the archive of the new version"):
        update(Course(DATA))


def test_lab_finds_the_command_and_begins_with_the_welcome(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []
    monkeypatch.setattr(subprocess, "call", lambda *arguments, **named: called.append((arguments, named)) or 3)
    monkeypatch.setenv("PATH", os.defpath)
    assert command(course, "lab", "--no-browser", "--port", "9") == (3, "")
    (((start,), named),) = called
    assert start[:3] == [sys.executable, "-m", "jupyterlab"] and start[4:] == ["--no-browser", "--port", "9"]
    assert start[3].endswith("=/lab/tree/notebooks/00_welcome.ipynb") and named["cwd"] == course.root
    assert named["env"]["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)


@pytest.mark.turns(8, together=True)
def test_an_installation_without_the_extra_says_which_it_needs(installed: Path, tmp_path: Path) -> None:
    code, said = run_installed(installed, tmp_path, "next", others=False)
    assert code == 1
    assert said == (
        "No module named 'click'. `course` needs the packages of the extra [course]: "
        "pip install -e '.[course]' in the course's folder\n"
    )


def test_a_package_that_is_missing_later_is_named(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    code, said = command(course, "progress")
    assert (code, "needs the packages of the extra [course]" in said) == (1, True)


def test_copies_without_sources_or_solutions(own_course: Course) -> None:
    for folder, arguments, message in (
        (own_course.chapters, ["build"], "has no folder chapters/"),
        (own_course.solutions, ["grade", "exercises"], "has no solutions/*.ipynb, which a grade needs"),
    ):
        folder.rename(own_course.root / "elsewhere")
        code, said = command(own_course, *arguments)
        assert (code, message in said) == (1, True), said
        (own_course.root / "elsewhere").rename(folder)


def test_a_notebook_of_the_courses_own_that_is_cut(own_course: Course) -> None:
    notebook = own_course.exercises / f"{CHAPTER}.ipynb"
    for folder, name in ((own_course.solutions, "grade"), (own_course.pristine, "check")):
        path = folder / notebook.name
        path.write_text(path.read_text()[:2000])
        code, said = command(own_course, name, str(notebook))
        assert (code, said.startswith(f"Error: {path} is damaged: bring it back")) == (1, True), said


def test_a_folder_that_cannot_be_written(own_course: Course) -> None:
    """What stands in the way is named; a file, since nothing is closed to root."""
    own_course.mine.write_text("in the way")
    for arguments in (["hint", "running_mean"], ["reset", "running_mean"]):
        code, said = command(own_course, *arguments)
        assert (code, said.startswith(f"Error: {own_course.mine}")) == (1, True), said


def test_names_that_are_almost_right(own_course: Course) -> None:
    for arguments in (["hint", "runing_mean"], ["reset", "running-mean"]):
        code, said = command(own_course, *arguments)
        assert (code, said.partition("; ")[2]) == (1, "did you mean running_mean?\n")
    assert (
        command(own_course, "progress", "99")[1]
        == "Error: there is no chapter '99'; `course progress --all` lists them\n"
    )
    assert command(own_course, "reset", "01") == (0, f"kept a copy: my/backups/{CHAPTER}-1.ipynb\n")


def test_a_name_that_is_only_a_little_alike_is_not_suggested() -> None:
    known = ["welcome_newton", "welcome_more_operations", "welcome_repair_standardize"]
    assert names.suggestion("welcome_newtn", known) == "; did you mean welcome_newton?"


def test_the_list_of_commands_begins_with_a_learners_and_names_each_once() -> None:
    said = CliRunner().invoke(main, ["--help"]).output
    listed = re.findall(r"^  (\w+)  +[A-Z]", said, re.MULTILINE)
    assert listed[:3] == ["lab", "next", "hint"] and sorted(listed) == sorted(main.commands)


def test_without_a_name_a_hint_is_the_next_exercises(own_course: Course) -> None:
    practice.solution_path(own_course, "predict_strides").parent.mkdir(exist_ok=True)
    practice.solution_path(own_course, "predict_strides").write_text("prediction = (12, 1, 4)\n")
    following, shown = command(own_course, "hint")[1].split("\n", 1)
    assert following == "Next: contiguous_strides in exercises/01_fixture.ipynb"
    assert shown.startswith("Hint 1 of") and practice.hints_given(own_course) == {"contiguous_strides": 1}


@pytest.mark.turns(8)
def test_check_takes_the_exercise_that_next_names_or_one_that_is_named(own_course: Course) -> None:
    path = own_course.exercises / f"{CHAPTER}.ipynb"

    def check(*arguments: str, **answers: str) -> tuple[int, str]:
        notebook = nbformat.read(own_course.pristine / path.name, as_version=4)
        for cell in notebook.cells:
            cell.source = answers.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
        nbformat.write(notebook, path)
        code, said = command(own_course, "check", *arguments)
        return code, " ".join(said.split())

    right, wrong, loops = "prediction = (12, 1, 4)", "prediction = (12, 4, 1)", "while True: pass"
    code, said = check(predict_strides=wrong, contiguous_strides=loops)  # what isn't asked about doesn't run
    assert said.startswith(f"Checking predict_strides in exercises/{path.name} "), said
    assert (code, "the strides of the array before it was transposed" in said) == (1, True), said
    assert not any(each.name in said for each in practice.exercises(own_course)[1:]), said
    code, said = check("contiguous_strides", "--allow-unsolved", predict_strides=wrong)
    assert (code, "Not answered yet in the saved notebook" in said, "✗" in said) == (0, True, False), said
    code, said = check(predict_strides=right)
    assert (code, "✓ predict_strides Next: contiguous_strides in" in said) == (0, True), said
    code, said = check(predict_strides=right)  # that is kept, so the next one is taken
    assert (code, said.startswith("Checking contiguous_strides in ")) == (1, True), said
    assert "graded, 1 of" in check("01", predict_strides=right)[1]
    assert "rejected, 0 of 8 points (no such file)" in check(f"elsewhere/{path.name}")[1]
    unknown = "Error: no exercise, chapter or folder is called 'runing_mean'; did you mean running_mean?"
    assert check("01", "runing_mean") == (1, unknown)


def test_mine_and_its_help(course: Course) -> None:
    assert command(course, "mine", "nothere.py") == (1, "Error: there is no script nothere.py\n")
    nothing = "Error: '99' is no chapter, no script and no file of tests; `course progress --all` lists the chapters\n"
    assert command(course, "mine", "99", "-q") == (1, nothing)
    both = "Error: '01' is a chapter, which stands alone or beside other chapters\n"
    assert command(course, "mine", "01", "-q") == (1, both)
    code, said = command(course, "mine", "--help")
    assert (code, "course mine SCRIPT.py" in said, "pytest" in said) == (0, True, True)


def test_a_script_gets_its_own_options_and_errors(own_course: Course) -> None:
    script = own_course.root / "script.py"
    script.write_text("import sys; print(sys.argv[1:]); open('nowhere')")
    result = CliRunner().invoke(main, ["--root", str(own_course.root), "mine", str(script), "--help"])
    assert (result.output, type(result.exception)) == ("['--help']\n", FileNotFoundError)


def test_the_whole_course_fits_80_columns() -> None:
    """No name is broken or cut."""
    course = Course(CODE)
    exercises = practice.exercises(course)
    chapters = list(dict.fromkeys(exercise.chapter for exercise in exercises))
    shown = {name: io.StringIO() for name in ("", *chapters)}
    for name, text in shown.items():
        Console(file=text, width=80).print(table_of(course, name) if name else table(course))
    lines = shown[""].getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.rstrip()[:2] for line in lines] == [
        "00",
        str(len(chapters) - 1),
        "al",
    ]  # what is not begun is one line
    for exercise in exercises:
        names = [exercise.name, *(part.partition(":")[2] for part in exercise.kind.parts)]
        assert all(name in shown[exercise.chapter].getvalue() for name in names), exercise.name


def test_progress_in_bars_and_in_detail(own_course: Course) -> None:
    own_course.mine.mkdir(exist_ok=True)
    practice.solution_path(own_course, "contiguous_strides").write_text("x = 1\n")
    code, said = command(own_course, "progress")
    chapter, total, following = said.splitlines()
    every = practice.exercises(own_course)
    points = {exercise.name: exercise.points for exercise in every}
    filled = BAR * points["contiguous_strides"] // sum(points.values())
    assert (chapter.count("█"), chapter.count("░")) == (filled, BAR - filled) != (0, BAR)
    counts = f"{points['contiguous_strides']}/{sum(points.values())}"
    assert (code, counts in chapter, counts in total) == (0, True, True)
    assert following == "Next: predict_strides in exercises/01_fixture.ipynb"
    code, said = command(own_course, "progress", "--all")
    assert code == 0 and all(exercise.name in said for exercise in every)
    assert "✓ contiguous_strides" in said and "      contiguous_strides" in said  # the part, below the exercise


@pytest.mark.turns(8)
def test_a_folder_is_checked(own_course: Course) -> None:
    path = own_course.exercises / f"{CHAPTER}.ipynb"
    (own_course.exercises / "Untitled.ipynb").write_text("{")
    (own_course.exercises / "02_other.ipynb").write_text(path.read_text())

    def check(*options: str, where: tuple[str, ...] = (str(own_course.exercises),), **answers: str) -> tuple[int, str]:
        notebook = nbformat.read(own_course.pristine / path.name, as_version=4)
        for cell in notebook.cells:
            cell.source = answers.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
        nbformat.write(notebook, path)
        return command(own_course, "check", *where, *options)

    code, said = check("--allow-unsolved")
    assert (code, "Untitled.ipynb: not checked" in said, "0 of 8" in said) == (0, True, True), said
    assert check()[0] == 1
    assert check("--allow-unsolved", predict_strides="prediction = (12, 1, 4)")[0] == 0
    path.write_text("<<<<<<<")
    assert command(own_course, "check", "--allow-unsolved", str(own_course.exercises))[0] == 1
    empty = own_course.root / "empty"
    empty.mkdir()
    assert command(own_course, "check", str(empty)) == (1, f"Error: no chapter's notebook in {empty}\n")
