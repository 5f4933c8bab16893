"""Every exercise of the course: unsolved it scores 0, the reference scores its points, and every mutant scores 0."""

import copy
import functools
import re
import tempfile
from itertools import zip_longest
from pathlib import Path

import nbformat
import pytest

from course.files import CODE, Course
from course.grade import Item, Result, grade
from course.notebook import OURS, exercise_of, role, tasks

HEADER = re.compile(r'^# %% \[markdown\] .*exercise="(\w+)"', re.MULTILINE)
FIXTURES = Path(__file__).parent / "fixtures"
# A mutant that dies so says nothing about the check.
NOT_RUN = ("NameError", "SyntaxError", "IndentationError", "NotImplementedError", "ModuleNotFoundError")


def exercises(root: Path) -> list[tuple[Path, str, str]]:
    """(root, chapter, exercise) of every exercise whose source is below `root`."""
    paths = sorted(root.glob("chapters/*/exercises.py"))
    return [
        (root, path.parent.name, name) for path in paths for name in HEADER.findall(path.read_text(encoding="utf-8"))
    ]


@functools.cache
def graded(root: Path, chapter: str) -> dict[str, Result]:
    """The chapter's grades: "unsolved", "reference", and "mutants k", where every exercise holds its k-th mutant."""
    course = Course(root)
    reference, unsolved = (
        nbformat.read(folder / f"{chapter}.ipynb", as_version=4) for folder in (course.solutions, course.pristine)
    )
    submissions = {"unsolved": unsolved, "reference": reference}
    mutants = {name: about["mutants"] for name, about in tasks(reference).items()}
    for number, chosen in enumerate(zip_longest(*mutants.values())):
        sources = dict(zip(mutants, chosen, strict=True))
        mutated = submissions[f"mutants {number}"] = copy.deepcopy(reference)
        for cell in mutated.cells:
            if role(cell) == "solution":
                mutant = sources[exercise_of(cell)]
                cell.source = cell.metadata[OURS]["stub"] if mutant is None else mutant["source"]
    with tempfile.TemporaryDirectory() as folder:
        for name, notebook in submissions.items():
            assert notebook.metadata[OURS]["chapter"] == chapter
            nbformat.write(notebook, Path(folder, f"{name}.ipynb"))
        report = grade([Path(folder)], course, jobs=2, explain=False)
    return {Path(result.path).stem: result for result in report.submissions}


def item(result: Result, name: str) -> Item:
    assert result.status == "graded", result.reason
    return next(item for item in result.items if item.grade_id == name)


@pytest.mark.parametrize(
    ("root", "chapter", "name"),
    [pytest.param(*exercise, id=f"{exercise[1]}-{exercise[2]}") for exercise in exercises(CODE) + exercises(FIXTURES)],
)
def test_unsolved_0_reference_full_every_mutant_0(root: Path, chapter: str, name: str, course: Course) -> None:
    grades = graded(course.root if root == FIXTURES else root, chapter)
    unsolved, reference = item(grades["unsolved"], name), item(grades["reference"], name)
    assert (unsolved.points, unsolved.status) == (0, "skipped"), unsolved.message
    assert (reference.points, reference.status) == (reference.max_points, "passed"), reference.message
    solution = nbformat.read(
        (course if root == FIXTURES else Course(root)).solutions / f"{chapter}.ipynb", as_version=4
    )
    for number, mutant in enumerate(tasks(solution)[name]["mutants"]):
        result = item(grades[f"mutants {number}"], name)
        assert result.points == 0, f"mutant {mutant['name']!r} passes"
        assert result.status in ("failed", "error"), f"mutant {mutant['name']!r}: {result.status}"
        assert not any(error in result.message for error in NOT_RUN), f"mutant {mutant['name']!r}: {result.message}"
