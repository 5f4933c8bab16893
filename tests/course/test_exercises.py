"""Every exercise: unsolved it scores 0, the reference its points, and every mutant 0 for what it spoils.

Where variants earn points one by one, a mutant loses those of the variants that it takes for right.
"""

import copy
import functools
import re
import tempfile
import threading
from itertools import zip_longest
from pathlib import Path

import nbformat
import pytest

from course.files import CODE, Course
from course.grading.intake import outline_of
from course.grading.merge import solutions_of
from course.grading.packages import Kits
from course.grading.pool import Pool
from course.grading.reference import Reference
from course.grading.report import Item, Result
from course.grading.run import Run
from course.notebooks.notebook import OURS, checks, exercise_of, expected_bundle, role, tasks
from course.sandbox.launch import Limits
from course.source.parts import short
from tests.turn import in_turn, this_turn

HEADER = re.compile(r'^# %% \[markdown\] .*exercise="(\w+)"', re.MULTILINE)
FIXTURES = Path(__file__).parent / "fixtures"
CORE_FIXTURES = Path(__file__).parent / "fixtures_core"
SEED = 2026  # of the inputs; with another for each run, a mutant might look right by chance
# A mutant that dies so says nothing about the check; unless it cannot import what it delegates to.
NOT_RUN = re.compile(
    "NameError|SyntaxError|IndentationError|NotImplementedError|ModuleNotFoundError(?!: No module named '(mini)?torch')"
)


def exercises(root: Path, turns: int = 1) -> list[tuple[Path, str, str]]:
    """(root, chapter, exercise) of every exercise whose source is below `root`, or of the chapters of this turn."""
    paths = in_turn(sorted(root.glob("chapters/*/exercises.py")), turns, this_turn())
    return [
        (root, path.parent.name, name) for path in paths for name in HEADER.findall(path.read_text(encoding="utf-8"))
    ]


@functools.cache
def graded(root: Path, chapter: str) -> dict[str, dict[str, Item]]:
    """The chapter's grades: "unsolved", "reference", and "mutants k", where every exercise holds its k-th mutant.

    They are run as in a grade.
    """
    course = Course(root)
    solved, unsolved = (
        nbformat.read(folder / f"{chapter}.ipynb", as_version=4) for folder in (course.solutions, course.pristine)
    )
    submissions = {"unsolved": unsolved, "reference": solved}
    mutants = {name: about["mutants"] for name, about in tasks(solved).items()}
    for number, chosen in enumerate(zip_longest(*mutants.values())):
        sources = dict(zip(mutants, chosen, strict=True))
        mutated = submissions[f"mutants {number}"] = copy.deepcopy(solved)
        for cell in mutated.cells:
            if role(cell) == "solution":
                mutant = sources[exercise_of(cell)]
                cell.source = cell.metadata[OURS]["stub"] if mutant is None else mutant["source"]
    items: dict[str, dict[str, Item]] = {}
    with tempfile.TemporaryDirectory() as folder, Pool(Limits(), threading.Event(), size=8, is_trusted=True) as pool:
        reference = Reference(solved, Kits(Path(folder) / "kits", course, solved), SEED, explain=False)
        for name, notebook in submissions.items():
            result = Result(name)
            Run(result, solutions_of(notebook, outline_of(solved)), reference, pool).grade()
            items[name] = {item.grade_id: item for item in result.items}
    return items


@pytest.mark.parametrize("path", sorted((CODE / "solutions").glob("*.ipynb")), ids=lambda path: path.stem)
def test_no_value_can_be_copied_from_the_learners_own_notebook(path: Path) -> None:
    """Inputs are drawn from the seed, or the values are stored as one slow digest that is salted with it."""
    notebook = nbformat.read(path, as_version=4)
    for name, cell in checks(notebook).items():
        kinds = {value["kind"] for value in expected_bundle(cell)["values"].values()}
        assert "check.rng()" in cell.source or "check.seed()" in cell.source or kinds == {"secret"}, name


EXERCISES = exercises(CODE, turns=32) + exercises(FIXTURES) + exercises(CORE_FIXTURES)


@pytest.mark.parametrize(
    ("root", "chapter", "name"),
    [pytest.param(*exercise, id=f"{exercise[1]}-{exercise[2]}") for exercise in EXERCISES],
)
def test_unsolved_0_reference_full_every_mutant_0_for_what_it_spoils(
    root: Path, chapter: str, name: str, course: Course, core_course: Course
) -> None:
    root = {FIXTURES: course.root, CORE_FIXTURES: core_course.root}.get(root, root)
    grades = graded(root, chapter)
    unsolved, solved = grades["unsolved"][name], grades["reference"][name]
    assert (unsolved.points, unsolved.status) == (0, "skipped"), unsolved.message
    assert (solved.points, solved.status) == (solved.max_points, "passed"), solved.message
    solution = nbformat.read(Course(root).solutions / f"{chapter}.ipynb", as_version=4)
    about = tasks(solution)[name]
    for share in about.get("shares") or []:
        spoiling = [mutant for mutant in about["mutants"] if set(map(short, share["parts"])) & set(mutant["spoils"])]
        assert spoiling, f"no mutant spoils {share['parts']}"
    for number, mutant in enumerate(about["mutants"]):
        result = grades[f"mutants {number}"][name]
        assert [
            (part.names, part.status, part.message)
            for part in result.parts
            if (part.status == "passed") == any(short(each) in mutant["spoils"] for each in part.names)
        ] == [], f"mutant {mutant['name']!r} spoils {mutant['spoils']}"
        most = result.max_points - 1 if "variants" in about else sum(part.points for part in result.parts)
        assert result.points <= most, f"mutant {mutant['name']!r} passes"
        assert result.status in ("failed", "error"), f"mutant {mutant['name']!r}: {result.status}"
        own = re.sub('expected string "[^"]*"', "", result.message)  # an error that is expected isn't its own
        assert not NOT_RUN.search(own), f"mutant {mutant['name']!r}: {result.message}"
