"""What a chapter's source may not do, and where the message points."""

import re
from pathlib import Path

import pytest

from course.source.cells import cut, defined, free, replacement_name, solved
from course.source.exercises import SourceError, read_exercises

GOOD = """# %% setup=true
import math

from course import check

# %% [markdown] exercise="area" kind="build" points=2 replaces="shapes:area"
# ### The area

# %% solution="area"
def area(radius):
    ### BEGIN SOLUTION
    return math.pi * radius**2
    ### END SOLUTION

# %% check="area"
check.show({"area": area(2)})

# %% [markdown] hint="area"
# One.

# %% [markdown] hint="area"
# Two.

# %% [markdown] hint="area"
# Three.

# %% mutant="area"
# Circumference
# That is the length of the rim.
def area(radius):
    return 2 * math.pi * radius

# %% mutant="area"
# Forgets to square
# The radius is squared.
def area(radius):
    return math.pi * radius

# %% mutant="area"
# Delegates to the package
# This is not your own.
def area(radius):
    return shapes.area(radius)
"""

CHECK = 'check.show({"area": area(2)})'
HINT = '# %% [markdown] hint="area"\n# One.\n'
MUTANT = "# Circumference\n# That is the length of the rim.\n"
SOLUTION = "    ### BEGIN SOLUTION\n    return math.pi * radius**2\n    ### END SOLUTION"
END = "    ### END SOLUTION\n"


def source_of(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "01_shapes" / "exercises.py"
    path.parent.mkdir()
    path.write_text(text)
    return path


def test_an_exercise_is_read(tmp_path: Path) -> None:
    (exercise,) = read_exercises(source_of(tmp_path, GOOD)).exercises
    assert (exercise.name, exercise.kind.name, exercise.points, exercise.kind.replaces) == (
        "area",
        "build",
        2,
        "shapes:area",
    )
    assert exercise.hints == ["One.", "Two.", "Three."]
    assert exercise.names == ["area"]
    assert [(mutant.name, mutant.says) for mutant in exercise.mutants] == [
        ("Circumference", "That is the length of the rim."),
        ("Forgets to square", "The radius is squared."),
        ("Delegates to the package", "This is not your own."),
    ]
    assert exercise.mutants[0].text == "def area(radius):\n    return 2 * math.pi * radius"


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        (" points=2", "", 6, "needs points="),
        ("points=2", 'points="two"', 6, "needs points="),
        ("points=2", "points=0", 6, "needs points="),
        ('kind="build"', 'kind="essay"', 6, "needs kind= one of predict, core, build, repair, measure"),
        ('exercise="area"', 'exercise="Area"', 6, "lower case words"),
        ("shapes:area", "shapes.area", 6, "spelled MODULE:ATTRIBUTE"),
        ("shapes:area", "shapes:volume", 9, "uses no solution of such a name"),
        ("# %% [markdown] exercise", "# %% exercise", 6, "opens with a [markdown] cell"),
        ("points=2 ", "points=2 point=3 ", 6, "unknown cell metadata: point"),
        ('# %% check="area"', "# %%", 6, "has no check cell"),
        ('# %% solution="area"', "# %%", 6, "has no solution cell"),
        ('# %% check="area"', '# %% check="volume"', 15, "no exercise of that name stands before it"),
        ('# %% check="area"', '# %% check="area" hint="area"', 15, "a cell has one role"),
        (HINT, "", 6, "has 2 hints"),
        (HINT, HINT.replace(" [markdown]", ""), 18, "a hint is a [markdown] cell"),
        (MUTANT, "# Circumference\n", 27, "starts with a comment line that names it"),
        ("# Delegates to", "# Asks", 6, "one mutant 'Delegates...' calls the original"),
        (END, "", 9, "1 BEGIN SOLUTION but 0 END SOLUTION"),
        (END, END + "    ### BEGIN STUB\n    # r\n    #   1\n    ### END STUB\n", 9, "its stub: unexpected indent"),
        (SOLUTION, "    return 1", 9, "no ### BEGIN SOLUTION"),
        (END, END + "    ### BEGIN STUB\n    # return 1\n", 9, "1 BEGIN STUB but 0 END STUB"),
        (CHECK, "area(2)", 15, "calls check.show once, not 0 times"),
        (CHECK, "check.show(area(1)); check.show(area(2))", 15, "calls check.show once, not 2 times"),
        (CHECK, "check.show(1)", 15, "uses nothing that the solution of 'area' defines"),
        (CHECK, "check.show(area(side))", 15, "uses side, which neither a setup cell nor the exercise"),
        (CHECK, f"math = 3\n{CHECK}", 15, "the check of 'area' defines math, which a setup cell defines"),
        (CHECK, "check.show(area(2)", 15, "was never closed"),
        ("return math.pi * radius**2", "return numpy.pi * radius**2", 9, "the solution of 'area' uses numpy"),
        ("import math\n", "import math\n\nmath.tau = turn\n", 1, "setup uses turn"),
        ("check.show({", "# NBVAL_SKIP\ncheck.show({", 15, "NBVAL_SKIP is not allowed"),
        ("# %% setup=true", "import os\n# %% setup=true", 1, "text stands before the first cell"),
    ],
)
def test_a_broken_rule_is_reported_with_file_and_line(
    tmp_path: Path, old: str, new: str, line: int, message: str
) -> None:
    assert old in GOOD
    path = source_of(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(SourceError, match=re.escape(message)) as raised:
        read_exercises(path)
    assert str(raised.value).startswith(f"{path}:{line}: ")


def test_too_few_mutants_and_a_second_exercise_of_the_name(tmp_path: Path) -> None:
    path = source_of(tmp_path, GOOD[: GOOD.index('# %% mutant="area"\n# Forgets')])
    with pytest.raises(SourceError, match=r":6: exercise 'area' has 1 mutants; it needs 2 or more"):
        read_exercises(path)
    path.write_text(GOOD + GOOD[GOOD.index("# %% [markdown] exercise") :])
    with pytest.raises(SourceError, match=rf":{GOOD.count(chr(10)) + 1}: duplicate exercise 'area'"):
        read_exercises(path)


def test_a_solution_is_cut_out_at_its_own_indentation() -> None:
    text = "def f(x):\n    ### BEGIN SOLUTION\n    y = x\n    return y\n    ### END SOLUTION\n\nclass A:\n    b = 1"
    assert cut(text) == "def f(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()\n\nclass A:\n    b = 1"


def test_a_stub_takes_the_solutions_place_and_never_runs_in_the_reference() -> None:
    text = (
        "def f(x):\n    ### BEGIN SOLUTION\n    return x\n    ### END SOLUTION\n"
        "    ### BEGIN STUB\n    # y = x  # a copy?\n    # return y\n    ### END STUB"
    )
    assert cut(text) == "def f(x):\n    y = x  # a copy?\n    return y"
    assert solved(text) == "def f(x):\n    ### BEGIN SOLUTION\n    return x\n    ### END SOLUTION"


def test_names() -> None:
    text = "import os.path as p, sys\nfrom a import b\nx, *y = z = 1\ndef f(q): return w\nclass C: v = 2\n"
    text += "with o as u: t = [i for i in q]\n%magic k\n"
    assert defined(text) == {"p", "sys", "b", "x", "y", "z", "f", "C", "u", "t"}
    assert free("lambda a: a + b\n[c for c in range(d)]\ntry: pass\nexcept E as e: print(e)") == {"b", "d", "E"}
    assert replacement_name("m.n:OPS.mul.kernel", ["mul", "helper"]) == "mul"
    assert replacement_name("m.n:f", ["g"]) == ""
