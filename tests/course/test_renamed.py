"""Exercises that were renamed or split, and a renamed part: what learners have and hand in is carried over.

Everything starts from a folder as it was before: an exercise that asks for two parts, and answers to it in `my/`, in
the learner's notebook and in a submission. Then the course changes.
"""

import functools
import json
import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner

from course import renamed
from course.__main__ import main
from course.authoring.build import build
from course.files import CODE, Course
from course.grading import grade as grading
from course.grading.grade import grade
from course.learner import package, practice
from course.notebooks.rebuild import learners_text

ROWS = "def rows(self):\n    return len(self.values)  # mine\n"
DESCRIBE = 'def describe(self, name="tensor"):\n    return f"{name}\\n  rows: {self.rows}"\n'
STRIDES = """def strides(size):
    if len(size) < 2:
        return (1,) * len(size)
    inner = strides(size[1:])
    return (inner[0] * size[1], *inner)
"""


def answered(course: Course) -> Any:
    """The learner's notebook with both exercises answered."""
    notebook = nbformat.read(course.pristine / "06_core.ipynb", as_version=4)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = {"core_tensor": f"{ROWS}\n\n{DESCRIBE}", "core_strides": STRIDES}.get(name, cell.source)
    return notebook


@pytest.fixture
def before(core_course: Course, tmp_path: Path) -> Course:
    """A learner's folder before the names change."""
    course = Course(Path(shutil.copytree(core_course.root, tmp_path / "course")))
    nbformat.write(answered(course), course.exercises / "06_core.ipynb")
    course.mine.mkdir()
    (course.mine / "core_tensor.py").write_text(f"{ROWS}\n\n{DESCRIBE}")
    (course.mine / "core_strides.py").write_text(STRIDES)
    (course.mine / "hints.json").write_text('{"core_tensor": 2}\n')
    return course


@pytest.fixture
def after(before: Course, monkeypatch: pytest.MonkeyPatch) -> Course:
    """The same folder when the course has changed: one exercise is two, and a part, `strides`, is called `steps`."""
    path = before.chapters / "06_core" / "exercises.py"
    text = path.read_text().replace("strides:strides", "strides:steps").replace("def strides(", "def steps(")
    text = text.replace("mytorch.strides(size)", "mytorch.steps(size)").replace("import strides as", "import steps as")
    start, end = (
        text.index('# %% [markdown] exercise="core_tensor"'),
        text.index('# %% [markdown] exercise="core_derivative"'),
    )
    whole = text[start:end].replace('points="1 1"', "points=1")
    both = "mytorch.tensor:Tensor.rows mytorch.tensor:Tensor.describe"
    split = [
        whole.replace("core_tensor", f"core_{name}").replace(both, f"mytorch.tensor:Tensor.{name}")
        for name in ("rows", "describe")
    ]
    for number, (name, other) in enumerate((("rows", "describe"), ("describe", "rows"))):
        cells = split[number].split("# %% ")
        mutants = [each for each in cells if not (each.startswith("mutant") and f"def {other}(" in each)]
        more = "mutant=\"core_NAME\"\n# Another\n# Wrong.\ndef NAME(self, *args):\n    return 'nothing'\n\n\n"
        checked = [re.sub(r"(check=.*\n)", rf"\1# {name}\n", each) for each in mutants]  # a check has a text of its own
        split[number] = "# %% ".join([*checked, more.replace("NAME", name)])
    path.write_text(text[:start] + "".join(split) + text[end:])
    for name in ("strides.py", "__init__.py"):
        file = before.chapters / "mytorch" / name
        file.write_text(re.sub(r"(def |dot\(|offset, )strides", r"\1steps", file.read_text()))
    monkeypatch.setitem(renamed.EXERCISES, "core_tensor", ("core_rows", "core_describe"))
    monkeypatch.setitem(renamed.PARTS, "core_strides", {"strides": "steps"})
    return before


@pytest.mark.turns(8)
def test_what_is_kept_and_the_notebook_are_carried_over(after: Course) -> None:
    build(after)
    by_name = {each.name: each for each in practice.exercises(after)}
    assert [name for name, each in by_name.items() if practice.is_kept(after, each)] == [
        "core_strides", "core_rows", "core_describe",
    ]  # fmt: skip
    assert "def steps(size):" in (after.mine / "core_strides.py").read_text()
    assert "inner = steps(size[1:])" in (after.mine / "core_strides.py").read_text()
    assert (after.mine / "backups" / "core_tensor.py").read_text() == f"{ROWS}\n\n{DESCRIBE}"
    assert json.loads((after.mine / "hints.json").read_text()) == {"core_rows": 2, "core_describe": 2}
    assert set(package.solved(after)) == {
        "mytorch.strides:steps", "mytorch.tensor:Tensor.rows", "mytorch.tensor:Tensor.describe",
    }  # fmt: skip
    notebook = nbformat.read(after.exercises / "06_core.ipynb", as_version=4)
    cells = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell.source for cell in notebook.cells}
    assert (
        "# mine" in cells["core_rows"] and "# mine" in cells["core_describe"] and "def steps(" in cells["core_strides"]
    )


@pytest.mark.turns(8)
def test_a_submission_of_before_gets_its_points(
    before: Course, after: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grading, "Reader", functools.partial(grading.Reader, apart=False))  # it has this test's names
    folder = tmp_path / "handed_in"
    folder.mkdir()
    nbformat.write(answered(before), folder / "old.ipynb")
    unsolved = nbformat.read(before.pristine / "06_core.ipynb", as_version=4)
    nbformat.write(unsolved, folder / "unsolved.ipynb")
    build(after)
    first, second = sorted(grade([folder], after, jobs=1).submissions, key=lambda each: each.path)
    scores = {item.grade_id: item.points for item in first.items}
    assert (scores["core_strides"], scores["core_rows"], scores["core_describe"]) == (4, 1, 1)
    assert second.score == 0


def test_nothing_changes_while_no_name_does(before: Course) -> None:
    built = nbformat.read(before.pristine / "06_core.ipynb", as_version=4)
    assert learners_text(before, built, "06_core.ipynb")[1] == []
    practice.exercises(before)
    assert (before.mine / "core_tensor.py").exists() and not (before.mine / "backups").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def strides(n):\n    return strides(n)", "def steps(n):\n    return steps(n)"),
        ("x = 'é'; strides = 1", "x = 'é'; strides = 1"),
        ("def rows(self): return strides(self)", "def rows(self): return strides(self)"),
        ("steps = 2\n\ndef strides(n):\n    return steps", "steps = 2\n\ndef strides(n):\n    return steps"),
        ("@strides\ndef f(): ...\n\nclass strides: 'é'", "@steps\ndef f(): ...\n\nclass steps: 'é'"),
        ("def strides(", "def strides("),
    ],
)
def test_a_definition_and_its_uses_get_the_new_name(monkeypatch: pytest.MonkeyPatch, text: str, expected: str) -> None:
    monkeypatch.setitem(renamed.PARTS, "core_strides", {"strides": "steps"})
    assert renamed.updated(text, "core_strides") == expected
    assert renamed.updated(text, "core_tensor") == text


def test_attributes_get_their_new_name_and_only_attributes() -> None:
    old = "def apply(self):\n    view_walk = 'é', self.view_walk[0]\n    return copy(*self\n        .view_walk)\n"
    new = old.replace("self.view_walk", "self.view_geometry").replace("        .view_walk", "        .view_geometry")
    assert renamed.updated(old, "backward_writes") == new


def test_what_was_kept_on_2026_11_23_is_kept_under_todays_names(tmp_path: Path) -> None:
    course = Course(tmp_path)
    course.mine.mkdir()
    (course.mine / "storage_walk.py").write_text("def walk(flat, size, stride, offset):\n    return walk\n")
    (course.mine / "rnn_walk.py").write_text("def walk(step): ...\n")
    (course.mine / "graph_walk_back.py").write_text("def walk_back(roots): ...\n")
    renamed.carry_over(course, {each.name for each in practice.exercises(Course(CODE))})
    found = {path.stem: path.read_text() for path in course.mine.glob("*.py")}
    assert found == {
        "storage_strides": "def strided(flat, size, stride, offset):\n    return strided\n",
        "rnn_unroll": "def unroll(step): ...\n",
        "graph_run_backward": "def run_backward(roots): ...\n",
    }


PROMOTE = """def promote_types(one, other):
    if category(one) != category(other):
        return max(one, other, key=category)
    special = {(uint8, int8): int16, (float16, bfloat16): float32}  # mine
    found = special.get((one, other)) or special.get((other, one))
    return found or max(one, other, key=lambda each: each.itemsize)


def result_type(*operands):
    raise NotImplementedError
"""


@pytest.fixture
def undivided(tmp_path: Path) -> Course:
    """A learner's folder of 2026-11-24, when chapter 02 was one notebook: an exercise that has moved is answered."""
    course = Course(tmp_path / "course")
    for folder in (course.exercises, course.pristine, course.mine):
        folder.mkdir(parents=True)
    first, second = (
        nbformat.read(Course(CODE).pristine / f"{name}.ipynb", as_version=4)
        for name in ("02_tensors_and_storage", "02b_dtypes_and_dispatch")
    )
    moved = [cell for cell in second.cells if cell.metadata.get("minitorch", {}).get("exercise") in renamed.MOVED]
    before = {name for name, chapter in renamed.MOVED.items() if chapter == "02_tensors_and_storage"}
    assert {cell.metadata["minitorch"]["exercise"] for cell in moved} == before
    first.cells += moved
    nbformat.write(first, course.pristine / "02_tensors_and_storage.ipynb")
    for cell in first.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "storage_promotion":
            cell.source = PROMOTE
    nbformat.write(first, course.exercises / "02_tensors_and_storage.ipynb")
    return course


def test_answers_to_exercises_that_moved_are_in_the_other_notebook(undivided: Course) -> None:
    for name in ("02_tensors_and_storage.ipynb", "02b_dtypes_and_dispatch.ipynb", "02b_dtypes_and_dispatch.ipynb"):
        built = nbformat.read(Course(CODE).pristine / name, as_version=4)
        text, copies = learners_text(undivided, built, name)
        assert len(copies) == name.startswith("02_")
        for folder, content in ((undivided.exercises, text), (undivided.pristine, nbformat.writes(built))):
            (folder / name).write_text(content)
    first, second = (nbformat.read(path, as_version=4) for path in sorted(undivided.exercises.glob("*.ipynb")))
    assert [cell.metadata for cell in first.cells if "# mine" in cell.source] == [
        {"minitorch": {"moved": "storage_promotion"}}  # a cell of the learner's: nothing of theirs is lost
    ]
    assert [cell.metadata["nbgrader"]["grade_id"] for cell in second.cells if "# mine" in cell.source] == [
        "storage_promotion"
    ]


def test_what_is_said_to_have_moved_is_in_another_chapter() -> None:
    chapters = {each.name: each.chapter for each in practice.exercises(Course(CODE))}
    assert len(renamed.MOVED) == 10
    assert {name: chapters[name] for name in renamed.MOVED} == {
        name: {"02": "02b_dtypes_and_dispatch", "07": "07b_vector_jacobian_products", "16": "19_training_loop"}[
            before[:2]
        ]
        for name, before in renamed.MOVED.items()
    }


@pytest.mark.turns(8)
def test_what_has_moved_is_graded_in_an_old_submission(undivided: Course, tmp_path: Path) -> None:
    handed_in = tmp_path / "handed_in" / "old.ipynb"
    handed_in.parent.mkdir()
    shutil.copy(undivided.exercises / "02_tensors_and_storage.ipynb", handed_in)
    results = grade([handed_in], Course(CODE), seed=1, explain=False).submissions
    scores = {result.chapter: (result.path.partition("#")[2], result.score) for result in results}
    assert scores == {"02_tensors_and_storage": ("", 0), "02b_dtypes_and_dispatch": ("02b_dtypes_and_dispatch", 2)}
    shutil.copy(undivided.pristine / "02_tensors_and_storage.ipynb", handed_in)
    assert [each.score for each in grade([handed_in], Course(CODE), seed=1, explain=False).submissions] == [0]


BILINEAR = """def bilinear(input1, input2, weight, bias=None):
    rows, columns = input1.unsqueeze(-2).unsqueeze(-2), input2.unsqueeze(-2).unsqueeze(-1)  # mine
    products = matmul(matmul(rows, weight), columns).squeeze((-2, -1))
    return products if bias is None else products + bias
"""


@pytest.fixture
def unmerged(tmp_path: Path) -> Course:
    """A learner's folder of 2026-11-24, when `bilinear` was an exercise of its own, which is answered and kept."""
    course = Course(tmp_path / "course")
    for folder in (course.exercises, course.pristine, course.mine):
        folder.mkdir(parents=True)
    notebook = nbformat.read(Course(CODE).pristine / "09_modules_and_parameters.ipynb", as_version=4)
    stub = "def bilinear(input1, input2, weight, bias=None):\n    raise NotImplementedError()"
    for text, folder in ((stub, course.pristine), (BILINEAR, course.exercises)):
        for cell in notebook.cells:
            if cell.metadata.get("nbgrader", {}).get("grade_id") in ("modules_linear", "modules_bilinear"):
                cell.id = cell.metadata["minitorch"]["exercise"] = cell.metadata["nbgrader"]["grade_id"] = (
                    "modules_bilinear"
                )
                cell.source = text
        nbformat.write(notebook, folder / "09_modules_and_parameters.ipynb")
    (course.mine / "modules_bilinear.py").write_text(BILINEAR)
    return course


def test_an_answer_to_what_is_now_a_part_stands_above_the_stubs_of_the_others(unmerged: Course) -> None:
    built = nbformat.read(Course(CODE).pristine / "09_modules_and_parameters.ipynb", as_version=4)
    text, copies = learners_text(unmerged, built, "09_modules_and_parameters.ipynb")
    cells = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell.source for cell in nbformat.reads(text, 4).cells}
    answer = cells["modules_linear"]
    assert len(copies) == 1 and "modules_bilinear" not in cells and answer.startswith(BILINEAR)
    assert re.findall(r"^def (\w+)", answer, re.MULTILINE) == [
        "bilinear", "linear", "__init__", "forward", "draw", "reset_parameters",
    ]  # fmt: skip


def test_an_answer_to_what_is_now_a_part_is_the_learners_and_the_exercise_is_open(unmerged: Course) -> None:
    renamed.carry_over(unmerged, {each.name for each in practice.exercises(Course(CODE))})
    assert (unmerged.mine / "modules_linear.py").read_text() == BILINEAR
    shutil.copytree(Course(CODE).reference, unmerged.reference)
    for path in Course(CODE).pristine.glob("09_*.ipynb"):
        shutil.copy(path, unmerged.pristine)
    assert [*package.solved(unmerged)] == ["mytorch.nn.linear:bilinear"]
    assert not practice.is_kept(unmerged, practice.find(unmerged, "modules_linear"))
    stub = practice.find(unmerged, "modules_linear").stub
    (unmerged.mine / "modules_linear.py").write_text(stub)
    assert practice.is_kept(unmerged, practice.find(unmerged, "modules_linear"))


@pytest.mark.turns(8)
def test_an_answer_to_what_is_now_a_part_earns_its_points_in_an_old_submission(
    unmerged: Course, tmp_path: Path
) -> None:
    handed_in = tmp_path / "handed_in" / "old.ipynb"
    handed_in.parent.mkdir()
    shutil.copy(unmerged.exercises / "09_modules_and_parameters.ipynb", handed_in)
    (result,) = grade([handed_in], Course(CODE), seed=1, explain=False).submissions
    assert {item.grade_id: item.points for item in result.items if item.points} == {"modules_linear": 1}


GONE = ("static_unique_name", "static_repair_growing", "static_measure_iteration")
GRAPHS = "08_static_and_dynamic_graphs.ipynb"


@pytest.fixture
def older(tmp_path: Path) -> Course:
    """A learner's folder of 2026-11-24: in chapter 08 three exercises are solved that the course no longer has."""
    course = Course(tmp_path / "course")
    course.exercises.mkdir(parents=True)
    for folder in ("notebooks", "solutions"):
        (course.root / folder).symlink_to(CODE / folder)
    course.pristine.mkdir()
    course.mine.mkdir()
    before = Path(__file__).with_name("older") / GRAPHS
    shutil.copy(before, course.pristine)
    notebook = nbformat.read(before, as_version=4)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in GONE:
            cell.source = f"def {name}():\n    return 1  # mine"
            (course.mine / f"{name}.py").write_text(cell.source)
        if name == "static_predict_trace":
            cell.source = "prediction = 7.0  # mine"
    nbformat.write(notebook, course.exercises / GRAPHS)
    (course.mine / "hints.json").write_text(json.dumps(dict.fromkeys(GONE, 2)))
    return course


def test_answers_to_exercises_that_are_gone_stay_in_cells_of_the_learners(older: Course) -> None:
    built = nbformat.read(Course(CODE).pristine / GRAPHS, as_version=4)
    answers = {"static_predict_trace"} | set(GONE)
    for copies in (1, 0):  # the second time nothing changes
        text, kept = learners_text(older, built, GRAPHS)
        assert len(kept) == copies
        for folder, content in ((older.exercises, text), (older.pristine, nbformat.writes(built))):
            (folder / GRAPHS).write_text(content)
        mine = [cell for cell in nbformat.reads(text, as_version=4).cells if "# mine" in cell.source]
        assert {cell.metadata.get("nbgrader", {}).get("grade_id") for cell in mine} == {"static_predict_trace", None}
        assert len(mine) == len(answers)
    (backup,) = (older.mine / "backups").iterdir()
    assert backup.read_text().count("# mine") == len(answers)


@pytest.mark.turns(8)
def test_the_progress_of_somebody_who_solved_what_is_gone(older: Course) -> None:
    shutil.copy(Course(CODE).pristine / GRAPHS, older.pristine)
    for command in ("progress", "mine", "next"):
        done = CliRunner().invoke(main, ["--root", str(older.root), command])
        assert done.exit_code == 0, done.output
    assert {path.stem for path in older.mine.glob("*.py")} == set(GONE)
    assert json.loads((older.mine / "hints.json").read_text()) == dict.fromkeys(GONE, 2)


@pytest.mark.turns(8)
def test_an_old_submission_with_exercises_that_are_gone_is_graded(older: Course, tmp_path: Path) -> None:
    solved = nbformat.read(Course(CODE).solutions / GRAPHS, as_version=4)
    answers = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell.source for cell in solved.cells}
    notebook = nbformat.read(older.exercises / GRAPHS, as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "static_predict_trace":
            cell.source = answers["static_predict_trace"]
    handed_in = tmp_path / "handed_in" / "old.ipynb"
    handed_in.parent.mkdir()
    nbformat.write(notebook, handed_in)
    (result,) = grade([handed_in], Course(CODE), seed=1, explain=False).submissions
    points = {item.grade_id: item.points for item in result.items}
    assert result.status == "graded" and points["static_predict_trace"] == 1 and sum(points.values()) == 1
    assert points.keys().isdisjoint(GONE) and "that the learner added not run" in result.reason
