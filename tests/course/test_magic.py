"""`%check NAME` in the learner's notebook."""

import os
from collections.abc import Callable
from typing import Any

import nbformat
from nbclient import NotebookClient

from course import variables
from course.files import CODE, Course

RIGHT = "def contiguous_strides(size):\n    return tuple(int(np.prod(size[d + 1:])) for d in range(len(size)))"


def test_it_does_what_the_check_cell_does(own_course: Course, submission: Callable[..., Any]) -> None:
    notebook = submission(contiguous_strides=RIGHT, predict_strides="prediction = (12, 3, 1)")
    notebook.cells += [
        nbformat.v4.new_code_cell(text)
        for text in ("%check contiguous_strides", "%check predict_strides", "%check elsewhere", "%check", "2 + 2")
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (CODE, own_course.root)))}
    for name in ("MINITORCH_COURSE_SEED", variables.MYTORCH):
        environment.pop(name, None)
    NotebookClient(notebook, allow_errors=True).execute(cwd=str(own_course.exercises), env=environment)
    cells = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in notebook.cells}
    right, wrong, unknown, empty, other = (cell.outputs for cell in notebook.cells[-5:])
    assert [output["data"] for output in right] == [o["data"] for o in cells["contiguous_strides-check"].outputs]
    assert [output["data"] for output in wrong] == [o["data"] for o in cells["predict_strides-check"].outputs]
    assert right[0]["data"]["text/plain"].startswith("✓ Right (contiguous_strides). Kept in my/contiguous_strides.py")
    assert wrong[0]["data"]["text/plain"].startswith("✗ Not yet.\nThese ")
    assert unknown[0]["text"] == "no exercise is called 'elsewhere'; `course progress CHAPTER` lists them\n"
    assert empty[0]["text"] == "Say which exercise: %check NAME.\n"
    assert other[0]["data"]["text/plain"] == "4"
    assert (own_course.mine / "contiguous_strides.py").read_text() == f"{RIGHT}\n"
