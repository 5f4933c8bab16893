"""The hint a learner gets when an answer uses a name that its part of mytorch does not have."""

from pathlib import Path

import nbformat
import pytest

from course.files import Course
from course.grading.grade import grade

SOLUTIONS = {
    "core_strides": "def strides(size):\n    return mine(size)",
    "core_tensor": "def rows(self):\n    return strides((2, 3))[0]\n\ndef describe(self, name=''):\n    return name",
    "core_derivative": "from mytorch.derivatives import derivative\n"
    'derivative("mul", x=lambda g, y: g * y * values, y=lambda g, x: x * g)',
}
NEEDS = "defines it; the solution cell itself must hold all that it needs)"


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    ("exercise", "told"),
    [
        (
            "core_strides",
            "NameError: name 'mine' is not defined (line 2 of your answer: `return mine(size)`) "
            f"(cell 1, `def mine(size):`, {NEEDS}",
        ),
        (
            "core_tensor",
            "Tensor.rows: NameError: name 'strides' is not defined "
            "(line 2 of your answer: `return strides((2, 3))[0]`) "
            "(cell {place}, `def strides(size):`, defines it, in another file: from mytorch.strides import strides)",
        ),
        (
            "core_derivative",  # the check of this exercise defines the name
            "NameError: name 'values' is not defined "
            '(line 2 of your answer: `derivative("mul", x=lambda g, y: g * y * values, y=lambda g, x: x * g)`)',
        ),
    ],
)
def test_what_is_told(core_course: Course, tmp_path: Path, exercise: str, told: str) -> None:
    notebook = nbformat.read(core_course.exercises / "06_core.ipynb", as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("def mine(size):\n    return (1,)"))
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = SOLUTIONS.get(name, cell.source)
    place = 1 + next(i for i, cell in enumerate(notebook.cells) if cell.source == SOLUTIONS["core_strides"])
    nbformat.write(notebook, tmp_path / "06_core.ipynb")
    (result,) = grade([tmp_path], core_course, explain=False).submissions
    messages = {item.grade_id: item.message for item in result.items}
    assert messages[exercise].partition("\n")[0] == told.format(place=place)
