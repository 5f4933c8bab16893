"""The part under test is nowhere in the packages that an exercise can import."""

import ast
import itertools
import marshal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import nbformat
import pytest

from course.files import CODE, DATA, Course
from course.grading import locate
from course.grading.packages import SHARED, Kits, _left_out
from course.notebooks.notebook import OURS, tasks
from course.source import parts

SOURCE = '''
import functools

def recorded(function):
    @functools.wraps(function)
    def run(*arguments):
        return function(*arguments)
    return run

@recorded
def area(side,
         factor=1):
    """Its docstring."""
    # the secret of area
    return side * side * factor

class Shape:
    @property
    def half(self): return "the secret of half"

    @staticmethod
    @recorded
    def corners():
        inner = lambda: "the secret of corners"
        return inner()

double, triple = lambda x: 2 * x, lambda x: 3 * x
TABLE = {"other": area, "double": double}
LIMIT = 7
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "shapes").mkdir()
    (tmp_path / "shapes" / "__init__.py").write_text("from shapes.core import area, TABLE\n")
    (tmp_path / "shapes" / "core.py").write_text(SOURCE)
    return tmp_path


def stripped(package: Path, target: str) -> str:
    places = locate.locate_all([target], [str(CODE), str(package)])[target]
    assert {file for file, _ in places} <= {str(package / "shapes" / "core.py")}
    return locate.without(SOURCE, [line for _, line in places], target)


def raised(text: str, call: str) -> str:
    done = subprocess.run([sys.executable, "-c", f"{text}\nprint({call})"], capture_output=True, text=True, check=False)
    return done.stdout + (done.stderr.splitlines() or [""])[-1]


CALLS = {"area(2)": "4", "Shape().half": "the secret of half", "Shape.corners()": "the secret of corners"}


@pytest.mark.parametrize(
    ("target", "call"),
    [
        ("shapes.core:area", "area(2)"),
        ("shapes:area", "area(2)"),
        ("shapes:TABLE.other", "area(2)"),
        ("shapes.core:Shape.half", "Shape().half"),
        ("shapes.core:Shape.corners", "Shape.corners()"),
        ("shapes:TABLE.double", "double(1)"),
    ],
)
def test_the_functions_of_a_part_only_raise_wherever_it_is_found(package: Path, target: str, call: str) -> None:
    text = stripped(package, target)
    assert raised(text, call) == f"RuntimeError: {target} is yours to write: it is not in this package"
    assert len(text.splitlines()) == len(SOURCE.splitlines())  # lines below the part stay where they are
    assert all(raised(text, other) == f"{value}\n" for other, value in CALLS.items() if other != call)


def test_a_value_has_no_functions_and_one_that_cannot_be_found_is_an_error(package: Path) -> None:
    assert stripped(package, "shapes.core:LIMIT") == SOURCE
    with pytest.raises(LookupError, match="AttributeError"):
        stripped(package, "shapes.core:volume")
    (package / "shapes" / "__init__.py").write_text("")
    (package / "shapes" / "core.py").write_text("def make():\n    def inner(): ...\n    return inner\nmade = make()\n")
    with pytest.raises(LookupError, match="no text of it was found"):
        stripped(package, "shapes.core:made")


@pytest.mark.turns(8)
def test_a_part_is_taken_out_of_the_courses_own_package(package: Path) -> None:
    """In a course that isn't the one whose code runs, `minitorch` is its own, wherever this process would find it."""
    (package / "minitorch").mkdir()
    (package / "minitorch" / "__init__.py").touch()
    (package / "minitorch" / "core.py").write_text(SOURCE)
    about = {"role": "task", "exercise": "area", "kind": "build", "names": ["area"], "replaces": "minitorch.core:area"}
    cell = nbformat.v4.new_markdown_cell(metadata={OURS: about})
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={OURS: {"chapter": "01_x"}})
    made = Kits(package / "kits" / "01_x", Course(package), notebook).packages("area") / "minitorch" / "core.py"
    assert "area is yours to write" in raised(made.read_text(), "area(2)")


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes(each)


REPLACING = [
    pytest.param(path.name, name, about["replaces"], id=name)
    for path in sorted((CODE / "solutions").glob("*.ipynb"))
    for name, about in tasks(nbformat.read(path, as_version=4)).items()
    if about.get("replaces")
]


@pytest.mark.turns(8)
@pytest.mark.parametrize(("notebook", "exercise", "target"), REPLACING)
def test_neither_source_nor_bytecode_of_what_an_exercise_replaces_is_left(
    tmp_path: Path, notebook: str, exercise: str, target: str
) -> None:
    course = Course(CODE)
    kits = Kits(tmp_path / "kits", course, nbformat.read(course.solutions / notebook, as_version=4))
    shared = kits.packages(next(name for name, kind in kits.kinds.items() if kind.folder(name, SHARED) == SHARED))
    places = locate.locate_all([target], [str(CODE)])[target]
    assert places
    for (file, line), (following, end) in itertools.pairwise([*places, ("", 0)]):
        copied = kits.packages(exercise) / Path(file).relative_to(CODE)
        before, after = Path(file).read_text().splitlines(), copied.read_text().splitlines()
        changed = [number for number, pair in enumerate(zip(before, after, strict=True), 1) if pair[0] != pair[1]]
        own = [number for number in changed if line < number and (following != file or number < end)]
        assert own and any("is yours to write" in after[number - 1] for number in own)
        assert min(changed) > min(start for each, start in places if each == file)
        (compiled,) = (copied.parent / "__pycache__").glob(f"{copied.stem}.*.pyc")
        (code,) = [each for each in codes(marshal.loads(compiled.read_bytes()[16:])) if each.co_firstlineno == line][:1]
        assert set(code.co_names) == {"RuntimeError"}
        assert (shared / Path(file).relative_to(CODE)).read_text() == Path(file).read_text()


def test_a_part_of_mytorch_raises_for_its_exercise_and_is_there_for_the_others(
    core_course: Course, tmp_path: Path
) -> None:
    kits = Kits(tmp_path / "kits", core_course, nbformat.read(core_course.solutions / "06_core.ipynb", as_version=4))
    own, other = kits.own("core_strides"), kits.own("core_tensor")
    assert own is not None and other is not None and kits.own("measure_offset") is None
    assert "the secret of the reference" not in own["strides.py"] and "raise NotImplementedError" in own["strides.py"]
    assert own["tensor.py"] != other["tensor.py"] and "the secret of the reference" in other["strides.py"]
    assert "the secret of the reference" not in kits.shared("core_tensor")["strides.py"]
    assert sorted(path.name for path in kits.packages("core_tensor").iterdir()) == ["course", "minitorch"]


def test_the_arrays_of_gpus_hold_no_part_of_mytorch(core_course: Course, tmp_path: Path) -> None:
    kits = Kits(tmp_path / "kits", core_course, nbformat.read(core_course.solutions / "06_core.ipynb", as_version=4))
    folder = kits.packages("core_tensor") / "minitorch"
    assert {path.parent.name for path in folder.rglob("*.py") if path.read_text()} == {"arrays"}
    defined = {
        node.name
        for path in folder.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }
    notebooks = [nbformat.read(path, as_version=4) for path in (CODE / "solutions").glob("*.ipynb")]
    asked = {
        parts.short(part) for each in notebooks for about in tasks(each).values() for part in about.get("parts") or []
    }
    assert "visible_devices" in asked and "ndarray" in defined
    assert not asked & defined


def test_the_answers_that_a_wheel_carries_are_not_copied() -> None:
    names = ["check.py", "data", "file.so.lock"]
    assert _left_out(str(DATA.parent), names) == {"data", "file.so.lock"}
    assert _left_out(str(CODE / "minitorch" / "utils"), names) == {"file.so.lock"}
