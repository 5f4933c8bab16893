"""Names that have changed: what learners have in `my/`, and submissions of before, is carried over by these tables."""

import ast
import copy
import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from course.files import Course, write_atomically
from course.parsed import parsed
from course.source.cells import plain
from course.source.renaming import rename

NotebookNode = Any
_OURS = "minitorch"  # as in notebooks/notebook.py, which a learner's kernel need not load

EXERCISES: dict[str, tuple[str, ...]] = {
    "storage_walk": ("storage_strides",),
    "graph_walk_back": ("graph_run_backward",),
    "rnn_walk": ("rnn_unroll",),
    "modules_bilinear": ("modules_linear",),
}
"""By an exercise's old name, the exercises that ask for its parts now: one that was renamed, several after a split.

One that has become a part of another is here, too: its answer is a piece of the other's, and earns that part's points.
"""

MOVED: dict[str, str] = {
    "storage_promotion": "02_tensors_and_storage",
    "storage_mean_var": "02_tensors_and_storage",
    "storage_round_bits": "02_tensors_and_storage",
    "storage_measure_stuck": "02_tensors_and_storage",
    "backward_gradcheck": "07_backward_in_depth",
    "backward_hessian_vector": "07_backward_in_depth",
    "backward_repair_slope_penalty": "07_backward_in_depth",
    "backward_measure_best_step": "07_backward_in_depth",
    "backward_hooks": "07_backward_in_depth",
    "optim_decay_groups": "16_losses_and_optimizers",
}
"""By exercise, the chapter in whose notebook it was before; for an exercise that has moved to another notebook."""

PARTS: dict[str, dict[str, str]] = {
    "storage_strides": {"walk": "strided"},
    "graph_run_backward": {"walk_back": "run_backward"},
    "rnn_unroll": {"walk": "unroll"},
    "backward_writes": {".view_walk": ".view_geometry"},
}
"""By exercise, as it is called now: of its parts' old names, the new ones; with a dot, of an attribute they use."""


def updated(text: str, exercise: str) -> str:
    """A learner's answer in which the definitions, and uses, of renamed parts have their new names.

    Only names that the text defines at its top level are renamed, and none to a name that it has already; attributes
    wherever they are.
    """
    try:
        tree = parsed(plain(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the learner's cells may hold anything
        return text
    own = {each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef)}
    taken = own | {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    renames = PARTS.get(exercise, {})
    names = {old: new for old, new in renames.items() if old in own and new not in taken}
    attributes = {old[1:]: new[1:] for old, new in renames.items() if old.startswith(".")}
    return rename(text, tree, names, attributes)


def now(exercise: str) -> tuple[str, ...]:
    """The exercises that an answer to this one answers now: itself, unless its name has changed."""
    names = EXERCISES.get(exercise, (exercise,))
    return names if names == (exercise,) else tuple(last for name in names for last in now(name))


def notebook_now(notebook: NotebookNode) -> NotebookNode:
    """A learner's notebook of before with its answers under the names of today; itself if nothing has changed."""
    if not (EXERCISES or PARTS):
        return notebook
    made = copy.deepcopy(notebook)
    made.cells = [each for cell in made.cells for each in _cells_now(cell)]
    return made


def _cells_now(cell: NotebookNode) -> Iterator[NotebookNode]:
    """What a cell has become: of a renamed exercise its answers stay, under each of the new names."""
    ours, about = (_dict(cell.metadata.get(key)) for key in (_OURS, "nbgrader"))
    is_solution = cell.cell_type == "code" and about.get("solution")
    old = str(ours.get("exercise") or (is_solution and about.get("grade_id")))
    if old not in EXERCISES:
        cell.source = updated(cell.source, old) if is_solution else cell.source
        yield cell
    for name in now(old) if old in EXERCISES and is_solution else ():
        each = copy.deepcopy(cell)
        each.id, each.source = name[:60], updated(cell.source, name)
        each.metadata[_OURS] = {**ours, "exercise": name}
        each.metadata["nbgrader"] = {**about, "grade_id": name}
        yield each


def _dict(found: Any) -> dict[str, Any]:
    """What a cell's metadata hold under a key; a file may hold anything there."""
    return found if isinstance(found, dict) else {}


def carry_over(course: Course, known: Iterable[str]) -> None:
    """Keep in `my/` what was kept under old names under the new ones; what was there before goes to `my/backups`.

    Args:
        course: whose `my/` it is.
        known: the exercises that there are.
    """
    if not (EXERCISES or PARTS) or not course.mine.is_dir():
        return
    names, backups = set(known), course.mine / "backups"
    for old in EXERCISES.keys() - names:
        path = course.mine / f"{old}.py"
        if not path.exists():
            continue
        for name in names.intersection(now(old)):
            if not (course.mine / f"{name}.py").exists():
                write_atomically(course.mine / f"{name}.py", path.read_text(encoding="utf-8"))
        backups.mkdir(exist_ok=True)
        path.replace(backups / path.name)
    for path in (course.mine / f"{name}.py" for name in names):
        if not path.exists():
            continue
        before = path.read_text(encoding="utf-8")
        if (text := updated(before, path.stem)) != before:
            backups.mkdir(exist_ok=True)
            shutil.copy2(path, backups / f"{path.stem}-before-a-name-changed.py")
            write_atomically(path, text)
    _carry_hints(course.mine / "hints.json", names)


def _carry_hints(path: Path, names: set[str]) -> None:
    """The hints of an old exercise count for each that took its place."""
    if not path.exists():
        return
    before: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))
    after: dict[str, int] = {}
    for old, count in before.items():
        for name in now(old) if old not in names else (old,):
            after[name] = max(count, after.get(name, 0))
    if after != before:
        write_atomically(path, json.dumps(after, indent=1, sort_keys=True) + "\n")
