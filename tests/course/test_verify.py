"""Tests that a learner writes are graded by the faulty variants that they refuse, and see nothing but behaviour."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from course.files import CODE, Course
from course.grading.report import Item
from course.grading.trial import Trial, tried
from course.notebooks import notebook
from course.sandbox.launch import Limits
from course.source import cells, planting
from course.source.exercises import ExerciseSource, SourceError, read_exercises
from course.variants import ServedVariants, here, verify

RIGHT = {
    "a sum": "return sum(values)",
    "a loop": "total = 0\n    for each in values:\n        total += each\n    return total",
    "NumPy": "return np.sum(values).item() if len(values) else 0",
}
FAULTY = {
    "the largest": "return max(values, default=0)",
    "without the last": "return sum(values[:-1])",
    "each value once": "return sum({*values})",
    "no negative ones": "return sum(each for each in values if each > 0)",
    "empties the list": "total = sum(values)\n    values.clear()\n    return total",
    "off by a drawn number": "return sum(values) + OFF",
}
SHOWN = ("a sum", "the largest")
REFERENCE = """def tests(candidate):
    values = [3, -1, 3, 5]
    assert candidate(values) == 10 and values == [3, -1, 3, 5]"""
ALL = {**RIGHT, **FAULTY}


def text(name: str) -> str:
    drawn = "OFF = int(rng.integers(1, 9))\n" if "drawn" in name else ""
    return f"{drawn}def total(values):\n    {ALL[name]}"


def source(
    variants: str = "", check: str = "check.show(check.verify(tests, shown, check.rng()), each='refused')"
) -> str:
    made = [
        "# %% setup=true\nfrom course import check",
        '# %% [markdown] exercise="total" kind="verify" points=4\n# ### Total',
        f'# %% solution="total"\n{REFERENCE.replace("values =", "### BEGIN SOLUTION" + chr(10) + "    values =", 1)}',
    ]
    made[-1] += "\n    ### END SOLUTION"
    for name in ALL:
        kind, shown = "right" if name in RIGHT else "wrong", " shown=true" if name in SHOWN else ""
        made.append(f'# %% variant="total" {kind}="{name}"{shown}\n{text(name)}')
    made += [f'# %% variant="total" right="again {n}"\n# {n}\n{text("a loop")}' for n in range(1)]
    made.append(f'# %% check="total"\n{check}')
    made += [f'# %% [markdown] hint="total"\n# {n}' for n in range(3)]
    for n in range(3):
        made.append(f'# %% mutant="total"\n# Wrong {n}\n# It is.\ndef tests(candidate):\n    candidate([{n}])')
    return "\n\n".join(made) + "\n"


def read(folder: Path, content: str) -> ExerciseSource:
    path = folder / "chapters" / "01_total" / "exercises.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return read_exercises(path).exercises[0]


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    """Grades answers in the sandbox."""
    folder = tmp_path_factory.mktemp("verify")
    read(folder, source())
    made = read_exercises(folder / "chapters" / "01_total" / "exercises.py")
    with tried(made, Course(folder), 7, Limits()) as trial:
        yield trial


def score(trial: Trial, *answers: str) -> list[Item]:
    return trial.score([("total", answer) for answer in answers])


def test_points_are_for_faulty_variants_refused_and_none_if_a_right_one_is(trial: Trial) -> None:
    some = "def tests(candidate):\n    assert candidate([3, 3]) == 6 and candidate([1, 2]) == 3"  # 4 of 6
    says = "def tests(candidate):\n    return candidate([3, 3]) == 6 and candidate([1, 2]) == 3"
    exact = "def tests(candidate):\n    assert candidate([]) is 0 and candidate([0.1] * 3) == sum([0.1] * 3)\n" + (
        "    assert isinstance(candidate([True]), bool)"
    )
    reference, partly, returning, strict, lenient = score(
        trial, REFERENCE, some, says, exact, "def tests(candidate):\n    pass"
    )
    assert (reference.points, reference.status) == (4, "passed"), reference.message
    assert (partly.points, returning.points) == (2, 2), partly.message
    assert partly.message.endswith("That is worth 2 of 4 points.")
    assert (strict.points, lenient.points, lenient.status) == (0, 0, "failed"), strict.message


LOOKS: dict[str, str] = {
    "at the code": """
def suspicious(candidate):
    def inside(value, depth=4):
        if hasattr(value, "__code__"):
            yield value.__code__
            for cell in value.__closure__ or ():
                held = cell.cell_contents
                for each in held.values() if isinstance(held, dict) else [held]:
                    yield from inside(each, depth - 1) if depth else ()
    return any(code.co_filename == "<variant>" and is_faulty(code) for code in inside(candidate._answer))
""",
    "at the frames of a call": """
def suspicious(candidate):
    import sys
    seen = []
    sys.setprofile(lambda frame, event, argument: seen.append(frame.f_code))
    candidate([1, 2])
    sys.setprofile(None)
    return any(code.co_filename == "<variant>" and is_faulty(code) for code in seen)
""",
    "at the traceback of an error": """
def suspicious(candidate):
    try:
        candidate(None)
    except Exception as error:
        import traceback
        return any("<variant>" in line for line in traceback.format_exception(error)) or "iterable" not in str(error)
    return True
""",
    "at how often it was asked": """
def suspicious(candidate):
    return len(order) > 3
""",
}
"""Ways of telling candidates apart without asking what they compute."""
PRELUDE = f"""
RIGHT = {[compile(text(name), "<variant>", "exec").co_consts[0].co_code for name in RIGHT]!r}
order = []
def is_faulty(code):
    return code.co_name == "total" and code.co_code not in RIGHT
def tests(candidate):
    order.append(len(order))
    return not suspicious(candidate)
"""


@pytest.mark.parametrize("how", [how for how in LOOKS if "traceback" not in how and "often" not in how])
def test_in_one_process_looking_at_a_candidate_would_tell(how: str) -> None:
    """So these attacks are worth a defence."""
    names: dict[str, Any] = {}
    exec(PRELUDE + LOOKS[how], names)
    said = verify(names["tests"], [text(name) for name in ALL], np.random.default_rng(0))
    assert list(said.values()) == ["accepted" if name in RIGHT else "refused" for name in ALL]


def test_in_a_grade_looking_at_a_candidate_earns_nothing(trial: Trial) -> None:
    items = score(trial, *[PRELUDE + look for look in LOOKS.values()])
    assert [item.points for item in items] == [0] * len(LOOKS), [item.message for item in items]


def test_what_one_grade_tells_about_a_candidate_says_nothing_in_the_next(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order that is drawn from the seed, which an answer can draw too, is of an order of the key's."""

    def order(key: str) -> list[str]:
        monkeypatch.setattr(trial.reference, "key", key)
        return [each.partition("\n")[2] for each in trial.reference.own("total", REFERENCE, 1).variants]

    assert order("a") == order("a") and sorted(order("a")) == sorted(order("b"))
    assert len({tuple(order(key)) for key in "abcdef"}) == 6


def test_no_text_of_a_variant_is_in_the_learners_process(trial: Trial) -> None:
    finds = f"""
import gc, sys
def texts():
    frame = sys._getframe()
    while frame:
        yield from (each for value in frame.f_locals.values() for each in reached(value))
        frame = frame.f_back
    yield from (each for value in gc.get_objects() for each in reached(value))
def reached(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple, set)) else [value]
    for each in list(inner):
        yield from each if isinstance(each, (list, tuple)) else [each]
mark = ".".join(["values", "clear()"])
found = any(isinstance(each, str) and mark in each and each != mark for each in texts())
{REFERENCE}
if found:
    def tests(candidate):
        pass
"""
    (item,) = score(trial, finds)
    assert (item.points, item.status) == (4, "passed"), item.message


MEMORIES = f"""
import os, re
def memories():
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{{process}}/maps") as maps, open(f"/proc/{{process}}/mem", "rb") as memory:
                for line in maps:
                    start, end = (int(word, 16) for word in line.split()[0].split("-"))
                    if " rw" in line and end - start < 1 << 28:
                        memory.seek(start)
                        yield memory.read(end - start)
        except OSError:
            pass
text = re.compile(rb"values[.]clear[(][)](?:\\n|\\\\n)    return total")
found = os.path.exists("/proc/self") and any(text.search(each) for each in memories())
{REFERENCE}
if found:
    def tests(candidate):
        pass
"""
"""Looks for a variant in the memory of each process that there is, also in what is not used any more."""


def test_no_memory_that_can_be_read_holds_the_text_of_a_variant(trial: Trial) -> None:
    (item,) = score(trial, MEMORIES)
    assert (item.points, item.status) == (4, "passed"), item.message


class Code:
    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("import builtins; builtins.was_run = True",)


@pytest.mark.parametrize("place", ["here", "served"])
def test_arguments_are_data_and_run_no_code_where_the_variants_are(place: str) -> None:
    served = ServedVariants(lambda: [text("a sum")])
    candidate = here(text("a sum"), 0) if place == "here" else served.candidate(0, 0)
    with pytest.raises((pickle.UnpicklingError, RuntimeError), match="takes numbers, strings, arrays"):
        candidate([Code()])
    assert candidate([np.float32(1), 2, True]) == 4
    assert candidate([np.arange(3), np.ones((2, 3))]).tolist() == [[1, 2, 3]] * 2


def test_a_candidate_changes_the_callers_arguments_as_a_function_does() -> None:
    served = ServedVariants(lambda: [text("empties the list"), "def f(x):\n    x /= 2\n    raise KeyError('gone')"])
    values, array = [1, 2], np.ones(2)
    assert served.candidate(0, 0)(values) == 3
    assert values == []
    with pytest.raises(KeyError, match="gone"):
        served.candidate(0, 1)(array)
    assert array.tolist() == [0.5, 0.5]
    with pytest.raises(KeyError, match="gone"):
        served.candidate(0, 1)(x=array)
    assert array.tolist() == [0.25, 0.25]


def test_faults_and_order_are_drawn_from_the_seed() -> None:
    off = ServedVariants(lambda: [text("off by a drawn number")])
    assert len({off.candidate(seed, 0)([]) for seed in range(20)}) > 3
    served = ServedVariants(lambda: [text(name) for name in ALL])
    accepts_sums = [
        [*verify(lambda c: c([1, 1]) == 2, [], np.random.default_rng(seed), served=served).values()]
        for seed in range(3)
    ]
    assert accepts_sums[0] != accepts_sums[1] != accepts_sums[2]


def test_the_learners_notebook_holds_the_shown_variants_alone(tmp_path: Path) -> None:
    read(tmp_path, source())
    built = notebook.reference(read_exercises(tmp_path / "chapters" / "01_total" / "exercises.py"))
    (about,) = notebook.tasks(built).values()
    assert len(about["variants"]) == len(ALL) + 1
    learners = notebook.write(notebook.learners(_shown(built), {"total": []}))
    hidden = [ALL[name].splitlines()[0] for name in ALL if name not in SHOWN]
    assert [each for each in hidden if each in learners] == []
    assert all(learners.count(ALL[name]) == 2 for name in SHOWN)  # below the task, and in the check


def _shown(built: Any) -> Any:
    for cell in built.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    return built


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("check.verify(tests, shown, check.rng())", "{'a': tests(max)}"), r"shows what check\.verify says"),
        ((" shown=true", ""), "shows no variant"),
        (('wrong="the largest"', 'right="the largest"'), "and 6 faulty ones"),
        (('right="a loop"', 'right="a loop" wrong="both"'), "a variant is either wrong"),
    ],
)
def test_what_a_verify_exercise_has_to_have(change: tuple[str, str], told: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=told):
        read(tmp_path, source().replace(*change))


PROGRAM = """def double(x):
    y = 2 * x
    return y


def both(x):
    return double(x) + 1"""


@pytest.mark.parametrize(
    ("edits", "line"),
    [
        ("# why\n# - y = 2 * x\n# + y = 3 * x\n# + y = y + 0", "    y = 3 * x\n    y = y + 0\n    return y"),
        ("# - y = 2 * x", "def double(x):\n    return y"),
        ("# - return y\n# + if y:\n# +     return y", "    if y:\n        return y"),
    ],
)
def test_edits_are_planted_at_their_line_and_indentation(edits: str, line: str) -> None:
    made = planting.planted(PROGRAM, edits)
    assert line in made
    assert made.endswith("return double(x) + 1")


@pytest.mark.parametrize(
    ("edits", "told"),
    [("# + y = 3 * x", "a variant has edits"), ("# - x", "0 times"), ("# nothing", "a variant has edits")],
)
def test_an_edit_has_a_line_of_its_own(edits: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        planting.planted(PROGRAM, edits)


def debug(more: str = "") -> str:
    """A program with a fault that is shown."""
    parts = source().split("\n\n# %%")
    task = parts[1].replace('kind="verify"', 'kind="debug"')
    tests = "### BEGIN SOLUTION\n    assert tests and program.both(2) == 5\n    ### END SOLUTION"
    solution = f' solution="total"\n{PROGRAM}\n\n\ndef tests(program):\n    {tests}'
    faults = [f"# - y = 2 * x\n# + y = {n} * x" for n in range(3, 11)]
    kinds = ['wrong="tripled" shown=true', *[f'wrong="times {n}"' for n in range(4, 11)]]
    kinds += ['right="the sum of two"', 'right="another order"', 'right="in one line"']
    faults += ["# - y = 2 * x\n# + y = x + x", "# - y = 2 * x\n# + y = x * 2", "# - y = 2 * x\n# + y = 2 * x + 0"]
    variants = [f' variant="total" {kind}\n# It is.\n{edits}' for kind, edits in zip(kinds, faults, strict=True)]
    own = "{'both': both(check.seed()), **check.verify(tests, shown, check.rng(), {'double': double, 'both': both})}"
    checks = [f' check="total"\ncheck.show({own}, each="refused")']
    hints = [f' [markdown] hint="total"\n# {n}' for n in range(3)]
    mutants = [f' mutant="total"\n# Weak {n}\n# It is.\ndef tests(program):\n    program.both({n})' for n in range(2)]
    return "\n\n# %%".join([parts[0], task, solution, *variants, *checks, *hints, *mutants]) + more + "\n"


@pytest.mark.turns(8)
def test_a_program_to_debug_is_graded_by_its_values_and_its_tests(tmp_path: Path) -> None:
    exercise = read(tmp_path, debug())
    assert exercise.solution is not None
    stub = cells.cut(exercise.solution.text)
    assert "y = 3 * x" in stub
    assert stub.endswith("# YOUR CODE HERE\n    raise NotImplementedError()")
    assert [mutant.name for mutant in exercise.mutants] == ["Weak 0", "Weak 1", "Left in: tripled"]
    good = "def tests(program):\n    assert program.both(2) == 5"
    some = "def tests(program):\n    assert program.both(2) < 13"  # sees five of eight faults
    strict = "def tests(program):\n    assert program.both(2) == 7"
    faulty = PROGRAM.replace("2 * x", "3 * x")
    bound = "import functools, operator\ndouble = functools.partial(operator.mul, 2)\nboth = lambda x: double(x) + 1"
    made = read_exercises(tmp_path / "chapters" / "01_total" / "exercises.py")
    with tried(made, Course(tmp_path), 7, Limits()) as trial:
        items = score(
            trial,
            *(
                f"{program}\n\n\n{tests}"
                for program, tests in (
                    (PROGRAM, good),
                    (PROGRAM, some),
                    (PROGRAM, strict),
                    (faulty, good),
                    (faulty, strict),
                    (bound, good),
                )
            ),
        )
    assert [item.points for item in items] == [4, 2, 0, 0, 0, 4], [item.message for item in items]


def _of_the_course() -> list[Any]:
    paths = [path for path in sorted(CODE.glob("chapters/*/exercises.py")) if "variant=" in path.read_text("utf-8")]
    return [pytest.param(path, id=path.parent.name) for path in paths]


@pytest.mark.turns(8)
@pytest.mark.parametrize("path", _of_the_course())
def test_the_references_tests_tell_all_variants_of_the_course_apart(path: Path) -> None:
    """What is written beside each variant is what the reference says of it."""
    for exercise in read_exercises(path).exercises:
        if "tests" in exercise.names and exercise.solution:
            names: dict[str, Any] = {"np": np}
            exec(planting.IMPORTS + exercise.solution.text, names)
            said = verify(names["tests"], [each.text for each in exercise.variants], np.random.default_rng(3))
            wrong = [
                each.says
                for each, verdict in zip(exercise.variants, said.values(), strict=True)
                if each.is_right != (verdict == "accepted")
            ]
            assert wrong == [], exercise.name
