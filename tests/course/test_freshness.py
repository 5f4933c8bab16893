"""No exercise's points can be had with the values of the learner's notebook and the numbers that a check draws."""

from pathlib import Path

import pytest

from course.authoring.freshness import known_in_advance
from course.files import CODE, Course
from tests.turn import in_turn, this_turn

SOURCES = in_turn(sorted(CODE.glob("chapters/*/exercises.py")), 32, this_turn())
CHECKS = {
    "constant": 'check.show({"sum": f([1, 2]), "drawn": 1})',
    "drawn": 'n = int(check.rng().integers(2, 900))\ncheck.show({"n": n, "sum": f([n, n]), "twice": f([n]) * 2})',
    "drawn, in a text": 'n = int(check.rng().integers(2, 900))\ncheck.show({f"sum to {n}": f"{n} of {f([n])}"})',
    "one of two": 'n = check.rng().choice([2, 3], 3).tolist()\ncheck.show({"sum": f([n[0] * n[0] + 1])})',
    "of fresh numbers": 'n = check.rng().integers(2, 900, 3).tolist()\ncheck.show({"n": n, "sum": f(n)})',
    "a digest": 'check.show({"sum": f([1, 2])}, secret=True)',
}
KNOWN = {"constant": 1, "drawn": 1, "drawn, in a text": 1, "one of two": 2}
"""How many sets of values five seeds show, of the checks that show too few."""


def source(checks: dict[str, str]) -> str:
    cells = ["# %% [markdown]\n# # Exercises", "# %% setup=true\nfrom course import check"]
    for number, text in enumerate(checks.values()):
        name = f"sum_{number}"
        cells += [
            f'# %% [markdown] exercise="{name}" kind="build" points=1\n# ### Exercise {number + 1} · Sum\n# Write f.',
            f'# %% solution="{name}"\ndef f(x):\n    ### BEGIN SOLUTION\n    return sum(x)\n    ### END SOLUTION',
            f'# %% check="{name}"\n{text}',
            *[f'# %% [markdown] hint="{name}"\n# Hint {hint}.' for hint in range(3)],
            *[
                f'# %% mutant="{name}"\n# Wrong {wrong}\n# It is {wrong}.\ndef f(x):\n    return {wrong}'
                for wrong in (-1, -2)
            ],
        ]
    return "\n\n".join(cells) + "\n"


@pytest.mark.turns(8)
def test_values_that_are_known_in_advance_are_found(tmp_path: Path) -> None:
    (tmp_path / "chapters" / "01_sums").mkdir(parents=True)
    path = tmp_path / "chapters" / "01_sums" / "exercises.py"
    path.write_text(source(CHECKS))
    names = {f"sum_{number}": name for number, name in enumerate(CHECKS)}
    found = {names[exercise]: told for exercise, told in known_in_advance(Course(tmp_path), path).items()}
    assert found == {name: f"drawn numbers aside, 5 seeds show {many} sets of values" for name, many in KNOWN.items()}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.parent.name)
def test_no_exercise_shows_values_that_are_known_in_advance(path: Path) -> None:
    assert known_in_advance(Course(CODE), path) == {}
