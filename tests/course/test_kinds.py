"""A kind of exercise is a class: what is particular to it stands there, and nowhere else."""

import re
from pathlib import Path

import pytest

from course import kinds
from course.authoring import notebook
from course.authoring.source import Exercise, SourceError, read_exercises
from course.files import CODE
from course.kinds import KINDS, Core, kind_of
from tests.course.test_source import GOOD, HINT, source_of


class Timed(kinds.Build):
    """A kind that nothing else in the repository knows."""

    name = "timed"
    hints = 1

    def where(self) -> str:
        return " · in less than a second"

    def validate(self, exercise: Exercise) -> None:
        exercise.task.expect("second" in exercise.task.text, "a timed exercise names its limit")


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "timed", Timed)


def timed(text: str) -> str:
    return GOOD.replace('kind="build" points=2 replaces="shapes:area"', 'kind="timed" points=2').replace(
        "# ### The area", f"# ### {text}"
    )


def test_a_new_kind_is_a_class_in_the_table(tmp_path: Path) -> None:
    source = read_exercises(source_of(tmp_path, timed("In a second").replace(HINT, "")))
    (about,) = notebook.tasks(notebook.reference(source)).values()
    (task,) = [cell for cell in notebook.reference(source).cells if notebook.role(cell) == "task"]
    assert (about["kind"], len(about["hints"])) == ("timed", 2)
    assert "2 points · in less than a second · a hint" in task.source
    assert isinstance(kind_of(about), Timed)


def test_the_rules_of_a_kind_are_its_own(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="a timed exercise names its limit"):
        read_exercises(source_of(tmp_path, timed("The area")))


def test_nobody_asks_which_kind_an_exercise_is() -> None:
    asks = re.compile(rf"\bkind(\.name)? *[!=]= *[\"']({'|'.join(KINDS)})[\"']|isinstance\([^)]*\bCore\b")
    found = [
        f"{path.relative_to(CODE)}: {line.strip()}"
        for path in sorted((CODE / "course").rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if asks.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("parts", "text", "is_it"),
    [(["mytorch.m:f"], "def f(): ...", True), (["mytorch.m:f", "mytorch.m:g"], "def f(): ...", False)],
)
def test_an_answer_to_a_core_exercise_defines_its_parts(parts: list[str], text: str, is_it: bool) -> None:
    assert Core(parts=parts).is_answered_by(text) is is_it
