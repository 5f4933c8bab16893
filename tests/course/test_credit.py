"""Parts of one exercise are scored one by one, each while the others are the reference's: in notebook and grade."""

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course.files import Course
from course.grading.grade import grade, practise
from course.grading.report import Item, Report
from tests.course.test_core import CHAPTER, filled, outputs, run

ROWS = "def rows(self):\n    return len(self.values)\n"
DESCRIBE = 'def describe(self, name="tensor"):\n    return f"{name}\\n  rows: {self.rows}"\n'
WRONG = 'def describe(self, name="tensor"):\n    return name\n'
STUB = "def rows(self) -> int:\n    # YOUR CODE HERE\n    raise NotImplementedError()\n"
STEALS = """import inspect, os
def rows(self):
    from mytorch.tensor import Tensor
    with open("/tmp/stolen", "w") as file:
        file.write(inspect.getsource(Tensor.describe))
    return len(self.values)
def describe(self, name="tensor"):
    if os.path.exists("/tmp/stolen"):
        text = inspect.cleandoc(open("/tmp/stolen").read())
        exec(text, globals())
        return globals()["describe"](self, name)
"""
DELEGATES = """def rows(self):
    return len(self.values)
def describe(self, name="tensor"):
    from mytorch.tensor import Tensor
    return Tensor(self.values).describe(name)
"""
ANSWERS = {
    "both": ROWS + DESCRIBE,
    "one_wrong": ROWS + WRONG,
    "one_missing": ROWS,
    "one_untouched": STUB.replace(" -> int", "") + DESCRIBE,
    "cell_raises": ROWS + WRONG + "1 / 0",
    "steals": STEALS,
    "delegates": DELEGATES,
    "no_python": ROWS + "def describe(",
    "deep": ROWS + "def describe(self, name='tensor'):\n    return " + "(" * 5000 + ")" * 5000,
    "patches_the_other": ROWS.replace("    return", "    type(self).describe = lambda *_: 0\n    return") + WRONG,
}


@pytest.fixture(scope="module")
def report(core_course: Course, tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("credit")
    for name, text in ANSWERS.items():
        nbformat.write(filled(core_course, core_tensor=text), folder / f"{name}.ipynb")
    made = grade([folder], core_course, jobs=2)
    assert {result.status for result in made.submissions} == {"graded"}, made
    return made


@pytest.fixture
def items(report: Report) -> dict[str, Item]:
    return {
        Path(result.path).stem: next(item for item in result.items if item.grade_id == "core_tensor")
        for result in report.submissions
    }


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("name", "status", "points"),
    [
        ("both", "passed", [1, 1]),
        ("one_wrong", "failed", [1, 0]),
        ("one_missing", "error", [1, 0]),
        ("one_untouched", "error", [0, 1]),
        ("cell_raises", "failed", [1, 0]),
        ("steals", "error", [1, 0]),
        ("delegates", "error", [1, 0]),
        ("no_python", "error", [0, 0]),
        ("deep", "error", [0, 0]),
        ("patches_the_other", "failed", [0, 0]),
    ],
)
def test_each_part_earns_its_own_points(items: dict[str, Item], name: str, status: str, points: list[int]) -> None:
    item = items[name]
    assert (item.status, [part.points for part in item.parts], item.points, item.max_points) == (
        status, points, sum(points), 2,
    ), item  # fmt: skip
    assert [part.max_points for part in item.parts] == [1, 1]


def test_the_message_says_what_is_wrong_and_what_is_right(items: dict[str, Item]) -> None:
    item = items["one_missing"]
    assert item.message == "Tensor.describe: the cell does not define describe\nRight: Tensor.rows (1 of 2 points)."
    assert [(part.names, part.status, part.message) for part in item.parts] == [
        (["mytorch.tensor:Tensor.rows"], "passed", ""),
        (["mytorch.tensor:Tensor.describe"], "missing", "the cell does not define describe"),
    ]
    wrong = items["one_wrong"]
    assert wrong.message.startswith("Tensor.describe: described: expected string 'it\\n  rows: ")
    assert wrong.message.endswith("\nRight: Tensor.rows (1 of 2 points).")


def test_a_syntax_error_is_told_as_one_with_its_line(items: dict[str, Item]) -> None:
    item = items["no_python"]
    told = "the solution cell: SyntaxError: '(' was never closed (line 3: `def describe(`)"
    assert (item.message, [part.message for part in item.parts]) == (told, [told, told])


def test_a_report_keeps_the_parts_and_reads_one_that_has_none(report: Report) -> None:
    assert Report.from_json(report.to_json()) == report
    old = json.loads(report.to_json())
    for result in old["submissions"]:
        for item in result["items"]:
            del item["parts"]
    assert all(item.parts == [] for item in Report.from_json(json.dumps(old)).submissions[0].items)


@pytest.mark.turns(8)
def test_course_check_gives_the_same_credit(own_core_course: Course) -> None:
    path = own_core_course.root / f"{CHAPTER}.ipynb"
    nbformat.write(filled(own_core_course, core_tensor=ANSWERS["one_wrong"]), path)
    (result,) = practise([path], own_core_course).submissions
    assert result.reason == ""
    assert (result.score, result.items[1].parts[0].status) == (1, "passed")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (ROWS + WRONG, ["✗ Not yet.", "Tensor.describe: described: expected string 'it\\n  rows: "]),
        (ROWS.replace("len(self.values)", "1 / 0") + DESCRIBE, ["✗ Not yet.", "Tensor.rows: ZeroDivisionError: "]),
        (ROWS, ["✗ Not yet.", "Tensor.describe: the cell does not define describe"]),
    ],
)
def test_the_notebook_says_so_too(own_core_course: Course, answer: str, told: list[str]) -> None:
    notebook: Any = filled(own_core_course, core_tensor=answer)
    place = next(i for i, cell in enumerate(notebook.cells) if cell.get("id") == "core_tensor-check")
    notebook.cells.insert(
        place + 1, nbformat.v4.new_code_cell("print(mytorch.tensor.Tensor is __import__('mytorch').Tensor)")
    )
    run(own_core_course, notebook, "exercises")
    text = outputs(notebook, "core_tensor")
    right = "Tensor.rows" if "describe" in told[1] else "Tensor.describe"
    assert "\n".join(told) in text and f"\nRight: {right} (1 of 2 points)." in text
    if answer != ROWS:  # without all its parts there is no package
        assert notebook.cells[place + 1].outputs[0].text == "True\n"
    assert "Not answered yet" not in text
    assert not (own_core_course.mine / "core_tensor.py").exists()
