"""How long a lesson and its exercises take, and the short path through a lesson: the line below its title.

The short path is for someone with an interview tomorrow: the sections whose first cell has the tag `short`, and each
question with its answer. All minutes follow from the formula below; docs/authoring.md, *Minutes*, says where its
numbers are from.
"""

import re
from collections.abc import Sequence

from nbformat import NotebookNode

from course.source.cells import text_id

WORDS = 85.0
"""Of a text that are read in a minute, with the thought that they need."""
ANSWER_WORDS = 120.0
"""Of a folded answer, in a minute."""
LINES = 7.0
"""Of code that are read and run in a minute, with what they show."""
QUESTION = 0.5
"""Minutes to think about a question before its answer is opened."""
EXERCISE, POINT = 2.0, 3.5
"""Minutes for the task of an exercise, and for each of its points."""

SHORT = "short"
"""The tag."""

OPTIONAL = re.compile(r"^## If you have time$", re.MULTILINE)
"""The heading after which everything is optional, and counts neither for a lesson's size nor for its minutes."""

_HEADING = re.compile(r"^##+ (.+)$", re.MULTILINE)
_ANSWER = re.compile(r"^<details.*?^</details>", re.MULTILINE | re.DOTALL)
_QUESTION = re.compile(r"^\*\*Interview · .+\*\*$", re.MULTILINE)


def words(markdown: str) -> int:
    """Counted as they are read: code, tables, headings, folded answers, addresses of links and lone signs aside."""
    text = _ANSWER.sub("", re.sub(r"^```.*?^```", "", markdown, flags=re.MULTILINE | re.DOTALL))
    text = re.sub(r"^(#|\|).*", "", text, flags=re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def lines(code: str) -> int:
    """Of code, as they are read: blank ones don't count."""
    return sum(bool(line.strip()) for line in code.splitlines())


def parted(cells: Sequence[NotebookNode]) -> tuple[list[NotebookNode], list[NotebookNode]]:
    """The cells of a lesson that count, and the optional ones; a cell with the heading between them is divided."""
    for place, cell in enumerate(cells):
        if cell.cell_type == "markdown" and (found := OPTIONAL.search(cell.source)):
            halves = (
                {**cell, "source": cell.source[: found.start()]},
                {**cell, "source": cell.source[found.start() :]},
            )
            before, after = map(NotebookNode, halves)
            return [*cells[:place], before], [after, *cells[place + 1 :]]
    return [*cells], []


def of_lesson(cells: Sequence[NotebookNode]) -> float:
    """The minutes that these cells of a lesson take, optional ones included."""
    shown = [cell for cell in cells if not cell.metadata.get("jupyter", {}).get("source_hidden")]
    code = sum(lines(cell.source) for cell in shown if cell.cell_type == "code")
    return code / LINES + sum(_of_text(cell.source) for cell in shown if cell.cell_type == "markdown")


def _of_text(markdown: str) -> float:
    return words(markdown) / WORDS + _of_questions(markdown)


def _of_questions(markdown: str) -> float:
    answers = sum(len(each.split()) for each in _ANSWER.findall(markdown))
    return answers / ANSWER_WORDS + len(_QUESTION.findall(markdown)) * QUESTION


def of_exercise(points: int) -> int:
    """The minutes that are stated for an exercise of so many points, unless its source names others."""
    return round(EXERCISE + points * POINT)


def mark_short_path(cells: Sequence[NotebookNode]) -> None:
    """Give the tag to all cells of a section whose first cell has it."""
    short = False
    for cell in cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "markdown" and _HEADING.search(cell.source):
            short = SHORT in tags
        elif short and SHORT not in tags:
            cell.metadata["tags"] = [*tags, SHORT]


def of_short_path(cells: Sequence[NotebookNode]) -> float:
    """The minutes of the short path: the cells with the tag, and the questions of the others."""
    short = [cell for cell in cells if SHORT in cell.metadata.get("tags", [])]
    others = [cell.source for cell in cells if cell.cell_type == "markdown" and cell not in short]
    return of_lesson(short) + sum(map(_of_questions, others))


def announce(built: NotebookNode, chapter: str, exercises: Sequence[int]) -> None:
    """Say below a lesson's title how long it and its exercises take, and where the short path leads.

    Args:
        exercises: the minutes of each.
    """
    mark_short_path(built.cells)
    sections = [
        f"[{heading[1]}]({chapter}.ipynb#{heading[1].replace('`', '').replace(' ', '-')})"
        for cell in built.cells
        if SHORT in cell.metadata.get("tags", []) and cell.cell_type == "markdown"
        if (heading := _HEADING.search(cell.source))
    ]
    needed, optional = parted(built.cells)
    said = f"The lesson takes about {in_fives(of_lesson(needed))} minutes"
    if extra := in_fives(of_lesson(optional)):
        said += f", its optional end another {extra}"
    if exercises:
        said += f", the exercises another {in_fives(sum(exercises))}"
    if sections:
        said += f". Is your interview tomorrow? Read for {in_fives(of_short_path(built.cells))} minutes: "
        said += f"{', '.join(sections)}, and each question marked *Interview*"
    title, heading, rest = built.cells[0].source.partition("\n\n## ")
    built.cells[0].source = f"{title}\n\n{said}.{heading}{rest}"
    built.cells[0].id = text_id(built.cells[0].source)


def in_fives(minutes: float) -> int:
    """Minutes as they are stated."""
    return round(minutes / 5) * 5
