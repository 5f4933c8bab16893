"""Parts of a package: taken out, put in, as of a chapter, loaded from memory."""

import inspect
import linecache
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from course.source import core_exercises, parts
from course.source.assemble import as_of, assemble, load, read
from course.source.cells import cut, solved

FILES = read(Path(__file__).parent / "fixtures_core" / "chapters" / "mytorch")
ROWS, DESCRIBE, MUL = (
    "mytorch.tensor:Tensor.rows",
    "mytorch.tensor:Tensor.describe",
    "mytorch.derivatives:derivative.mul",
)
STRIDES = "mytorch.strides:strides"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test loads is gone after it."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "mytorch"]:
        del sys.modules[name]


def with_mine(part: str, cell: str) -> Any:
    return load(assemble(FILES, 6, {part: cell}))


@pytest.mark.parametrize("decorators", [True, False])
def test_every_part_swapped_for_itself_gives_the_text_back(decorators: bool) -> None:
    names = parts.names(FILES)
    assert {ROWS, DESCRIBE, MUL, STRIDES, "mytorch.strides:STEP", "mytorch.nn.module:Module"} <= set(names)
    for part in [*names, "mytorch.tensor:Tensor"]:
        assert assemble(FILES, None, {part: parts.text_of(FILES, part, decorators)}) == FILES, part


def test_the_solution_of_every_part_can_be_put_back_and_its_stub_raises() -> None:
    for part in parts.names(FILES):
        cell = core_exercises.solution(FILES, [part], set())
        assert load(assemble(FILES, None, {part: solved(cell)})).strides((2, 3)) == (3, 1)
        assert "YOUR CODE HERE" in cut(cell) or "Module" in part
        assert "secret" not in cut(cell) and "g * y" not in cut(cell)


def test_decorators_stay_unless_the_learner_wrote_some() -> None:
    assert with_mine(ROWS, "def rows(self):\n    return 7").Tensor([1]).rows == 7
    assert with_mine(ROWS, "@staticmethod\ndef rows():\n    return 8").Tensor([1]).rows() == 8


QUIET = """# 02 · Modes
from .marks import mark, no_grad


@mark("run")
@no_grad()
def run(x):
    \"\"\"Without a history.\"\"\"
    return x
"""


@pytest.mark.parametrize(
    ("cell", "head"),
    [
        ("def run(x):\n    return 1", '@mark("run")\ndef run'),
        ("@no_grad()\ndef run(x):\n    return 1", '@mark("run")\n@no_grad()\ndef run'),
        ("@modes.no_grad\ndef run(x):\n    return 1", '@mark("run")\n@modes.no_grad\ndef run'),
        ("@mark('run')\n@cache\ndef run(x):\n    return 1", "\n@mark('run')\n@cache\ndef run"),
    ],
)
def test_a_decorator_that_changes_what_a_function_does_is_the_learners(cell: str, head: str) -> None:
    assert head in parts.swap(QUIET, cell, ["run"])
    assert parts.swap(QUIET, cell, ["run"]).count("mark(") == 1


def test_such_a_decorator_is_part_of_the_reference_and_not_of_the_stub() -> None:
    files = {"__init__.py": QUIET}
    cell = core_exercises.solution(files, ["mytorch:run"], set())
    assert "\nfrom mytorch import no_grad\n@no_grad()\n### END SOLUTION\ndef run(x):" in cell and "mark" not in cell
    assert cut(cell).startswith("def run(x):") and cut(cell).count("raise") == 1
    assert parts.swap(QUIET, solved(cell), ["run"]).count('@mark("run")\n@no_grad()\n') == 1


TWO = "# 02 · Two\ndef first(x):\n    return x\n\n\ndef second(x):\n    return first(x)\n"


SECOND = "def second(x): return 2 * first(x)"


@pytest.mark.parametrize(
    "cell",
    [
        f"import functools\ndef _impl(x): return x + 1\n{SECOND}\nfirst = functools.partial(_impl)",
        "def first(x): return x + 1\nmore = first\ndef second(x): return 2 * more(x)",
        f"import functools\ndef first(x): return x + 1\nfirst = functools.cache(first)\n{SECOND}",
        "class Add:\n    def __call__(self, x): return x + 1\n"
        "first = Add()\ndef second(x, k=first(1)): return k * first(x)",
        f"import minitorch as torch\ntorch.manual_seed(0)\ndef first(x): return x + 1\n{SECOND}",
        f"def first(x): return 0\ndef first(x): return x + 1\n{SECOND}\n"
        "tried = second(2)\nfor each in range(3):\n    print(second(each))\nassert tried == 5",
        f"TABLE = {{}}\nfor k in range(3):\n    TABLE[k] = k + 1\ndef first(x): return TABLE[x]\n{SECOND}",
    ],
)
def test_what_a_part_needs_stands_before_it(cell: str) -> None:
    package = load(assemble({"__init__.py": TWO}, 2, dict.fromkeys(["mytorch:first", "mytorch:second"], cell)))
    assert (package.first(1), package.second(1)) == (2, 4)
    text = parts.swap(TWO, cell, ["first", "second"])
    assert "minitorch" not in text and "tried" not in text and "return 0" not in text


def test_what_only_another_files_part_needs_stays_away() -> None:
    cell = "def first(x): return x\nmine = first\nfirst = lambda x: mine(x)\ndef second(x): return 1"
    assert "mine" not in parts.swap(TWO.replace("first", "one"), cell, ["second"], elsewhere=["first"])


@pytest.mark.parametrize("mine", [[ROWS], [ROWS, STRIDES]])
def test_a_part_sees_its_sibling_in_another_file(mine: list[str]) -> None:
    """Which is the learner's or the reference's."""
    cell = "def strides(size):\n    return (*size, 1)\ndef rows(self):\n    return strides((2, 3))"
    package = load(assemble(FILES, 6, dict.fromkeys(mine, cell), others={ROWS, STRIDES} - {*mine}))
    assert package.Tensor([1]).rows == package.strides((2, 3))
    local = cell.replace("return strides((2, 3))", "strides = self.strides\n    return strides")
    text = assemble(FILES, 6, {ROWS: local}, others=[STRIDES])["tensor.py"]
    assert "import strides" not in text.partition("class")[2]


def test_a_string_of_several_lines_keeps_its_text_inside_a_class() -> None:
    cell = 'def describe(self, name=""):\n    """Two\n    lines."""\n    return """a\nb"""'
    package = with_mine(DESCRIBE, cell)
    assert package.Tensor([1]).describe() == "a\nb"
    assert inspect.getsource(package.Tensor.describe) == "".join(
        [
            '    def describe(self, name=""):\n',
            '        """Two\n',
            '        lines."""\n',
            '        return """a\n',
            'b"""\n',
        ]
    )


CELL = """from __future__ import annotations
from mytorch.strides import offset
import math
from math import prod as product
%timeit 1

def after(numbers): return [int(n) for n in numbers]  # a helper

strides((2, 3))
limit = 100
def rows(self):
    return helper(self)

helper = lambda tensor: limit + math.floor(product([1.5, 2]))
print(rows)
"""


def test_helpers_come_along_in_their_order_and_trials_do_not(capsys: pytest.CaptureFixture[str]) -> None:
    package = with_mine(ROWS, CELL)
    assert package.Tensor([1]).rows == 103
    assert package.tensor.after([2.5]) == [2]
    assert capsys.readouterr().out == ""
    text = assemble(FILES, 6, {ROWS: CELL})["tensor.py"]
    assert text.index("def after") < text.index("class Tensor") < text.index("helper = lambda")


def test_an_import_from_the_package_comes_along_where_the_file_lacks_the_name_and_it_is_used() -> None:
    line = "from mytorch.strides import offset\n"
    cell = line + "def rows(self):\n    return offset((2, 3), (1, 1))"
    assert with_mine(ROWS, cell).Tensor([1]).rows == 4
    both = line + "def rows(self):\n    return 1\ndef strides(size):\n    return offset(size, size)"
    assert "from mytorch" not in assemble(FILES, 6, {ROWS: both, STRIDES: both})["tensor.py"]
    unused = line + "def rows(self) -> offset:\n    return 1\noffset((2, 3), (1, 1))"
    for text in (unused, "from mytorch.tensor import np\ndef rows(self): return np.pi"):
        assert "from mytorch" not in assemble(FILES, 6, {ROWS: text})["tensor.py"]


def test_a_cell_of_two_parts_leaves_its_helpers_once() -> None:
    cell = "TWO = 2\ndef describe(self, name='x'):\n    return name * TWO\ndef rows(self):\n    return TWO"
    text = assemble(FILES, 6, {ROWS: cell, DESCRIBE: cell})["tensor.py"]
    assert text.count("TWO = 2") == 1
    other = "def strides(size):\n    return SIZE\nSIZE = (9,)\ndef rows(self):\n    return SIZE"
    package = load(assemble(FILES, 6, {ROWS: other, STRIDES: other}))
    assert (package.strides(()), package.Tensor([1]).rows) == ((9,), (9,))
    assert "def rows" not in assemble(FILES, 6, {ROWS: other, STRIDES: other})["strides.py"]


def test_a_comment_at_the_end_of_a_body_stays_there() -> None:
    text = assemble(FILES, 6, {ROWS: "def rows(self):\n    return 1\n    # the end\n\n\n# after"})["tensor.py"]
    assert "    def rows(self):\n        return 1\n        # the end\n\n    def describe" in text
    assert text.endswith("\n\n\n# after\n")


def test_marks_stand_before_each_part() -> None:
    mine = {ROWS: "A = 1\ndef rows(self):\n    return A"}
    marks = {ROWS: "# yours", DESCRIBE: "# the reference's", STRIDES: "# the reference's"}
    files = assemble(FILES, None, mine, marks)
    assert "# yours\nA = 1\n\n\nclass Tensor" in files["tensor.py"]
    assert "    # yours\n    @property\n    def rows(self):" in files["tensor.py"]
    assert "    # the reference's\n    def describe" in files["tensor.py"]
    assert "# the reference's\ndef strides" in files["strides.py"]
    assert load(files).Tensor([1]).rows == 1


@pytest.mark.parametrize(
    ("part", "cell", "message"),
    [
        ("mytorch.nowhere:f", "def f(): pass", "there is no module mytorch.nowhere"),
        ("mytorch.strides:f", "def f(): pass", "f: no such definition"),
        ("mytorch.strides:later", "def later(): pass", "later: no such definition"),
        ("mytorch.nn.module:Module", "class Module: pass", "there is no module mytorch.nn.module"),
        (STRIDES, "def stride(size): pass", "the cell does not define strides"),
    ],
)
def test_what_cannot_be_swapped(part: str, cell: str, message: str) -> None:
    with pytest.raises(parts.PartError, match=message):
        assemble(FILES, 6, {part: cell})
    with pytest.raises(parts.PartError, match="x: defined 2 times"):
        parts.find("x = 1\nx = 2", "x")


def test_the_package_as_of_a_chapter() -> None:
    assert set(as_of(FILES, 2)) == {"__init__.py", "strides.py", "tensor.py"}
    assert set(as_of(FILES, 6)) == {*as_of(FILES, 2), "derivatives.py"}
    assert as_of(FILES, 9) == FILES
    assert "later" not in as_of(FILES, 6)["strides.py"]
    assert not hasattr(load(as_of(FILES, 2)), "slope")
    with pytest.raises(parts.PartError, match=r"a\.py: a file consists of sections"):
        as_of({"a.py": "x = 1\n"}, 6)
    with pytest.raises(parts.PartError, match=r"a\.py: a file consists of sections"):
        as_of({"a.py": "# 06 · Six\n\n# 02 · Two\n"}, 6)


def test_a_package_replaces_the_one_before_it() -> None:
    first, second = load(as_of(FILES, 9)), load(as_of(FILES, 6))
    assert sys.modules["mytorch"] is second is not first
    assert "mytorch.nn" not in sys.modules
    with pytest.raises(ImportError):
        import mytorch.nn  # type: ignore[import-not-found] # noqa: F401
    named = load(FILES, "torch_by_us")
    assert (named.Tensor.__module__, sys.modules["mytorch"]) == ("torch_by_us.tensor", second)


def test_a_package_that_raises_leaves_nothing_behind() -> None:
    with pytest.raises(ZeroDivisionError):
        load({**FILES, "tensor.py": "1 / 0"})
    assert not [name for name in sys.modules if name.partition(".")[0] == "mytorch"]
    assert not [finder for finder in sys.meta_path if getattr(finder, "name", "") == "mytorch"]


@pytest.mark.parametrize("name", ["minitorch", "torch", "minitorch.ops", "minitorch.arrays.simulated_gpus"])
def test_the_package_cannot_import_what_it_rebuilds(name: str) -> None:
    cell = f"def strides(size):\n    import {name}\n    return (1,)"
    with pytest.raises(ImportError, match="mytorch stands on NumPy alone"):
        with_mine(STRIDES, cell).strides((2,))
    assert load(assemble(FILES, 6, {STRIDES: cell}), allowed=["minitorch", "torch"])
    arrays = "def strides(size):\n    from minitorch.arrays.simulated_gpus import SimulatedGPUs\n    return (1,)"
    assert with_mine(STRIDES, arrays).strides((2,)) == (1,)
    assert with_mine(STRIDES, "def strides(size):\n    import math\n    return (math.prod(size),)").strides((2,)) == (
        2,
    )


def test_tracebacks_and_inspect_show_the_learners_lines() -> None:
    package: ModuleType = with_mine(STRIDES, "def strides(size):\n    return size / 0  # my line")
    try:
        package.strides(1)
    except ZeroDivisionError as error:
        shown = "".join(traceback.format_exception(error))
    assert "return size / 0  # my line" in shown and "<mytorch>/strides.py" in shown
    linecache.checkcache()
    assert "# my line" in inspect.getsource(package.strides)


def test_a_given_part_is_quoted_and_the_learners_is_not() -> None:
    taken = {ROWS: "rows_exercise", STRIDES: "strides_exercise"}
    quoted = core_exercises.quoted(FILES, ["mytorch.strides:offset", "mytorch.tensor:Tensor"], taken)
    assert quoted.startswith("`mytorch/strides.py`\n\n```python\ndef offset(")
    assert "`mytorch/tensor.py`\n\n```python\nclass Tensor:" in quoted
    assert '"""The number of rows."""\n        ...  # yours: exercise rows_exercise' in quoted
    assert "len(self.values)" not in quoted
    for part in (STRIDES, ROWS):
        with pytest.raises(parts.PartError, match="is what exercise"):
            core_exercises.quoted(FILES, [part], taken)


def test_imports_of_a_cell_are_those_that_its_definitions_need() -> None:
    files = {
        "__init__.py": "",
        "a.py": "# 02 · Two\nfrom b import np\nSTEP = 1\nclass Base: pass\n"
        "def f(x: Base, y=STEP, *, z=lambda: Base): return np\nclass C(Base):\n    one = STEP\n    two = one\n",
    }
    assert core_exercises.imports(files, {"m.a:f": parts.text_of(files, "m.a:f")}, set()) == ["from m.a import STEP"]
    assert core_exercises.imports(files, {"m.a:C": parts.text_of(files, "m.a:C")}, {"STEP"}) == ["from m.a import Base"]
    assert core_exercises.imports(files, {"m.a:STEP": "STEP = 1"}, set()) == []


def test_a_mutant_of_one_part_is_completed_by_the_others_and_what_they_need() -> None:
    files = {
        "__init__.py": "",
        "a.py": "# 02 · Two\nSTEP = 1\ndef f(x=STEP): return x\n",
        "b.py": "# 02 · Two\ndef g(): return 1\n",
    }
    text = core_exercises.completed(files, ["m.a:f", "m.b:g"], "def g(): return 2", set())
    assert text.split("\n\n\n") == ["from m.a import STEP", "def g(): return 2", "def f(x=STEP): return x"]
    assert core_exercises.completed(files, ["m.b:g"], "def g(): return 2", set()) == "def g(): return 2"
