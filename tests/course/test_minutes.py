"""Each lesson says how long it takes, by one formula, and leads someone who has half an hour through it."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course.files import CODE, Course
from course.learner import practice
from course.source import minutes

LESSONS = sorted(Course(CODE).notebooks.glob("[0-9]*.ipynb"))
ANSWER = f"**Interview · Why?**\n\n<details><summary>Answer</summary>\n\n{'word ' * 60}\n\n</details>"


def test_minutes_of_text_code_and_questions() -> None:
    text, code = new_markdown_cell("word " * 85), new_code_cell("x = 1\n\n" * 14)
    folded = new_code_cell("x = 1\n" * 70, metadata={"jupyter": {"source_hidden": True}})
    assert minutes.of_lesson([text]) == 1
    assert minutes.of_lesson([text, code, folded]) == 3
    one = minutes.of_lesson([new_markdown_cell(ANSWER)])
    assert one == pytest.approx(0.5 + 62 / 120 + 2 / 85)  # thought, the answer, the words of the question
    assert minutes.of_exercise(4) == 2 + 4 * 3.5


def test_the_short_path_takes_the_marked_sections_and_all_questions() -> None:
    short = {"tags": ["short"]}
    cells = [
        new_markdown_cell("# Title\n\nWords.\n\n## Read me\n\nText.", metadata=short),
        new_code_cell("read = 1"),
        new_markdown_cell(f"## Another\n\n{'word ' * 400}\n\n{ANSWER}"),
        new_code_cell("not_read = 1"),
        new_markdown_cell("### `And` this", metadata=dict(short)),
    ]
    minutes.mark_short_path(cells)
    expected = 1 / 7 + 2 / 85 + 0.5 + 62 / 120  # a line of code, two words, a question and its answer
    assert minutes.of_short_path(cells) == pytest.approx(expected)
    minutes.announce(notebook := new_notebook(cells=cells), "99_x", [])
    assert [cell.metadata.get("tags") for cell in notebook.cells] == [["short"], ["short"], None, None, ["short"]]
    title, intro, said, heading, _ = notebook.cells[0].source.split("\n\n")
    assert (title, intro, heading) == ("# Title", "Words.", "## Read me")
    assert "[Read me](99_x.ipynb#Read-me), [`And` this](99_x.ipynb#And-this), and each question" in said


def test_what_is_optional_is_told_apart() -> None:
    text, code = f"# Title\n\n{'word ' * 850}\n\n## If you have time\n\n{'word ' * 425}", new_code_cell("x = 1\n" * 35)
    minutes.announce(notebook := new_notebook(cells=[new_markdown_cell(text), code]), "99_x", [4, 5])
    said = "The lesson takes about 10 minutes, its optional end another 10, the exercises another 10."
    assert said in notebook.cells[0].source


def sources(notebook: nbformat.NotebookNode) -> list[str]:
    return [cell.source for cell in notebook.cells]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_says_its_minutes_and_has_a_short_path(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    said = re.search(
        r"^The lesson takes about (\d+) minutes.* Read for (\d+) minutes: ", notebook.cells[0].source, re.M
    )
    assert said, "no cell has the tag `short`"
    announced = re.search(r"the exercises another (\d+)", notebook.cells[0].source)
    unsolved = nbformat.read(Course(CODE).exercises / path.name, as_version=4)
    stated = re.search(r"which take about (\d+) minutes", unsolved.cells[0].source)
    tasks = [int(each) for each in re.findall(r"^\*(\d+) minutes · ", "\n".join(sources(unsolved)), re.M)]
    assert announced and stated and int(announced[1]) == int(stated[1]) == minutes.in_fives(sum(tasks))
    assert 30 <= int(said[1]) <= 60
    assert 15 <= int(said[2]) <= 30


def test_the_plan_for_a_week_has_the_minutes_of_its_lessons_and_exercises() -> None:
    course = Course(CODE)
    short = {
        path.stem.partition("_")[0]: int(re.search(r"Read for (\d+) minutes", _first(path))[1])  # type: ignore[index]
        for path in course.notebooks.glob("*.ipynb")
    }
    written = {exercise.name: exercise.minutes for exercise in practice.exercises(course)}
    plan = (CODE / "docs" / "interview.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d \| ([\w, ]+) \| (\d+) \| (.+) \| (\d+) \|$", plan, re.MULTILINE)
    assert len(rows) == 6
    for chapters, reading, exercises, writing in rows:
        assert sum(short[chapter] for chapter in chapters.split(", ")) == int(reading), chapters
        assert sum(written[name] for name in re.findall(r"`(\w+)`", exercises)) == int(writing), exercises


def _first(path: Path) -> str:
    return str(nbformat.read(path, as_version=4).cells[0].source)
