"""Right answers in unusual notebooks get full marks; a message about a missing name says which cell defines it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from course.files import Course
from course.grading.grade import grade
from course.grading.intake import outline_of
from course.grading.merge import solutions_of
from course.grading.report import Item

SHOWS = """from IPython.display import HTML, display
def contiguous_strides(size):
    display(size, HTML("<b>here</b>"))
    return tuple(int(np.prod(size[d + 1:])) for d in range(len(size)))"""


@pytest.fixture(scope="module")
def items(
    course: Course, submission: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Item]]:
    """Items by exercise, by submission."""
    folder = tmp_path_factory.mktemp("honest")
    helped = submission(
        predict_strides="prediction = helper(1)",
        running_mean="x = y\ny = 1",
        smallest_step="def smallest_step(): return math.e",
    )
    setup = next(cell for cell in helped.cells if cell.cell_type == "code")
    setup.source = "import math\n" + setup.source
    helped.cells.insert(1, new_code_cell("%matplotlib inline\ndef helper(x):\n    return x"))
    helped.cells.insert(1, new_code_cell("helper ="))
    made = {"shows": submission(contiguous_strides=SHOWS), "helped": helped}
    made["large"] = submission(contiguous_strides="def contiguous_strides(size):\n    return (10**5000,) * len(size)")
    for name, notebook in made.items():
        nbformat.write(notebook, folder / f"{name}.ipynb")
    results = grade([folder], course, jobs=2, explain=False).submissions
    assert [result.status for result in results] == ["graded"] * len(made), results
    return {Path(result.path).stem: {item.grade_id: item for item in result.items} for result in results}


@pytest.mark.turns(8)
def test_what_is_displayed_beside_the_values_costs_nothing(items: dict[str, dict[str, Item]]) -> None:
    item = items["shows"]["contiguous_strides"]
    assert (item.status, item.message) == ("passed", "")


@pytest.mark.turns(8)
def test_what_cannot_be_written_down_is_told(items: dict[str, dict[str, Item]]) -> None:
    item = items["large"]["contiguous_strides"]
    assert item.status == "error" and "for integer string conversion" in item.message, item


def test_cells_of_one_answer_are_joined_but_for_empty_ones_and_the_stub(
    course: Course, submission: Callable[..., Any]
) -> None:
    notebook = submission()
    place = next(i for i, c in enumerate(notebook.cells) if c.metadata.get("nbgrader", {}).get("solution"))
    about = notebook.cells[place].metadata
    notebook.cells[place + 1 : place + 1] = [new_code_cell(text, metadata=about) for text in ("a = 1", "# no", "b = a")]
    reference = nbformat.read(course.solutions / "01_fixture.ipynb", as_version=4)
    made = solutions_of(notebook, outline_of(reference))
    assert (made.solutions["predict_strides"], made.notes) == (
        "a = 1\n\nb = a",
        ["predict_strides: 4 cells, joined in order"],
    )


def test_an_undefined_name_is_traced_to_the_cell_that_defines_it(items: dict[str, dict[str, Item]]) -> None:
    needs = "the solution cell itself must hold all that it needs"
    assert {name: item.message for name, item in items["helped"].items() if item.status == "error"} == {
        "predict_strides": "the solution cell: NameError: name 'helper' is not defined "
        f"(line 1 of your answer: `prediction = helper(1)`) (cell 3, `%matplotlib inline`, defines it; {needs})",
        "running_mean": "the solution cell: NameError: name 'y' is not defined (line 1 of your answer: `x = y`)",
        "smallest_step": "NameError: name 'math' is not defined "
        f"(line 1 of your answer: `def smallest_step(): return math.e`) (cell 4, `import math`, defines it; {needs})",
    }
