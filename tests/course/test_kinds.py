"""A kind of exercise is a class: what is particular to it stands there, and nowhere else."""

import re
from pathlib import Path

import pytest

from course.files import CODE
from course.notebooks import notebook
from course.source import kinds
from course.source.exercises import ExerciseSource, SourceError, read_exercises
from course.source.kinds import KINDS, Core, kind_of
from tests.course.test_source import GOOD, HINT, source_of


class Hasty(kinds.Build):
    """A kind that nothing else in the repository knows."""

    name = "hasty"
    hints = 1

    def where(self) -> str:
        return " · in less than a second"

    def validate(self, exercise: ExerciseSource) -> None:
        exercise.task.expect("second" in exercise.task.text, "a hasty exercise names its limit")


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "hasty", Hasty)


def hasty(text: str) -> str:
    return GOOD.replace('kind="build" points=2 replaces="shapes:area"', 'kind="hasty" points=2').replace(
        "# ### The area", f"# ### {text}"
    )


def test_a_new_kind_is_a_class_in_the_table(tmp_path: Path) -> None:
    source = read_exercises(source_of(tmp_path, hasty("In a second").replace(HINT, "")))
    (about,) = notebook.tasks(notebook.reference(source)).values()
    (task,) = [cell for cell in notebook.reference(source).cells if notebook.role(cell) == "task"]
    assert (about["kind"], len(about["hints"])) == ("hasty", 2)
    assert "2 points · in less than a second · a hint" in task.source
    assert isinstance(kind_of(about), Hasty)


def test_the_rules_of_a_kind_are_its_own(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="a hasty exercise names its limit"):
        read_exercises(source_of(tmp_path, hasty("The area")))


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


@pytest.mark.parametrize(
    ("shares", "says"),
    [
        ([], " · `X.f` and `X.g` in `m.a` and `h` in `m.b`"),
        ([(["m.a:X.f", "m.a:X.g"], 2), (["m.b:h"], 1)], ": 2 for `X.f` and `X.g` in `m.a`, 1 for `h` in `m.b`"),
        (
            [(["m.a:X.f"], 2), (["m.a:X.g", "m.b:h"], 1)],
            ": 2 for `X.f` in `m.a`, 1 for `X.g` in `m.a` and `h` in `m.b`",
        ),
    ],
)
def test_a_task_says_which_parts_earn_what_and_where_they_belong(
    shares: list[tuple[list[str], int]], says: str
) -> None:
    assert Core(parts=["m.a:X.f", "m.a:X.g", "m.b:h"], shares=[kinds.Share(*each) for each in shares]).where() == says


def test_a_file_that_holds_all_parts_is_named_once() -> None:
    shares = [kinds.Share(["m.a:f", "m.a:g", "m.a:h"], 2), kinds.Share(["m.a:i"], 1)]
    says = ": 2 for `f`, `g` and `h`, 1 for `i` · in `m.a`"
    assert Core(parts=[part for each in shares for part in each.parts], shares=shares).where() == says
