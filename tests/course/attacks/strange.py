"""A class of 21: honest learners, files as they come, and attacks that once cost everybody the grade, or much time.

`write(folder, course, chapter)` writes it. `python -m benchmarks.grading --strange` measures how fast it is graded.
"""

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat

from course.files import Course
from course.notebooks.notebook import exercise_of, role, tasks
from course.sandbox.launch import Limits
from course.source import parts

LIMITS = Limits(cell_seconds=5, wall_seconds=30)
HONEST = ("ann", "ben", "carla", "dev", "eva", "farid", "gül")
LEAVES = """import ctypes as ct, json, sys
from course.source import parts as P
from course.learner import package
def mem():
    c = ct.CDLL(None); c.shmat.restype = ct.c_void_p
    return c.shmat(c.shmget(4711, 1 << 22, 0o1666), None, 0)
def get():
    return json.loads(ct.string_at(mem()).decode() or "{}")
known, texts = get(), {n: P.text_of(package.given, n, decorators=False) for n in P.names(package.given)}
known |= {n: t for n, t in texts.items() if "NotImplementedError" not in t and "yours to write" not in t}
data = json.dumps(known).encode() + bytes(1)
ct.memmove(mem(), data, len(data))
def taken(part, name):
    space = dict(vars(sys.modules[part.partition(":")[0]]))
    exec(get()[part], space)
    return space[name]
"""
"""What one exercise is given of others' parts is left in a shared segment, and each part is taken from there."""


def solutions(notebook: Any) -> list[Any]:
    """The cells that answer."""
    return [cell for cell in notebook.cells if role(cell) == "solution"]


def text(notebook: Any) -> bytes:
    """A notebook as a file holds it."""
    return nbformat.writes(notebook).encode()


def edited(change: Callable[[Any], object]) -> Callable[[Any], bytes]:
    """What makes the file of the solved notebook with a change."""

    def made(solved: Any) -> bytes:
        notebook = copy.deepcopy(solved)
        change(notebook)
        return text(notebook)

    return made


def answers(source: str) -> Callable[[Any], bytes]:
    """What makes the file of the solved notebook with this text as its first answer."""
    return edited(lambda notebook: solutions(notebook)[0].update(source=source))


def doubled(notebook: Any) -> None:
    """The first answer stands there twice."""
    first = solutions(notebook)[0]
    again = copy.deepcopy(first)
    again.id = "twice"
    notebook.cells.insert(notebook.cells.index(first), again)


def without_some(notebook: Any) -> None:
    """Two answers are deleted."""
    for cell in solutions(notebook)[:2]:
        notebook.cells.remove(cell)


def loud(notebook: Any) -> None:
    """A cell has 5.8 MB of output."""
    solutions(notebook)[0].outputs = [nbformat.v4.new_output("stream", text="line\n" * 1_160_000)]


def forced(name: str) -> Callable[[Any], None]:
    """The metadata of the first answer are a string, under the name of an exercise that has moved."""

    def change(notebook: Any) -> None:
        cell = solutions(notebook)[0]
        cell.metadata = {"minitorch": "x", "nbgrader": {**cell.metadata["nbgrader"], "grade_id": name}}

    return change


def long(notebook: Any) -> None:
    """A cell beside the answers takes gigabytes to parse."""
    notebook.cells.append(nbformat.v4.new_code_cell("a;" * 1_500_000))


def in_each_part(body: str, head: str = "") -> Callable[[Any], bytes]:
    """What makes the file in which each part of mytorch is a function with this body, and nothing else is answered."""

    def change(notebook: Any) -> None:
        about = tasks(notebook)
        for cell in solutions(notebook):
            cell.source = head
            for part in about[exercise_of(cell)]["parts"]:
                name = parts.short(part)
                cell.source += f"def {name}(*a, **k):\n    {body.replace('PART', part).replace('NAME', name)}\n"

    return edited(change)


ALL, FEWER, NONE, REJECTED = "all points", "fewer points", "no points", "rejected"
OTHERS: dict[str, tuple[Callable[[Any], bytes], str]] = {
    "corrupt": (lambda solved: text(solved)[:5000], REJECTED),
    "empty": (lambda solved: b"", REJECTED),
    "Jürgen Müller – Kapitel 3 (final)": (text, ALL),
    "deleted": (edited(without_some), FEWER),
    "doubled": (edited(doubled), ALL),
    "loud": (edited(loud), ALL),
    "endless": (answers("while True: pass"), FEWER),
    "no_python": (answers("def f(:\n    pass"), FEWER),
    "metadata": (edited(forced("storage_walk")), ALL),  # A: nobody had a grade
    "segment": (in_each_part("return taken('PART', 'NAME')(*a, **k)", LEAVES), NONE),  # B: all points of the parts
    "long": (edited(long), ALL),  # D: 2.7 GB of the grader's own memory
    "fault": (edited(forced("rnn_walk")), ALL),  # K: "a fault of the machine"
    "processor": (
        answers(f"import resource\nresource.prlimit({os.getpid()}, resource.RLIMIT_CPU, (1, 1))"),
        FEWER,
    ),  # O
    "slow": (in_each_part("while True: pass"), NONE),  # P: three times a submission's time
}
"""By name, what makes the file of the solved notebook, and what it earns."""


def write(folder: Path, course: Course, chapter: str) -> dict[str, str]:
    """Write the class; by learner, what each should earn."""
    solved: Any = nbformat.read(course.solutions / f"{chapter}.ipynb", as_version=4)
    files = dict.fromkeys(HONEST, (text, ALL)) | OTHERS
    for name, (make, _) in files.items():
        (folder / f"{name}.ipynb").write_bytes(make(solved))
    return {name: expected for name, (_, expected) in files.items()}


def earned(status: str, score: float, most: float) -> str:
    """What a learner earned, in the words above."""
    if status == "rejected":
        return REJECTED
    if status != "graded":
        return status
    return ALL if score == most else FEWER if score else NONE
