"""A machine counts work where no answer can look: its verdict can't be forged, its work can't be done elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

from course import check, work
from course.files import CODE, Course
from course.grading.grade import grade
from course.notebooks.notebook import exercise_of, role, tasks
from course.source.exercises import SourceError, read_cells, read_exercises
from course.variants import ServedVariants, here, keyed
from tests.course.test_source import CHECK, GOOD, MUTANT, source_of

COUNTS = """
spent = 0

def add(a, b):
    global spent
    spent += 1
    return a + b

def drawn():
    return secret().normal()

def verdict():
    return seal("one call") if spent == 1 else f"{spent} calls"
"""


TIMED = ("26_whiteboard_decoder", "27_whiteboard_serving")


@pytest.fixture(scope="module")
def machines() -> dict[str, str]:
    """By exercise, the text of its machine."""
    cells = [cell for name in TIMED for cell in read_cells(CODE / "chapters" / name / "exercises.py")]
    return {cell.metadata["machine"]: cell.text for cell in cells if cell.role == "machine"}


def served(text: str, key: str) -> ServedVariants:
    return ServedVariants(lambda: [keyed(text, key)])


def test_a_machine_counts_and_its_seal_is_of_its_key_its_seed_and_its_words() -> None:
    def verdict(key: str, seed: int) -> str:
        machine = served(COUNTS, key).candidate(seed, 0)
        assert machine.add(1, 2) == 3
        said: str = machine.verdict()
        assert machine.add(1, 2) == 3 and machine.verdict() == "2 calls"
        return said

    assert verdict("", 1) == here(COUNTS + "add(1, 2)", 1).verdict() == "one call"
    assert verdict("a", 1) == verdict("a", 1) == work.seal("a", 1, "one call") != "one call"
    assert len({verdict("a", 1), verdict("b", 1), verdict("a", 2), work.seal("a", 1, "2 calls")}) == 4


def test_a_report_has_no_seal_even_where_one_is_cut_off() -> None:
    sealed = work.seal("a", 1, "one call")
    assert work.unsealed(f"expected {sealed}, got 2 calls") == "expected one call, got 2 calls"
    assert {work.unsealed(sealed[:end]) for end in range(len("one call (sealed "), len(sealed))} == {"one call"}
    assert work.unsealed("one call (of two)") == "one call (of two)"


RAISES_THE_VERDICT = """
def generate(embed, project, head, prompt, count):
    machine = getattr(getattr(project, "func", None), "__self__", None)
    raise RuntimeError(machine.verdict() if machine else "no machine")
"""


def test_no_seal_is_in_what_a_learner_reads(tmp_path: Path) -> None:
    course = Course(CODE)
    solved: Any = nbformat.read(course.solutions / f"{TIMED[1]}.ipynb", as_version=4)
    mutants = [each["source"] for each in tasks(solved)["serve_timed_decode"]["mutants"]]
    for number, text in enumerate([*mutants, RAISES_THE_VERDICT]):
        for cell in solved.cells:
            if role(cell) == "solution":
                cell.source = text if exercise_of(cell) == "serve_timed_decode" else ""
        nbformat.write(solved, tmp_path / f"{number}.ipynb")
    report = grade([tmp_path], course)
    said = [item.message for each in report.submissions for item in each.items if item.grade_id == "serve_timed_decode"]
    assert len(said) == len(mutants) + 1 and any("at most 60 rows" in message for message in said)
    assert not [message for message in said if re.search(r"sealed|\b[0-9a-f]{16}\b", message)]


def test_what_a_machine_draws_is_of_its_key_and_its_seed() -> None:
    def drawn(key: str, seed: int) -> float:
        value: float = served(COUNTS, key).candidate(seed, 0).drawn()
        return value

    assert drawn("a", 1) == drawn("a", 1)
    assert len({drawn("a", 1), drawn("b", 1), drawn("a", 2), drawn("", 1)}) == 4


@pytest.mark.parametrize("name", ["seal", "secret", "np", "KEY"])
def test_only_its_own_functions_can_be_called(name: str) -> None:
    with pytest.raises(KeyError):
        getattr(served(COUNTS, "a").candidate(1, 0), name)("one call")


def scanned(machine: Any, scan: Any) -> str:
    verdict: str = machine.verdict(scan(machine.combine, machine.given()))
    return verdict


def in_a_loop(combine: Any, steps: Any) -> Any:
    out = steps.copy()
    for t in range(1, len(steps)):
        out[t : t + 1] = combine(out[t - 1 : t], steps[t : t + 1])
    return out


def by_halves(combine: Any, steps: Any) -> Any:
    if len(steps) == 1:
        return steps
    odd, out = by_halves(combine, combine(steps[:-1:2], steps[1::2])), steps.copy()
    out[1::2], out[2::2] = odd, combine(odd[: len(steps[2::2])], steps[2::2])
    return out


def all_with_the_first(combine: Any, steps: Any) -> Any:
    return np.concatenate([steps[:1], combine(steps[:1].repeat(len(steps) - 1, 0), steps[1:])])


def test_the_scans_machine_seals_prefixes_alone_and_within_its_limits(machines: dict[str, str]) -> None:
    text = keyed(machines["decoder_timed_scan"], "a")

    def wrong_at(t: int) -> Any:
        def scan(combine: Any, steps: Any) -> Any:
            out = by_halves(combine, steps)
            out[t] = out[t - 1]
            return out

        return scan

    assert scanned(here(text, 3), by_halves) == work.seal("a", 3, "the prefixes of 129 steps, within both limits")
    assert scanned(here(text, 3), in_a_loop).startswith("128 calls and 128 pairs")
    assert scanned(here(text, 3), all_with_the_first).startswith("element 2 is not")
    assert scanned(here(text, 3), lambda combine, steps: np.cumsum(steps, 0)).startswith("element 1 is not")
    assert scanned(here(text, 3), lambda combine, steps: by_halves(combine, steps)[:-1]).startswith("element 0 is not")
    for t in (1, 77, 128):
        assert scanned(here(text, 3), wrong_at(t)).startswith(f"element {t} is not")


def test_the_elements_of_one_scan_are_worthless_in_another(machines: dict[str, str]) -> None:
    one, other = (served(machines["decoder_timed_scan"], "a").candidate(seed, 0) for seed in (1, 2))
    assert one.verdict(by_halves(other.combine, other.given())).startswith("element 0 is not")
    assert one.verdict(by_halves(other.combine, one.given())).startswith("element 1 is not")


def test_the_decoders_machine_counts_rows_in_any_shape_and_ends_with_its_verdict(machines: dict[str, str]) -> None:
    text, x = keyed(machines["serve_timed_decode"], "a"), np.ones((60, 12))
    machine = here(text, 3)
    assert [each.shape for each in machine.project(x)] == [(60, 8)] * 3
    assert machine.verdict() == work.seal("a", 3, "at most 60 rows")
    with pytest.raises(RuntimeError, match="verdict has been given"):
        machine.project(x)
    for shapes in ([(60, 12), (1, 12)], [(1, 61, 12)], [(1, 12)] * 61):
        machine = here(text, 3)
        for shape in shapes:
            machine.project(np.ones(shape))
        assert machine.verdict().startswith("61 rows")


def test_a_notebook_runs_the_machine_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = check.machine(COUNTS)
    machine.add(1, 2)
    assert machine.verdict() == "one call"
    monkeypatch.setattr(check, "served", served(COUNTS, "a"))
    assert check.machine("raise ValueError").add(1, 2) == 3


def test_the_check_of_a_timed_exercise_has_one_machine_with_a_seal(tmp_path: Path) -> None:
    more = f'\n# %% mutant="area"\n{MUTANT.replace("Circumference", "Again")}def area(radius):\n    return radius\n'
    text = GOOD.replace('kind="build" points=2 replaces="shapes:area"', 'kind="timed" points=2') + more
    machine = f'# %% machine="area"\n{COUNTS}\n'
    at = text.index('# %% check="area"')
    for place, wrong in enumerate(["", machine.replace('seal("one call")', '"one call"'), machine + machine]):
        (tmp_path / str(place)).mkdir()
        with pytest.raises(SourceError, match="whose verdict is under a seal"):
            read_exercises(source_of(tmp_path / str(place), text[:at] + wrong + text[at:]))
    (tmp_path / "right").mkdir()
    right = text[:at] + machine + text[at:].replace(CHECK, "check.show({'area': area(2), 'calls': machine.verdict()})")
    (exercise,) = read_exercises(source_of(tmp_path / "right", right)).exercises
    assert "which are counted" in exercise.kind.where()
    assert exercise.check is not None and exercise.check.text.startswith("machine = check.machine(r'''\nspent")
