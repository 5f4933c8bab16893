"""The pages of the lessons: their notebooks, with targets that other pages link to."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from course.authoring.places import COLAB
from course.chapters import key
from course.files import CODE
from course.notebooks.lesson_text import OPENING
from course.notebooks.notebook import v4
from course.site.frames import MERMAID, read
from course.site.links import moved, outside_code
from course.site.markdown import entries
from course.site.shown import Pictures

_HEADING = re.compile(r"^(#{2,4} .*)$", re.MULTILINE)
_QUESTION = re.compile(r"^\*\*Interview · (.*?)\*\*$", re.MULTILINE)
_ANSWER = re.compile(rf"\s*{OPENING}\n(.*?)</details>", re.DOTALL)
CELL = re.compile(r"\]\((\w+)\.ipynb#cell-id=([\w-]+)\)")
"""A link to a cell: its chapter and its id."""
_SECTION = re.compile(r"\]\((?:(\w+)\.ipynb)?#([^)=]+)\)")


@dataclass(frozen=True)
class Question:
    """A question of an interview, and the answer that its lesson gives."""

    chapter: str
    words: str
    answer: str

    @property
    def target(self) -> str:
        """The name of its place."""
        return f"q-{key(self.chapter)}-{slug(self.words)}"


def slug(text: str) -> str:
    """A name for a place, of letters and digits; Chinese ones stay."""
    return re.sub(r"[\W_]+", "-", text.lower()).strip("-")


def heading_target(chapter: str, heading: str) -> str:
    """The name of a section's place, from its heading as the lesson writes it."""
    return f"h-{key(chapter)}-{slug(heading)}"


def title(notebook: Any) -> str:
    """The first heading of a notebook."""
    return str(notebook.cells[0].source.splitlines()[0].removeprefix("# "))


def questions(chapter: str, notebook: Any) -> list[Question]:
    """The questions of a lesson, in its order, with the answers that are folded below them."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts = _QUESTION.split(cell.source)
            for words, after in zip(parts[1::2], parts[2::2], strict=True):
                answer = _ANSWER.match(after)
                found.append(Question(chapter, words, answer[1].strip() if answer else ""))
    return found


def text(source: str, chapter: str) -> str:
    """A lesson's text for its page: links lead to pages, sections and cells; headings and questions get names.

    A blank line stands before a name: right after a list it would be text of the list's last item.
    """
    source = outside_code(_SECTION, lambda each: f"](#{heading_target(each[1] or chapter, each[2])})", source)
    source = outside_code(CELL, lambda each: f"](#{cell_target(each[1], each[2])})", source)
    source = moved(source, "notebooks")
    source = outside_code(
        _HEADING, lambda each: f"\n({heading_target(chapter, each[1].lstrip('# '))})=\n{each[1]}", source
    )
    return outside_code(_QUESTION, lambda each: f"\n({Question(chapter, each[1], '').target})=\n{each[0]}", source)


def cell_target(chapter: str, identifier: str) -> str:
    """The name of a cell's place."""
    return f"cell-{key(chapter)}-{identifier}"


def proof_target(chapter: str, notebook: Any, name: str) -> str:
    """The name of the place of the cell that proves something."""
    cell = next(each for each in notebook.cells if f"proof-{name}" in each.metadata.get("tags", []))
    return cell_target(chapter, cell.id)


def page(path: Path, pictures: Pictures) -> Any:
    """The notebook of a lesson as the site shows it. It is not run."""
    chapter, notebook, cells = path.stem, read(path), []
    for cell in (each for each in notebook.cells if each.id != COLAB):
        if cell.cell_type == "markdown":
            cells.append(_markdown(text(cell.source, chapter)))
            continue
        if cell.metadata.get("tags"):
            cells.append(_markdown(f"({cell_target(chapter, cell.id)})="))
        hidden = cell.metadata.get("jupyter", {}).get("source_hidden")
        cell.metadata = {"tags": ["hide-input"]} if hidden else {}
        written = [each for each in cell.outputs if "text/markdown" in each.get("data", {})]
        cell.outputs = [_output(chapter, each, pictures) for each in cell.outputs if each not in written]
        cells.append(cell)
        cells.extend(_markdown(text(each.data["text/markdown"], chapter)) for each in written)
    cells[0].source = f"{_opened(cells[0].source, chapter)}\n\n{entries(_chinese().get(chapter, ()))}"
    notebook.cells = cells
    return notebook


@functools.cache
def _chinese() -> dict[str, list[str]]:
    """The names under which a lesson is searched for, by chapter, from `notebooks/chinese.yml`."""
    found: dict[str, list[str]] = yaml.safe_load((CODE / "notebooks" / "chinese.yml").read_text(encoding="utf-8"))
    return found


def _markdown(source: str) -> Any:
    return v4.new_markdown_cell(source)


def _opened(source: str, chapter: str) -> str:
    """The first cell, with a way to the exercises below the title."""
    first, _, rest = source.partition("\n")
    ways = (
        f"[Exercises](/exercises/{chapter}/index.md) {{download}}`Download the notebook </downloads/{chapter}.ipynb>`"
    )
    return f"{first}\n\n{{.open}}\n{ways} [How to start](/index.md#start)\n\n{rest}"


def _output(chapter: str, output: Any, pictures: Pictures) -> Any:
    data = output.get("data", {})
    if MERMAID in data:
        output.data = {"text/html": pictures.graph(data[MERMAID])}
    elif "text/html" in data:
        output.data = {"text/html": pictures.page(chapter, data["text/html"], data.get("text/plain", ""))}
    return output
