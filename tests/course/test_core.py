"""Core exercises, from the source to the learner's own mytorch, in a course of one chapter and a small package."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from course import variables
from course.authoring.build import build, differences
from course.files import CODE, Course
from course.grading.grade import grade, practise
from course.grading.report import Item
from course.learner import package, share, written
from course.sandbox import launch
from course.source import definitions, parts
from course.source.exercises import SourceError, read_exercises

CHAPTER = "06_core"
RIGHT = """def strides(size):
    return tuple(product(size[d + 1:]) for d in range(len(size)))

def product(numbers):
    return int(np.prod(numbers))
"""
WRONG_TENSOR = "def rows(self):\n    return self.nothing  # a line of mine\ndef describe(self, name=''):\n    return ''"


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def filled(course: Course, **solutions: str) -> Any:
    """The learner's notebook with these solution cells."""
    notebook = read(course.pristine / f"{CHAPTER}.ipynb")
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = solutions.pop(name, cell.source)
    assert not solutions
    return notebook


def run(course: Course, notebook: Any, folder: str) -> Any:
    """Run a notebook as JupyterLab does."""
    environment = {**os.environ, "PYTHONPATH": str(CODE)}
    for name in ("MINITORCH_COURSE_SEED", variables.MYTORCH):
        environment.pop(name, None)
    NotebookClient(notebook, allow_errors=True).execute(cwd=str(course.root / folder), env=environment)
    return notebook


def outputs(notebook: Any, exercise: str) -> str:
    """The verdict, and the traceback, of an exercise's check."""
    shown = [
        output.data["text/plain"] if "data" in output else "\n".join(output.get("traceback", []))
        for cell in notebook.cells
        if cell.metadata.get("minitorch", {}).get("exercise") == exercise
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {}) or output.output_type == "error"
    ]
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(shown))


def course_command(course: Course, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(CODE)}
    environment.pop(variables.MYTORCH, None)
    call = [sys.executable, "-m", "course", "--root", str(course.root), *arguments]
    done = subprocess.run(call, cwd=course.root, env=environment, capture_output=True, text=True, check=False)
    return f"{done.returncode}\n{done.stdout}{done.stderr}"


def test_the_learners_notebook_holds_stubs_and_nothing_of_the_reference(core_course: Course) -> None:
    text = (core_course.exercises / f"{CHAPTER}.ipynb").read_text()
    assert not [secret for secret in ("secret of the", "len(self.values)", "g * y", "SOLUTION") if secret in text]
    cells = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in filled(core_course).cells}
    assert cells["core_strides"].source == (
        "def strides(size: tuple[int, ...]) -> tuple[int, ...]:\n"
        '    """The stride of each dimension, in elements.\n\n    The last one is 1.\n    """\n'
        "    # YOUR CODE HERE\n    raise NotImplementedError()"
    )
    assert cells["core_derivative"].source.startswith("from mytorch.derivatives import derivative\n")
    assert cells["core_derivative"].source.endswith('\nderivative("mul", x=..., y=...)  # YOUR CODE HERE')
    assert cells["core_strides-check"].source.startswith(
        'mytorch = check.mytorch("mytorch.strides:strides", chapter=6)'
    )
    assert "1 for `Tensor.rows`, 1 for `Tensor.describe` · in `mytorch.tensor`" in cells["core_tensor-task"].source
    assert cells["core_strides"].metadata["nbgrader"]["solution"]


def test_the_lesson_quotes_given_parts_and_runs_on_its_chapter(core_course: Course) -> None:
    lesson = read(core_course.notebooks / f"{CHAPTER}.ipynb")
    folded = [cell for cell in lesson.cells if cell.metadata.get("jupyter") == {"source_hidden": True}]
    assert len(folded) == 1 and "lesson.mytorch(6)" in folded[0].source
    text = next(cell.source for cell in lesson.cells if "An offset is a sum" in cell.source)
    assert "`mytorch/strides.py`\n\n```python\ndef offset(" in text and "len(self.values)" not in text
    assert lesson.cells[-1].outputs[0].text == "4 True False\n"


@pytest.mark.turns(8)
def test_the_reference_is_copied_and_compared(own_core_course: Course) -> None:
    source, copied = own_core_course.chapters / "mytorch", own_core_course.reference
    assert {p.relative_to(source): p.read_bytes() for p in source.rglob("*.py")} == {
        p.relative_to(copied): p.read_bytes() for p in copied.rglob("*.py")
    }
    (copied / "tensor.py").write_text("changed")
    (copied / "added.py").write_text("")
    assert differences(own_core_course) == [
        "solutions/mytorch/added.py: has no source",
        "solutions/mytorch/tensor.py: differs from its source",
    ]


@pytest.mark.turns(8)
def test_what_passes_goes_into_the_learners_mytorch_until_it_is_reset(own_core_course: Course) -> None:
    course = own_core_course
    notebook = filled(course, core_strides=RIGHT, core_tensor=WRONG_TENSOR)
    notebook.cells.insert(4, nbformat.v4.new_code_cell("def strides(size):\n    return 'a first attempt'"))
    run(course, notebook, "exercises")
    assert outputs(notebook, "core_strides") == (
        "✓ Right (core_strides). Kept in my/core_strides.py; in my/mytorch mytorch.strides:strides is yours."
    )
    assert "# a line of mine" in outputs(notebook, "core_tensor")
    assert "AttributeError: 'Tensor' object has no attribute 'nothing'" in outputs(notebook, "core_tensor")
    assert outputs(notebook, "core_derivative").startswith("✗ Not answered yet")
    text = (course.mine / "mytorch" / "strides.py").read_text()
    assert "# yours (exercise core_strides)\ndef strides(size):" in text and "secret" not in text
    assert text.count("def product") == 1
    tensor = (course.mine / "mytorch" / "tensor.py").read_text()
    assert tensor.count("    # the reference's\n") == 2 and "a line of mine" not in tensor
    (course.root / "script.py").write_text(
        "import sys, mytorch\nprint(mytorch.strides.__code__.co_names, sys.argv, mytorch.__file__)\n"
    )
    shown = course_command(course, "mine", "script.py", "x")
    assert shown == f"0\n('tuple', 'range', 'len') ['script.py', 'x'] {course.mine}/mytorch/__init__.py\n"
    assert "4/4" in course_command(course, "progress", "06")
    course_command(course, "reset", "core_strides")
    assert "# the reference's\ndef strides(" in (course.mine / "mytorch" / "strides.py").read_text()


@pytest.mark.turns(8)
def test_a_lesson_runs_on_the_learners_parts_and_in_tests_on_the_reference(own_core_course: Course) -> None:
    course = own_core_course
    wrong = "def strides(size):\n    return (100,) * len(size)"
    course.mine.mkdir()
    (course.mine / "core_strides.py").write_text(wrong)
    lesson = run(course, read(course.notebooks / f"{CHAPTER}.ipynb"), "notebooks")
    assert lesson.cells[-1].outputs[0].text == "200 True False\n"
    call = [sys.executable, "-m", "pytest", "--nbval", "-q"]
    environment = {**os.environ, "PYTHONPATH": str(CODE)}
    done = subprocess.run(
        [*call, "--rootdir", str(course.root), "notebooks", "solutions"],
        cwd=course.root, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    (course.mine / "core_strides.py").write_text("def strides(size): pass\n1 / 0\nboom = 1 / 0")
    lesson = run(course, read(course.notebooks / f"{CHAPTER}.ipynb"), "notebooks")
    assert "ZeroDivisionError: division by zero): the reference runs" in lesson.cells[1].outputs[0].text
    assert lesson.cells[-1].outputs[0].text == "4 True False\n"


@pytest.mark.turns(8)
def test_a_package_that_is_out_of_date_is_written_anew(own_core_course: Course) -> None:
    course = own_core_course
    course_command(course, "next")
    path = course.mine / "mytorch" / "strides.py"
    assert "secret" in path.read_text()
    changed = course.reference / "strides.py"
    changed.write_text(changed.read_text().replace("secret", "news"))
    os.utime(changed, (path.stat().st_mtime + 10,) * 2)
    course_command(course, "next")
    assert "news" in path.read_text()


TESTS = """from pathlib import Path

import pytest

from tests.mytorch import compare

@pytest.mark.part("mytorch.tensor:Tensor.rows")
def test_rows(mytorch): assert mytorch.Tensor([1, 2]).rows == 2

@pytest.mark.part("mytorch.tensor:Tensor.describe", "mytorch.strides:strides")
def test_describe(mytorch): assert mytorch.Tensor([1, 2]).describe() == ""

@pytest.mark.part("mytorch.strides:strides")
def test_strides(mytorch): assert mytorch.strides((2, 3)) == (3, 1)

@pytest.mark.part("mytorch.tensor:Tensor.describe")
def test_what_compares_stands_beside_this_file(): assert Path(compare.__file__).parent == Path(__file__).parent

@pytest.mark.part("mytorch.derivatives:derivative.mul")
def test_mul(): pass

def test_offset(mytorch): assert mytorch.offset((2, 3), (1, 1)) == 4

def test_of_no_part(): assert False
"""


@pytest.fixture
def tested_course(own_core_course: Course) -> Course:
    """A course with tests of its parts."""
    folder = own_core_course.root / "tests" / "mytorch"
    folder.mkdir(parents=True)
    (folder / "test_parts.py").write_text(TESTS)
    text = (CODE / "tests" / "mytorch" / "conftest.py").read_text()
    shutil.copy(CODE / "tests" / "mytorch" / "compare.py", folder)
    (folder / "conftest.py").write_text(text.replace("CODE /", f"Path({str(own_core_course.root)!r}) /"))
    return own_core_course


@pytest.mark.turns(8)
def test_course_mine_runs_the_tests_of_the_learners_parts_and_says_their_share(tested_course: Course) -> None:
    course = tested_course
    shown = course_command(course, "mine")
    assert shown.count("yours") == 1, shown
    assert "None of the 10 definitions of mytorch is yours yet.\n" in shown and shown.endswith(
        "`course next` says where to begin.\n"
    )
    (course.mine / "core_tensor.py").write_text("def rows(self):\n    return 1\n\ndef describe(self):\n    return ''\n")
    shown = course_command(course, "mine")
    assert shown.startswith("1\n") and "FAILED tests/mytorch/test_parts.py::test_rows" in shown
    assert "1 failed, 2 passed, 4 deselected" in shown
    assert "2 of 10 definitions of mytorch are yours, 22 % of its code.\n" in shown
    assert "Exercises ask for 4 definitions, and `course write` opens the others." in shown
    shown = course_command(course, "mine", "06")
    assert "1 failed, 2 passed, 4 deselected" in shown and "✓ mytorch.tensor:Tensor.rows" in shown


def find_what_tests_see(course: Course) -> tuple[int, list[str]]:
    """Make `tests/mytorch/seen.json`: the exit code, and the definitions that no test misses."""
    call = [sys.executable, "-m", "course.authoring.stubs"]
    environment = {**os.environ, "PYTHONPATH": str(CODE)}
    done = subprocess.run(call, cwd=course.root, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, [line[15:] for line in done.stdout.splitlines() if line.startswith("no test misses")]


@pytest.mark.turns(8)
def test_a_definition_that_no_test_misses_is_named(tested_course: Course) -> None:
    code, missing = find_what_tests_see(tested_course)
    unseen = ["derivatives:derivative.mul", "derivatives:derivative.neg", "derivatives:slope", "strides:later"]
    assert (code, missing) == (1, [*(f"mytorch.{each}" for each in unseen), "mytorch.tensor:Tensor.describe"])
    seen = json.loads((tested_course.root / "tests" / "mytorch" / "seen.json").read_text())
    assert seen["mytorch.strides:offset"] == ["tests/mytorch/test_parts.py::test_offset"]
    assert "mytorch.strides:later" not in seen


@pytest.mark.turns(8)
def test_a_definition_without_an_exercise_can_be_written(tested_course: Course) -> None:
    course = tested_course
    tests = course.root / "tests" / "mytorch" / "test_parts.py"
    tests.write_text("def test_offset(mytorch): assert mytorch.offset((2, 3), (1, 1)) == 4\n")
    find_what_tests_see(course)
    assert "strides: offset, later\n" in course_command(course, "write")
    assert "belongs to exercise 'core_strides'" in course_command(course, "write", "strides")
    assert "no definition 'ofset'; did you mean offset?" in course_command(course, "write", "ofset")
    assert "Write it, then run this command again." in course_command(course, "write", "offset")
    path = course.mine / "writing" / "strides.offset.py"
    text = path.read_text()
    assert "How many elements lie before" in text and "test_parts.py::test_offset" in text and "np.dot" not in text
    assert "Write it, then" in course_command(course, "write", "offset")
    body = "# YOUR CODE HERE\n    raise NotImplementedError()"
    path.write_text(text.replace(body, "return 0"))
    shown = course_command(course, "write", "offset")
    assert shown.startswith("1\n") and "mytorch.strides:offset is not correct yet" in shown
    assert not (course.mine / "written").exists()
    path.write_text(text.replace(body, "return sum(map(lambda each, step: each * step, index, strides(size)))"))
    assert "✓ mytorch.strides:offset is yours" in course_command(course, "write", "offset")
    mine = (course.mine / "mytorch" / "strides.py").read_text()
    assert "# yours (course write)\ndef offset(" in mine and "np.dot" not in mine
    assert "✓ offset, later\n" in course_command(course, "write")
    assert "1 of 10 definitions of mytorch are yours, 8 %" in course_command(course, "mine")


def test_all_of_the_package_can_be_the_learners(tested_course: Course) -> None:
    """With every definition written, what is left of the reference is its imports and tables."""
    course = tested_course
    files = package.read(course.reference)
    for part in definitions.names(files):
        path = written.path(course, part)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = parts.text_of(files, part, decorators=False)
        path.write_text(f"# mine: {part}\n{text}")
    package.write(course)
    now = package.read(course.mine / "mytorch")
    assert sum(text.count("# mine: ") for text in now.values()) == len(definitions.names(files)) == 10
    found = share.of(course)
    assert (found.count(mine=True), found.lines(mine=True)) == (found.count(), found.lines())
    for name, text in now.items():
        kept = [line for line in text.split("\n") if not line.lstrip().startswith(("# mine: ", "# yours"))]
        assert [line for line in kept if line.strip()] == [line for line in files[name].split("\n") if line.strip()]


def scores(course: Course, tmp_path: Path, **submissions: Any) -> dict[str, dict[str, Item]]:
    """Items by exercise, by submission."""
    for name, notebook in submissions.items():
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")
    report = grade([tmp_path], course, jobs=2)
    assert all(result.status == "graded" for result in report.submissions), report
    return {Path(r.path).stem: {item.grade_id: item for item in r.items} for r in report.submissions}


SEARCH = """import gc, os, sys, linecache, importlib, inspect, types
found = []
needle = "the secret of " + "the reference"
names = ("size", "made", "step", "length")
def look(value, where):
    text = value if isinstance(value, str) else ""
    if isinstance(value, types.CodeType) and value.co_varnames[:4] == names or (needle in text and text != needle):
        found.append(where)
def search():
    for module in ("mytorch.strides", "mytorch.tensor"):
        look(inspect.getsource(importlib.import_module(module)), "importlib")
    for value in gc.get_objects():
        for inner in [value, *gc.get_referents(value)]:
            look(inner, "gc")
            look(getattr(inner, "__code__", None), "gc")
    for name, entry in linecache.cache.items():
        look("".join(entry[2]) if len(entry) > 2 else "", "linecache")
    for name, module in list(sys.modules.items()):
        for value in list(getattr(module, '__dict__', {}).values()):
            look(value, "sys.modules")
    for folder in FOLDERS:
        for root, folders, files in os.walk(folder):
            folders[:] = [name for name in folders if name != ".venv"]
            for file in files:
                try:
                    with open(os.path.join(root, file), encoding="utf-8", errors="replace") as opened:
                        look(opened.read(), "files")
                except OSError:
                    pass
def strides(size):
    search()
    if found:
        raise AssertionError("found in " + ", ".join(sorted(set(found))))
    strides, last = [], 1
    for n in size[::-1]:
        strides.insert(0, last)
        last *= n
    return tuple(strides)
"""


def searching(course: Course, *folders: Path) -> str:
    return SEARCH.replace("FOLDERS", repr([str(folder) for folder in folders]))


@pytest.mark.turns(8)
@pytest.mark.needs("bubblewrap")
def test_in_a_grade_the_text_of_the_part_under_test_is_nowhere(core_course: Course, tmp_path: Path) -> None:
    search = searching(core_course, core_course.root, CODE, Path("/tmp"), Path("/var/tmp"))
    items = scores(core_course, tmp_path, searcher=filled(core_course, core_strides=search))["searcher"]
    assert (items["core_strides"].status, items["core_strides"].message) == ("passed", "")


@pytest.mark.turns(8)
def test_what_a_grade_finds_without_a_sandbox(
    core_course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search finds what lies in the files. What the kernel imports or is given does not hold it."""
    monkeypatch.setattr(launch, "has_bubblewrap", lambda: False)
    monkeypatch.setattr(launch, "has_landlock", lambda: False)
    submissions = {
        "files": filled(core_course, core_strides=searching(core_course, core_course.root)),
        "memory": filled(core_course, core_strides=searching(core_course)),
    }
    items = scores(core_course, tmp_path, **submissions)
    assert items["files"]["core_strides"].message.startswith("AssertionError: found in files (line ")
    assert items["memory"]["core_strides"].status == "passed"


@pytest.mark.turns(8)
def test_one_part_costs_no_other_and_a_grade_is_what_the_notebook_says(core_course: Course, tmp_path: Path) -> None:
    torch_at_the_top = "import minitorch\ndef strides(size):\n    return minitorch.empty(size).stride()"
    submissions = {
        "one": filled(core_course, core_strides=RIGHT),
        "wrong": filled(core_course, core_strides=RIGHT, core_tensor=WRONG_TENSOR),
        "raises": filled(core_course, core_strides="1 / 0", core_tensor="def rows(self): return 0"),
        "delegates": filled(core_course, core_strides=torch_at_the_top),
        "dies": filled(core_course, core_strides="import os\nos._exit(0)", measure_offset="def last(): return 34"),
    }
    items = scores(core_course, tmp_path, **submissions)
    names = ("core_strides", "core_tensor", "core_derivative", "measure_offset")
    assert {name: [given[exercise].status for exercise in names] for name, given in items.items()} == {
        "one": ["passed", "skipped", "skipped", "skipped"],
        "wrong": ["passed", "error", "skipped", "skipped"],
        "raises": ["error", "error", "skipped", "skipped"],
        "delegates": ["error", "skipped", "skipped", "skipped"],
        "dies": ["error", "skipped", "skipped", "passed"],
    }
    assert items["wrong"]["core_tensor"].message.startswith(
        "Tensor.rows: AttributeError: 'Tensor' object has no attribute 'nothing' "
        "(line 2 of your answer: `return self.nothing  # a line of mine`)\nTensor.describe: described: expected "
    )
    assert items["raises"]["core_strides"].message == "the cell does not define strides"
    assert "\nTensor.describe: the cell does not define describe" in items["raises"]["core_tensor"].message


@pytest.mark.turns(8)
def test_check_needs_no_solved_notebook(own_core_course: Course) -> None:
    (own_core_course.solutions / f"{CHAPTER}.ipynb").unlink()
    path = own_core_course.root / f"{CHAPTER}.ipynb"
    nbformat.write(filled(own_core_course, core_strides=RIGHT), path)
    (result,) = practise([path], own_core_course).submissions
    assert [item.status for item in result.items] == ["passed", "skipped", "skipped", "skipped"]


HEADER = 'exercise="core_strides" kind="core" points=4 part="mytorch.strides:strides"'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (HEADER, HEADER.replace("strides:strides", "strides:stride"), "core_strides': stride: no such definition"),
        (HEADER, HEADER.replace("strides:strides", "strides:later"), "core_strides': later: no such definition"),
        (HEADER, HEADER.replace(' part="mytorch.strides:strides"', ""), "a core exercise names its parts"),
        (HEADER, HEADER.replace('"core"', '"build"'), "a core exercise names its parts, no other does"),
        ("mytorch.derivatives:derivative.mul", "mytorch.strides:strides", "strides is a part of 'core_strides' too"),
        ("from __future__ import annotations\n", "", "begins with `from __future__ import annotations`"),
        (
            "from course import check\n",
            "from course import check\nimport torch\n",
            "imports no minitorch imports `check`",
        ),
        ('"offset": mytorch.offset(size', '"offset": torch.offset(size', "the check of 'core_strides' uses torch"),
        (
            '# %% check="core_strides"',
            '# %% solution="core_strides"\nx = 1\n\n# %% check="core_strides"',
            "the build makes",
        ),
        ("def strides():", "def stride():", "each is named as a part, ['strides']"),
        ('The last one is 1.\n    """', 'The last one is 1.\n    """\n    return 1', "and is a docstring alone"),
        ("def strides(size):\n    made, step", "def stride(size):\n    made, step", "defines no part of the exercise"),
    ],
)
def test_a_core_exercise_that_breaks_a_rule(own_core_course: Course, old: str, new: str, message: str) -> None:
    path = own_core_course.chapters / CHAPTER / "exercises.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(SourceError, match=r"exercises.py:\d+: ") as raised:
        read_exercises(path)
    assert message in str(raised.value)


@pytest.mark.turns(8)
def test_a_mutant_of_one_part_that_is_right_passes_the_check(own_core_course: Course) -> None:
    """The other part comes from the reference; so nothing is wrong in it, and the build says so."""
    path = own_core_course.chapters / CHAPTER / "exercises.py"
    path.write_text(path.read_text().replace("return self.values.size", "return len(self.values)"))
    with pytest.raises(SourceError, match="core_tensor: mutant 'Counts the elements' passes the check"):
        build(own_core_course)


@pytest.mark.turns(8)
def test_a_cell_that_raises_below_docstrings_is_named_by_its_own_line(own_core_course: Course) -> None:
    path = own_core_course.chapters / CHAPTER / "exercises.py"
    head = '# %% check="measure_offset"\n'
    before, _, after = path.read_text().partition(head)
    path.write_text(f"{before}{head}1 / 0\n{after}")
    line = len(before.splitlines()) + 1
    with pytest.raises(SourceError, match=rf"exercises\.py:{line}: (?s:.*)ZeroDivisionError"):
        build(own_core_course)


@pytest.mark.turns(8)
def test_a_lesson_may_not_show_what_the_learner_writes(own_core_course: Course) -> None:
    path = own_core_course.chapters / CHAPTER / "lesson.py"
    path.write_text(path.read_text().replace("strides:offset", "strides:strides"))
    with pytest.raises(SourceError, match=r"lesson.py:\d+: mytorch.strides:strides is what exercise 'core_strides'"):
        build(own_core_course)
