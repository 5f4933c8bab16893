"""A learner's file is read under limits, in a process of its own; whatever it holds is that submission's reason."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course.files import CODE
from course.grading import intake, served
from course.grading.grade import grade
from course.grading.intake import Reader
from course.sandbox import launch

CHAPTER = "02_tensors_and_storage"
SOURCES = {CHAPTER: CODE / "exercises" / ".pristine" / f"{CHAPTER}.ipynb"}


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with Reader(SOURCES) as made:
        yield made


def notebook() -> Any:
    return nbformat.read(SOURCES[CHAPTER], as_version=4)


def solution(made: Any, name: str) -> Any:
    return next(each for each in made.cells if each.metadata.get("nbgrader", {}).get("grade_id") == name)


def with_cell(source: str) -> str:
    made = notebook()
    made.cells.append(nbformat.v4.new_code_cell(source))
    return nbformat.writes(made)


def with_answer(name: str, source: str) -> str:
    made = notebook()
    solution(made, name).source = source
    return nbformat.writes(made)


def with_metadata(**about: Any) -> str:
    made = notebook()
    cell = solution(made, "storage_strides")
    cell.source = "def walk(x):\n    return x\n"
    for key, value in about.items():
        cell.metadata[key] = value
    made.cells += [nbformat.v4.new_code_cell("x = 1", metadata=about)]
    return nbformat.writes(made)


def told(reader: Reader, path: Path, text: str | bytes) -> tuple[str, list[str]]:
    """The reason of a file with this content, and what it answers."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    ((result, made),) = reader.read(path)
    assert result.status == "rejected"  # until it is graded; never a fault of the machine
    return result.reason, made.answered if made else []


READABLE: dict[str, Callable[[], str]] = {
    "a_long_cell_that_answers_nothing": lambda: with_cell("a;" * 9_900_000),
    "many_cells_that_are_slow_to_parse": lambda: with_cell("a;" * 40_000).replace(
        '"cells": [', '"cells": [' + ",".join([json.dumps(nbformat.v4.new_code_cell("a;" * 40_000))] * 200) + ","
    ),
    "deep_parentheses": lambda: with_cell("(" * 50_000 + ")" * 50_000),
    "a_bytes_null": lambda: with_cell("x = '\0'"),
    "metadata_that_are_a_string": lambda: with_metadata(minitorch="x"),
    "metadata_that_are_a_list": lambda: with_metadata(minitorch=[1]),
    "metadata_of_an_old_name": lambda: with_metadata(
        minitorch="x", nbgrader={"grade_id": "storage_walk", "solution": True}
    ),
    "a_role_that_is_no_string": lambda: with_metadata(minitorch={"role": ["solution"], "exercise": {}}),
    "a_name_of_no_string": lambda: with_metadata(nbgrader={"grade_id": ["storage_walk"], "solution": 1}),
}

REJECTED: dict[str, tuple[Callable[[], str | bytes], str]] = {
    "nothing": (lambda: "", "the file is empty"),
    "spaces": (lambda: " \n", "the file is empty"),
    "deep_json": (lambda: "[" * 200_000, "not a valid notebook: "),
    "deep_metadata": (
        lambda: nbformat.writes(notebook()).replace('"metadata": {', f'"metadata": {{"x": {"[" * 900 + "]" * 900},', 1),
        "not a valid notebook: ",
    ),
    "no_text": (lambda: b"\xff\xfe\xff" * 1000, "not a valid notebook: "),
    "a_long_chapter": (
        lambda: nbformat.writes(notebook()).replace(f'"chapter": "{CHAPTER}"', '"chapter": "' + "x" * 5_000_000 + '"'),
        f"chapter {'x' * 60!r} has no reference here",
    ),
    "a_chapter_of_controls": (
        lambda: nbformat.writes(notebook()).replace(f'"chapter": "{CHAPTER}"', '"chapter": "\\u202e\\u0007"'),
        "chapter '\\u202e\\x07' has no reference here",
    ),
}  # fmt: skip


@pytest.mark.turns(8)
@pytest.mark.parametrize("name", READABLE)
def test_what_is_strange_beside_an_answer_costs_nothing(reader: Reader, tmp_path: Path, name: str) -> None:
    reason, _ = told(reader, tmp_path / "eve.ipynb", READABLE[name]())
    assert reason == ""


@pytest.mark.parametrize("name", REJECTED)
def test_what_cannot_be_read_has_a_short_reason(reader: Reader, tmp_path: Path, name: str) -> None:
    text, begin = REJECTED[name]
    reason, answered = told(reader, tmp_path / "eve.ipynb", text())
    assert reason.startswith(begin) and len(reason) < 300 and not answered
    assert told(reader, tmp_path / "next.ipynb", with_answer("storage_views_meet", "x = 1"))[0] == ""


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("a;" * 60_000, "error", "the solution cell: it has 120,000 characters, of at most 100,000"),
        ("def \\\n walk(x):\n    return x", "error", "the cell does not define contiguous_strides, from_numpy"),
    ],
)
def test_a_strange_answer_costs_its_exercise_alone(
    reader: Reader, tmp_path: Path, text: str, status: str, message: str
) -> None:
    made = notebook()
    solution(made, "storage_strides").source = text
    others = [
        cell.metadata.nbgrader.grade_id
        for cell in made.cells
        if cell.metadata.get("nbgrader", {}).get("solution") and cell.metadata.nbgrader.grade_id != "storage_strides"
    ]
    for name in others:
        solution(made, name).source = "x = 1"
    (tmp_path / "eve.ipynb").write_text(nbformat.writes(made))
    ((_, read),) = reader.read(tmp_path / "eve.ipynb")
    assert read is not None and sorted(read.answered) == sorted([*others, "storage_strides"])
    assert read.idle.get("storage_strides", ("", "")) == (status, message)


@pytest.mark.turns(8)
@pytest.mark.skipif(not launch.can_fork(), reason="without fork the grader reads in its own process")
@pytest.mark.parametrize(
    "evil",
    [
        "import os; os._exit(0)",
        "while True: pass",
        "block = [bytearray(1 << 28) for _ in range(100)]",
        "import os, signal; os.kill(os.getppid(), signal.SIGKILL); signal.pause()",  # it would answer before it ends
        "raise SystemExit",
        "return {'submissions': [{'chapter': 'x', 'solutions': {}, 'answered': []}]}",
        "return {'submissions': [{**OURS, 'solutions': {'x': ''}}]}",
        "return {'submissions': [{**OURS, 'solutions': {'storage_views_meet': 1}}]}",
        "return {'submissions': [{**OURS, 'answered': ['storage_views_meet']}]}",
        "return {'submissions': [{**OURS, 'notes': [1]}]}",
        "return {'submissions': [{**OURS, 'names': [['', 'x', []]]}]}",
        "return {'submissions': [{**OURS, 'names': [['', '', [1]]]}]}",
        "return {'submissions': [{**OURS, 'idle': {'x': ['error', '']}}]}",
        "return {'submissions': [{**OURS, 'idle': {'storage_views_meet': ['passed', '']}}]}",
        "return {'submissions': [{**OURS, 'other': 1}]}",
        "return {'rejected': ['x']}",
        "return {}",
        "return 1",
    ],
)
def test_a_reader_that_is_taken_over_says_nothing_that_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, evil: str
) -> None:
    text = (CODE / "course" / "grading" / "reading.py").read_text()
    begin = '    """Read a file, in a fork of the reader\'s process."""\n'
    assert text.count(begin) == 1
    ours = f"OURS = {{'chapter': {CHAPTER!r}, 'solutions': {{}}, 'answered': []}}"
    broken = text.replace(begin, f"{begin}    if b'EVIL' in content:\n        {ours}\n        {evil}\n")
    broken = broken.replace('"CPU": 20', '"CPU": 1')
    copy = served.shutil.copy

    def copied(path: Any, target: Any) -> None:
        copy(path, target)
        if target.name == "reading.py":
            target.write_text(broken)

    monkeypatch.setattr(served.shutil, "copy", copied)
    with Reader(SOURCES) as reader:
        reason, _ = told(reader, tmp_path / "eve.ipynb", with_cell("EVIL"))
        assert reason in ("cannot be read in 20 seconds and 2 GiB of memory", "['x']")
        assert told(reader, tmp_path / "ann.ipynb", with_answer("storage_views_meet", "x = 1")) == (
            "",
            ["storage_views_meet"],
        )


def test_a_text_for_the_report_is_cut_and_printable() -> None:
    outline = intake.outline_of(SOURCES[CHAPTER])
    about = {
        "chapter": CHAPTER,
        "solutions": {"storage_views_meet": "x"},
        "answered": ["storage_views_meet"],
        "notes": ["\u202e" * 10_000],
        "names": [["c" * 10_000, "storage_views_meet", ["x"]]],
        "idle": {"storage_views_meet": ["error", "m" * 10_000]},
    }
    made = intake._checked({CHAPTER: outline}, **about)
    assert [len(made.notes[0]), len(made.names[0][0]), len(made.idle["storage_views_meet"][1])] == [200, 200, 2000]
    assert made.notes[0].startswith("\\u202e\\u202e")


def test_a_reader_that_cannot_start_is_a_fault_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ann.ipynb").write_text(nbformat.writes(notebook()))
    monkeypatch.setattr(launch, "plain_environment", lambda folder: {"PYTHONHOME": "/nowhere"})
    with Reader(SOURCES) as reader:
        ((result, made),) = reader.read(tmp_path / "ann.ipynb")
    assert (result.status, made) == ("not graded", None)
    assert result.reason.startswith("the sandbox that reads what learners wrote could not be started: ")


@pytest.mark.turns(8)
def test_no_file_ends_the_grade_of_a_class(course: Any, submission: Callable[..., Any], tmp_path: Path) -> None:
    for name, text in {"empty": "", "deep": "[" * 200_000, "long": with_cell("a;" * 5_000_000)}.items():
        (tmp_path / f"{name}.ipynb").write_text(text)
    nbformat.write(submission(solved=True), tmp_path / "zoe.ipynb")
    report = grade([tmp_path], course, explain=False)
    assert {Path(each.path).stem: each.status for each in report.submissions} == {
        "empty": "rejected", "deep": "rejected", "long": "rejected", "zoe": "graded",
    }  # fmt: skip
