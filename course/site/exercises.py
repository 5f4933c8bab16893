"""The pages of the exercises: the task, the stub and the check of each. No answer, no hint, no mutant is on them."""

from __future__ import annotations

import functools
import re
from typing import Any

import yaml

from course.authoring.places import openers
from course.chapters import key
from course.files import CODE
from course.notebooks.notebook import exercise_of, role, tasks
from course.site.address import address
from course.site.links import moved
from course.site.markdown import code, contents, entries, folded, page, table

_HINT = re.compile(r" · a hint: .*?\*$", re.MULTILINE)
_POINTS = re.compile(r"^\*(?:\d+ minutes · )?(?=\d+ points?\b)", re.MULTILINE)
_NUMBER = re.compile(r"^### Exercise (\d+) · (.*)$", re.MULTILINE)


def pages(chapter: str, notebook: Any) -> dict[str, str]:
    """By file name, the page of each exercise of a chapter, and `index`, which lists them."""
    found = {name: _page(chapter, name, notebook) for name in tasks(notebook)}
    return {"index": _index(chapter, notebook), **found}


@functools.cache
def problems() -> list[dict[str, Any]]:
    """The whiteboard problems of public collections, from `notebooks/whiteboard.yml`."""
    found: list[dict[str, Any]] = yaml.safe_load((CODE / "notebooks" / "whiteboard.yml").read_text(encoding="utf-8"))
    return found


def title(notebook: Any, name: str) -> str:
    """An exercise's title, without its number."""
    match = _NUMBER.search(_cell(notebook, name, "task").source)
    assert match, f"{name} has no heading"
    return match[2]


def _index(chapter: str, notebook: Any) -> str:
    words = (cell.source for cell in notebook.cells if cell.cell_type == "markdown" and not role(cell))
    rows = [
        f"{number} | [{title(notebook, name)}]({name}.md) | {about['kind']} | {about['points']} | {about['minutes']}"
        for number, (name, about) in enumerate(tasks(notebook).items(), 1)
    ]
    return page(
        *(moved(each, "exercises") for each in words),
        _open(chapter),
        table("no. | exercise | kind | points | minutes", rows),
        contents(tasks(notebook)),
    )


def _page(chapter: str, name: str, notebook: Any) -> str:
    about = tasks(notebook)[name]
    task = _HINT.sub("*", _NUMBER.sub(r"# \2", _cell(notebook, name, "task").source))
    task = _POINTS.sub(f"*{about['kind'].capitalize()} · about {about['minutes']} minutes · ", task)
    setup = "\n\n\n".join(cell.source for cell in notebook.cells if role(cell) == "setup")
    check = _cell(notebook, name, "check")
    shown = "\n".join(output.data["text/plain"] for output in check.outputs)
    asked = [problem for problem in problems() if name in problem["exercises"].get(chapter, ())]
    also = "; ".join(f"{each['name']} (in {each['collections']} of 23 collections)" for each in asked)
    return page(
        moved(task, "exercises"),
        entries(name for each in asked for name in (each["name"], *each["chinese"].split("、"))),
        f"[At the whiteboard](/whiteboard.md): {also}." if also else "",
        _open(chapter),
        "## Where you write",
        code(_cell(notebook, name, "solution").source),
        folded("The cells above it", code(setup)),
        folded("The check below it, and what a right answer shows", page(code(check.source), code(shown, "text"))),
        f"Stuck? `course hint {name}` gives a hint, and a stronger one each time.",
    )


def _open(chapter: str) -> str:
    """How to open the notebook: in a browser where the repository has an address, and in a clone."""
    path = f"exercises/{chapter}.ipynb"
    ways = [f"[Lesson {key(chapter)}](/lessons/{chapter}.ipynb)"]
    ways += [f"[Open in {where}]({there})" for where, there in openers(address(CODE), path).items()]
    where = "Open JupyterLab with `course lab`, or in a clone with `make lab`: [how to start](/index.md#start). "
    where += f"The notebook is `{path}`."
    return page(f"{{.open}}\n{' '.join(ways)}", where)


def _cell(notebook: Any, name: str, kind: str) -> Any:
    return next(cell for cell in notebook.cells if role(cell) == kind and exercise_of(cell) == name)
