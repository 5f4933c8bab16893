"""The names of a part's file are there in its cell, and in no other; an import of the setup comes along."""

from pathlib import Path

import nbformat
import pytest

from course.files import Course
from course.grading.grade import grade
from course.grading.report import Item
from tests.course.test_core import filled, outputs, run

WALK = """    made = []
    for length in reversed(size):
        made.append(step)
        step *= length
    return tuple(made[::-1])
"""
ANSWERS = {
    "a default value": f"def strides(size, step=STEP):\n{WALK}",
    "a decorator": "import functools\ndef counted(step):\n    return lambda f: functools.partial(f, step=step)\n"
    f"@counted(STEP)\ndef strides(size, step):\n{WALK}",
    "a trial": f"def strides(size):\n    step = STEP\n{WALK}\nassert np.prod(strides((2, 3))) == STEP * 3",
    "a class": f"class Steps(list):\n    first = STEP\ndef strides(size):\n    step = Steps.first\n{WALK}",
    "the file's function": f"def strides(size):\n    step = STEP\n{WALK}\nassert callable(offset)",
    "an import of the setup": "def strides(size):\n"
    "    return tuple(math.prod(size[d + 1:]) for d in range(len(size)))\n",
}
NOT_THERE = {
    "of a later chapter": f"later\ndef strides(size):\n    step = 1\n{WALK}",
    "the part itself": f"first = strides\ndef strides(size):\n    step = 1\n{WALK}",
}


@pytest.fixture(scope="module")
def items(core_course: Course, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Item]:
    folder = tmp_path_factory.mktemp("scope")
    for name, text in (ANSWERS | NOT_THERE).items():
        nbformat.write(filled(core_course, core_strides=text), folder / f"{name}.ipynb")
    return {Path(result.path).stem: result.items[0] for result in grade([folder], core_course).submissions}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_grade_has_the_names_of_the_file(items: dict[str, Item], name: str) -> None:
    assert (items[name].status, items[name].message) == ("passed", "")


def test_the_notebook_has_them_in_the_cell_alone(own_core_course: Course) -> None:
    course = own_core_course
    notebook = filled(course)
    place = next(i for i, cell in enumerate(notebook.cells) if cell.get("id") == "core_strides")
    check = notebook.cells[place + 1]
    cells = []
    for name, text in (ANSWERS | NOT_THERE).items():
        cells += [nbformat.v4.new_code_cell(text, metadata={"name": name}), check.copy()]
    cells.append(nbformat.v4.new_code_cell("strides((2, 3)), STEP"))
    notebook.cells[place : place + 2] = cells
    run(course, notebook, "exercises")
    raised = {
        cell.metadata["name"]: output.evalue
        for cell in cells
        for output in cell.get("outputs", [])
        if output.output_type == "error" and "name" in cell.metadata
    }
    assert raised == {"of a later chapter": "name 'later' is not defined"}
    assert cells[-1].outputs[0].evalue == "name 'STEP' is not defined"
    assert outputs(notebook, "core_strides").count("✓ Right") == len(ANSWERS) + len(NOT_THERE)
    assert (course.mine / "mytorch" / "strides.py").read_text().count("import math") == 0


def test_an_import_of_the_setup_comes_along_into_the_learners_package(own_core_course: Course) -> None:
    course = own_core_course
    run(course, filled(course, core_strides=ANSWERS["an import of the setup"]), "exercises")
    text = (course.mine / "mytorch" / "strides.py").read_text()
    assert text.count("import math") == 1 and text.count("import numpy") == 1
