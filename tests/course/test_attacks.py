"""Submissions made to get what they did not earn, or to cost others theirs: each scores 0, the others are graded."""

import contextlib
import functools
import http.server
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course.checks.bundle import MIME
from course.files import CODE, Course
from course.grading import packages
from course.grading.grade import grade
from course.grading.packages import Kits
from course.grading.report import Report, Result
from course.notebooks.notebook import checks, exercise_of, role
from course.sandbox import launch
from course.sandbox.launch import Limits
from tests.course.attacks import answers, delegation, harm, target, values
from tests.course.attacks.machines import MACHINES
from tests.course.attacks.particular import PARTICULAR
from tests.course.attacks.target import TABLE, Attack, Target
from tests.turn import in_turn, this_turn

KINDS = (answers, delegation, harm, values)  # importing them fills the table
CHAPTER = "06_computation_graph"  # small, and it has exercises of every kind
HONEST = target.CHAPTERS[:3]
ATTACKS = in_turn(TABLE, 8, this_turn())
LIMITS = Limits(
    cell_seconds=5, processes=100, total_memory_bytes=1 << 30, disk_bytes=8 << 20, memory_bytes=4 << 30, cpu_seconds=30
)

pytestmark = [
    pytest.mark.needs("bubblewrap"),
    pytest.mark.skipif(bool(launch.trouble()), reason=launch.trouble()),  # nothing would stop those that fill
]


def submitted(attack: Attack, at: Target, **places: Any) -> Any:
    """The learner's notebook with the attack in the cell of one exercise, and what it needs in the others."""
    notebook = nbformat.read(Course(at.root).pristine / f"{at.chapter}.ipynb", as_version=4)
    text = attack.make(at)
    for name, place in places.items():
        text = text.replace(name, str(place))
    parts = {each.name for each in target.targets() if each.parts}
    for cell in notebook.cells:
        if role(cell) == "solution" and exercise_of(cell) == at.name:
            cell.source = text
        elif role(cell) == "solution" and attack.name.startswith("finds_what") and exercise_of(cell) in parts:
            cell.source = answers.LEAVES
        elif role(cell) == "solution" and attack.name.startswith("speaks_for"):
            cell.source = "wrong = 1"
    return notebook


@contextlib.contextmanager
def served(folder: Path) -> Iterator[int]:
    """The port of a server of these files."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments: Any) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The attacks of this turn in one class, each on an exercise of some chapter, and honest learners beside them."""
    folder = tmp_path_factory.mktemp("class")
    course = Course(CODE)
    with served(course.solutions) as port:
        for attack in ATTACKS:
            for at in target.chosen(attack):
                place = folder / at.chapter  # in order of the chapters, they share sandboxes
                place.mkdir(exist_ok=True)
                notebook = submitted(attack, at, CLASS=place, REPOSITORY=CODE, PORT=port)
                nbformat.write(notebook, place / f"{attack.name}.ipynb")
        for chapter in HONEST:
            (folder / chapter).mkdir(exist_ok=True)
            honest = nbformat.read(course.solutions / f"{chapter}.ipynb", as_version=4)
            nbformat.write(honest, folder / chapter / f"zz_honest_{chapter}.ipynb")
        return grade([folder], course, jobs=2, limits=LIMITS, explain=False)


@pytest.fixture
def result(report: Report) -> Callable[[str], Result]:
    return {Path(each.path).stem: each for each in report.submissions}.__getitem__


def test_there_are_many_and_each_has_a_name_of_its_own() -> None:
    assert len(TABLE) >= 60 and len({attack.name for attack in TABLE}) == len(TABLE)
    assert all(target.chosen(attack) for attack in TABLE)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_scores_0(result: Callable[[str], Result], attack: Attack) -> None:
    attacked = result(attack.name)
    assert (attacked.status, attacked.score) == ("graded", 0), attacked
    (item,) = [item for item in attacked.items if item.grade_id == target.chosen(attack)[0].name]
    assert item.status in ("failed", "error", "timeout"), item
    assert not any(character in item.message for character in "\x1b\x00\u202e\ud800"), item
    assert len(item.message) < 20_000


def test_who_is_honest_beside_them_gets_every_point(report: Report) -> None:
    honest = [each for each in report.submissions if "zz_honest" in each.path]
    assert len(honest) == len(HONEST) and all(each.score == each.max_score > 0 for each in honest), honest
    assert not any((CODE / name).exists() for name in ("conftest.py", "sitecustomize.py", "numpy.py", "trap.pth"))


def edit(patch: pytest.MonkeyPatch, file: str, old: str, new: str) -> None:
    """Change a file of the course that the sandboxes get."""
    copy = packages._copy

    def copied(folder: Path, roots: dict[str, Path]) -> None:
        copy(folder, roots)
        path = folder / "course" / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()

    patch.setattr(packages, "_copy", copied)


def keep_the_part(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(packages, "_remove", lambda *arguments: None)


def count_no_calls(patch: pytest.MonkeyPatch) -> None:
    edit(patch, "grading/inside.py", "called=witness.called", "called=None")


def keep_the_part_and_drop_the_guard(patch: pytest.MonkeyPatch) -> None:
    keep_the_part(patch)
    edit(patch, "grading/inside.py", "guard.restore()\n", "pass\n")


def keep_the_part_and_drop_the_guard_and_the_count(patch: pytest.MonkeyPatch) -> None:
    keep_the_part_and_drop_the_guard(patch)
    count_no_calls(patch)


def keep_the_part_of_mytorch(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Kits, "own", lambda kits, exercise, only=(): kits._core if kits.kinds[exercise].parts else None)


def no_bubblewrap(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(launch, "has_bubblewrap", lambda: False)


def no_sandbox(patch: pytest.MonkeyPatch) -> None:
    no_bubblewrap(patch)
    patch.setattr(launch, "has_landlock", lambda: False)
    edit(patch, "grading/inside.py", "and seccomp.available()", "and False")


def no_salt(patch: pytest.MonkeyPatch) -> None:
    edit(patch, "check.py", "secret, str(seed()), reveal", "secret, str(PRACTICE_SEED), reveal")


Off = Callable[[pytest.MonkeyPatch], None]
BENDS = ["bends_install_patched", "bends_install_recoded", "bends_lock_patched", "bends_lock_recoded"]
WITHOUT_CALLS = ["bends_install_patched", "bends_install_recoded"]  # the package's own part does all the work
READS = [
    "reads_of_the_repository",
    "reads_of_another_process",
    "reads_of_git",
    "reads_of_the_chapters",
    "reads_of_the_network",
    "reads_of_a_neighbour",
    "reads_the_part_of_the_solutions",
]
OFF: dict[Off, list[str]] = {
    keep_the_part: [
        "delegates_of_its_source",
        "delegates_of_its_bytecode",
        "delegates_of_any_object",
        "delegates_of_another_process",
        "delegates_with_its_lock_undone",
    ],
    keep_the_part_and_drop_the_guard_and_the_count: BENDS,
    no_sandbox: READS,
    keep_the_part_of_mytorch: ["takes_the_part_of_what_was_given", "takes_the_part_of_the_finders"],
    no_salt: ["forges_the_digest_of_the_notebook"],
}
"""What succeeds without a defence. All but one defence are off in `ALONE`, and the one holds."""
ALONE: dict[Off, list[str]] = {
    keep_the_part: BENDS,
    keep_the_part_and_drop_the_guard: WITHOUT_CALLS,
    no_bubblewrap: READS if launch.has_landlock() else [],
}


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Off, str], int]:
    """What an attack gets for its exercise in one chapter; all with the same defence off are graded together."""

    @functools.cache
    def graded(off: Off) -> dict[str, int]:
        folder, course = tmp_path_factory.mktemp("off"), Course(CODE)
        honest = course.solutions / f"{CHAPTER}.ipynb"
        (folder / "neighbours").mkdir()
        (folder / "neighbours" / "neighbour.ipynb").write_bytes(honest.read_bytes())
        chosen = {}
        with pytest.MonkeyPatch.context() as patch, served(course.solutions) as port:
            for attack in TABLE:
                if attack.name in (*OFF.get(off, ()), *ALONE.get(off, ())):
                    at = next(each for each in target.targets() if each.chapter == CHAPTER and attack.fits(each))
                    chosen[attack.name] = at.name
                    notebook = submitted(attack, at, CLASS=folder / "neighbours", REPOSITORY=CODE, PORT=port)
                    nbformat.write(notebook, folder / f"{attack.name}.ipynb")
            off(patch)
            paths = [folder / f"{name}.ipynb" for name in chosen]
            limits = replace(LIMITS, cell_seconds=60)  # nothing here is meant to be late
            results = grade(paths, course, jobs=2, limits=limits, explain=False).submissions
        assert all(result.status == "graded" for result in results), results
        return {
            name: next(item.points for item in result.items if item.grade_id == chosen[name])
            for name, result in zip(chosen, results, strict=True)
        }

    return lambda off, name: graded(off)[name]


def cases(table: dict[Off, list[str]]) -> list[Any]:
    return [pytest.param(off, name, id=f"{off.__name__}-{name}") for off, names in table.items() for name in names]


@pytest.mark.turns(8)
@pytest.mark.parametrize(("off", "name"), cases(OFF))
def test_an_attack_would_succeed_without_the_defence(points: Callable[[Off, str], int], off: Off, name: str) -> None:
    assert points(off, name) > 0


@pytest.mark.turns(8)
@pytest.mark.parametrize(("off", "name"), cases(ALONE))
def test_a_defence_holds_alone(points: Callable[[Off, str], int], off: Off, name: str) -> None:
    """The guard, the count of calls, and Landlock."""
    assert points(off, name) == 0


def points_of(folder: Path, attacks: Mapping[tuple[str, str, str], str]) -> dict[tuple[str, str, str], int]:
    """What attacks get for their exercise, each in a notebook of its own; their keys are chapter, exercise and name."""
    course = Course(CODE)
    for (chapter, name, way), text in attacks.items():
        notebook: Any = nbformat.read(course.pristine / f"{chapter}.ipynb", as_version=4)
        (stored,) = [output.data[MIME] for output in checks(notebook)[name].outputs if MIME in output.get("data", {})]
        for cell in notebook.cells:
            if role(cell) == "solution" and exercise_of(cell) == name:
                cell.source = text.replace("STORED", repr(stored))
        nbformat.write(notebook, folder / f"{name}@{way}.ipynb")
    results = grade([folder], course, jobs=2, explain=False).submissions
    assert all(result.status == "graded" for result in results), results
    every = {(Path(result.path).stem, item.grade_id): item.points for result in results for item in result.items}
    return {(chapter, name, way): every[f"{name}@{way}", name] for chapter, name, way in attacks}


ON_ONE = {(*at, "once"): text for at, text in PARTICULAR.items()} | {
    (*at, way): text for at, ways in MACHINES.items() for way, text in ways.items()
}


@pytest.fixture(scope="module")
def earned(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], int]:
    """What the attacks on one exercise get for it."""
    return points_of(tmp_path_factory.mktemp("particular"), ON_ONE)


@pytest.mark.turns(8)
@pytest.mark.parametrize("at", ON_ONE, ids="-".join)
def test_an_attack_on_one_exercise_scores_0(earned: dict[tuple[str, str, str], int], at: tuple[str, str, str]) -> None:
    assert earned[at] == 0
