"""The built notebooks: the same bytes each time, nothing of the solutions in the learner's, nbgrader's metadata."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.authoring.build import build, differences
from course.checks.bundle import MIME
from course.files import Course, write_atomically
from course.notebooks.notebook import reference, scroll_long_outputs
from course.source.exercises import SourceError, read_exercises

CHAPTER = "01_fixture"
NOTEBOOKS = [
    Path(folder) / f"{CHAPTER}.ipynb" for folder in ("notebooks", "exercises", "exercises/.pristine", "solutions")
]


def cells_of(notebook: Any, role: str) -> list[Any]:
    return [cell for cell in notebook.cells if cell.metadata.get("minitorch", {}).get("role") == role]


@pytest.mark.turns(8)
def test_two_builds_give_the_same_bytes(course: Course, tmp_path: Path) -> None:
    assert set(build(course, to=Course(tmp_path))) == {tmp_path / path for path in NOTEBOOKS}
    for path in NOTEBOOKS:
        assert (tmp_path / path).read_bytes() == (course.root / path).read_bytes(), path


def test_the_learners_notebook(course: Course) -> None:
    path = course.exercises / f"{CHAPTER}.ipynb"
    text = path.read_text()
    for secret in ("BEGIN SOLUTION", "BEGIN STUB", "(12, 1, 4)", "step *= length", "Walks from the left", "astype"):
        assert secret not in text, secret
    assert text == (course.pristine / path.name).read_text()
    notebook = nbformat.reads(text, as_version=4)
    first, *_, repair, _ = (cell.source for cell in cells_of(notebook, "solution"))
    assert first == "# YOUR CODE HERE\nraise NotImplementedError()"
    assert repair == "def running_mean(values):\n    return np.cumsum(values) / len(values)"
    for cell in notebook.cells:
        if cell.cell_type == "code":
            is_check = cell.metadata.get("minitorch", {}).get("role") == "check"
            assert [MIME in output.data for output in cell.outputs] == [True] * is_check
            assert cell.execution_count is None  # nothing was run on the learner's answer


def test_a_predictions_expected_value_is_not_in_the_learners_notebook(course: Course) -> None:
    notebook = nbformat.read(course.exercises / f"{CHAPTER}.ipynb", as_version=4)
    output = cells_of(notebook, "check")[0].outputs[0].data
    assert output["text/plain"] == "What a right answer shows:\nprediction: (not shown)"
    assert list(output[MIME]["values"]["prediction"]) == ["digest", "kind"]


@pytest.mark.parametrize("folder", ["exercises", "solutions"])
def test_nbgraders_metadata(course: Course, folder: str) -> None:
    notebook = nbformat.read(course.root / folder / f"{CHAPTER}.ipynb", as_version=4)
    nbformat.validate(notebook)
    about = [cell.metadata.nbgrader for cell in notebook.cells if "nbgrader" in cell.metadata]
    assert len({item["grade_id"] for item in about}) == len(about) == 13
    for item in about:
        keys = {"cell_type", "grade", "grade_id", "locked", "schema_version", "solution", "task"}
        assert set(item) == keys | ({"points"} if item["grade"] else set())
        assert item["schema_version"] == 3
        assert not (item["solution"] and item["locked"])
    assert [item["points"] for item in about if item["grade"]] == [1, 3, 2, 2]
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)


def test_nothing_volatile_is_stored(course: Course) -> None:
    for path in NOTEBOOKS:
        notebook = nbformat.read(course.root / path, as_version=4)
        assert notebook.metadata.language_info == {"name": "python"}
        assert notebook.metadata.kernelspec.name == "python3"
        assert not any("execution" in cell.metadata for cell in notebook.cells)
        assert str(course.root) not in json.dumps(notebook)
    lesson = nbformat.read(course.root / NOTEBOOKS[0], as_version=4)
    (error,) = (o for cell in lesson.cells for o in cell.get("outputs", []) if o.output_type == "error")
    assert error.traceback == ["ValueError: cannot reshape array of size 6 into shape (4,)"]


@pytest.mark.turns(8)
def test_check_lists_what_differs_but_for_images(own_course: Course) -> None:
    paths = [own_course.root / path for path in NOTEBOOKS]
    lesson = nbformat.read(paths[0], as_version=4)
    image = next(o.data for cell in lesson.cells for o in cell.get("outputs", []) if "image/png" in o.get("data", {}))
    image["image/png"] = base64.b64encode(b"another picture").decode()
    nbformat.write(lesson, paths[0])
    assert differences(own_course) == []
    exercises = nbformat.read(paths[1], as_version=4)
    cells_of(exercises, "check")[1].source += "  # changed"
    nbformat.write(exercises, paths[1])
    paths[2].unlink()
    solutions = nbformat.read(paths[3], as_version=4)
    solutions.cells.pop()
    nbformat.write(solutions, paths[3])
    write_atomically(own_course.notebooks / "99_gone.ipynb", "{}")
    expected = [
        f"{NOTEBOOKS[2]}: missing",
        f"{NOTEBOOKS[1]}: differs from its source",
        "notebooks/99_gone.ipynb: has no source",
        f"{NOTEBOOKS[3]}: differs in its metadata or number of cells",
    ]
    result = CliRunner().invoke(main, ["--root", str(own_course.root), "build", "--check"])
    assert (result.exit_code, result.output.splitlines()) == (1, expected)


def test_a_check_of_stored_lessons_compares_all_but_their_outputs(own_course: Course) -> None:
    """Those are nbval's, which compares nothing of a cell without a number."""
    path = own_course.notebooks / f"{CHAPTER}.ipynb"
    command = ["--root", str(own_course.root), "build", "--stored"]
    assert CliRunner().invoke(main, command).exit_code == 2

    def check() -> tuple[int, str]:
        result = CliRunner().invoke(main, [*command, "--check"])
        return result.exit_code, result.output.strip()

    lesson = nbformat.read(path, as_version=4)
    code = [cell for cell in lesson.cells if cell.cell_type == "code"]
    code[0].outputs = [nbformat.v4.new_output("stream", text="of another run")]
    nbformat.write(lesson, path)
    assert check() == (0, "Every notebook is what its source makes.")
    code[0].execution_count = None
    nbformat.write(lesson, path)
    assert check()[0] == 1 and f"never run in {path.name}" in check()[1]
    code[0].execution_count = 1
    code[0].source += "  # changed"
    nbformat.write(lesson, path)
    assert check() == (1, f"notebooks/{path.name}: cell {lesson.cells.index(code[0])} differs in its source")
    path.unlink()
    assert check() == (1, f"notebooks/{path.name}: missing")


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    ("scale", "found"), [(1 + 1e-12, []), (1.01, [f"{NOTEBOOKS[3]}: cell {{}} differs in its outputs"])]
)
def test_a_check_forgives_what_the_grade_forgives(own_course: Course, scale: float, found: list[str]) -> None:
    path = own_course.root / NOTEBOOKS[3]
    solutions = nbformat.read(path, as_version=4)
    place, cell = next(
        (place, cell)
        for place, cell in enumerate(solutions.cells)
        if cell.metadata.get("minitorch", {}).get("exercise") == "running_mean"
        and cell.cell_type == "code"
        and cell.outputs
    )
    mean = cell.outputs[0].data[MIME]["values"]["running mean"]
    mean["data"][1] *= scale
    nbformat.write(solutions, path)
    assert differences(own_course) == [message.format(place) for message in found]


ELSEWHERE = "which differs on another machine"
LESSON_RAISES = (' tags=["raises-exception"]', "", "cannot reshape array of size 6")
LESSON_PRINTS = ("print(table.strides", "print(object(), table.strides", ELSEWHERE)


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    ("old", "new", "message", "lesson"),
    [
        ("prediction = (12, 3, 1)", "prediction = (12, 1, 4)", "mutant 'Strides of a copy' passes the check", None),
        ("prediction = (12, 3, 1)", "prediction = typo", "mutant 'Strides of a copy' does not run: NameError", None),
        ("prediction = (12, 1, 4)", "prediction = 1 / 0", "ZeroDivisionError", LESSON_RAISES),
        ('check.show({"pre', 'assert prediction[1] < 3\ncheck.show({"pre', "no mutant gets as far as its values", None),
        ('print("itemsize:"', "print(object()", ELSEWHERE, LESSON_PRINTS),
        ('print("itemsize:"', 'np.array([0.0]) / 0\nprint("itemsize:"', "writes to stderr: ", None),
    ],
)
def test_a_cell_that_cannot_be_built_is_reported_with_its_line(
    own_course: Course, old: str, new: str, message: str, lesson: tuple[str, str, str] | None
) -> None:
    edits = [("exercises.py", old, new, message)] + ([("lesson.py", *lesson)] if lesson else [])
    for file, before, after, _ in edits:
        path = own_course.chapters / CHAPTER / file
        assert before in path.read_text()
        path.write_text(path.read_text().replace(before, after))
    built = {path: (own_course.root / path).read_bytes() for path in NOTEBOOKS}
    result = CliRunner().invoke(main, ["--root", str(own_course.root), "build", "01"])
    assert result.exit_code == 1
    for file, _, _, expected in edits:
        assert re.search(rf"{CHAPTER}.{file}:\d+: ", result.output)
        assert expected in result.output
    assert {path: (own_course.root / path).read_bytes() for path in NOTEBOOKS} == built


def test_an_unknown_chapter_and_a_name_used_in_two_chapters(own_course: Course) -> None:
    with pytest.raises(SourceError, match="no chapter '77'"):
        build(own_course, ["77"])
    second = own_course.chapters / "02_second" / "exercises.py"
    write_atomically(second, (own_course.chapters / CHAPTER / "exercises.py").read_text())
    with pytest.raises(SourceError, match=r"02_second.*duplicate exercise 'predict_strides', also at .*01_fixture"):
        build(own_course, ["01"])


def test_two_checks_with_the_same_text_are_refused(own_course: Course) -> None:
    """Or one exercise's right answer would be judged as the other's."""
    text = (own_course.chapters / CHAPTER / "exercises.py").read_text()
    names = set(re.findall(r'="(\w+)"', text))
    second = own_course.chapters / "02_second" / "exercises.py"
    write_atomically(second, re.sub(rf'="({"|".join(names)})"', r'="\1_again"', text))
    with pytest.raises(SourceError, match=r"02_second.*the check's text is that of .*01_fixture"):
        build(own_course, ["01"])


@pytest.mark.parametrize(("lines", "scrolls"), [(20, False), (21, True)])
def test_long_values_of_a_check_get_a_box_that_scrolls(lines: int, scrolls: bool) -> None:
    shown = nbformat.v4.new_output("display_data", {"text/plain": "\n".join(["1"] * lines)})
    cells = [
        nbformat.v4.new_code_cell("check.show(1)", outputs=[shown], metadata={"minitorch": {"role": role}})
        for role in ("check", "setup")
    ]
    scroll_long_outputs(nbformat.v4.new_notebook(cells=cells))
    assert [cell.metadata.get("scrolled", False) for cell in cells] == [scrolls, False]


@pytest.mark.parametrize(("lines", "folded"), [(20, False), (21, True)])
def test_a_long_check_is_folded_to_a_line_that_says_what_it_is(own_course: Course, lines: int, folded: bool) -> None:
    path = own_course.chapters / CHAPTER / "exercises.py"
    source = read_exercises(path)
    name = source.exercises[0].name
    text = path.read_text()
    first, rest = text.split(f'check="{name}"\n', 1)
    check, rest = rest.split("# %%", 1)
    check = "\n".join([*["1"] * (lines - 1), check.strip()])
    path.write_text(f'{first}check="{name}"\n{check}\n\n# %%{rest}')
    cell = cells_of(reference(read_exercises(path)), "check")[0]
    assert cell.metadata.get("jupyter") == ({"source_hidden": True} if folded else None)
    assert cell.source == ("# Run this cell to check your answer.\n" if folded else "") + check
