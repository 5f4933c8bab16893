"""Pages that lead to others: the topics by the notes' terms, the questions, the exercises, the front page."""

from __future__ import annotations

import html
import re
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from course.authoring.places import openers
from course.chapters import key
from course.files import CODE
from course.notebooks.lesson_text import spoken
from course.notebooks.notebook import tasks
from course.site import exercises, frames
from course.site.address import address
from course.site.lessons import Question, heading_target, proof_target, text, title
from course.site.markdown import code, contents, folded, page, table
from course.site.shown import Pictures
from course.source.kinds import KINDS
from course.source.minutes import in_fives

Notebooks = dict[str, Any]
"""The notebooks of the chapters that are written, by name."""

ARCHIVE = "_static/minitorch-course.zip"
"""The course as the site offers it, where the repository has no address."""

_FILTER = """\
```{raw} html
<form class="filter" role="search" aria-label="Questions" hidden>
<label>Words <input type="search" placeholder="in questions and answers"></label>
<label>Chapter <select><option value="">All chapters</option></select></label>
<button type="reset">Show all</button>
<output aria-live="polite"></output>
</form>
```"""  # hidden without the script that it needs, filter.js; the list of chapters below is there for all


_NARROW = """\
```{raw} html
<form class="filter rows" role="search" aria-label="Problems" hidden>
<label>Words <input type="search" placeholder="GQA, NMS, 手撕 DPO"></label>
<button type="reset">Show all</button>
<output aria-live="polite"></output>
</form>
```"""  # the same for the rows of the table below it


def topics(lessons: Notebooks, unsolved: Notebooks) -> str:
    """The index by the terms of the Chinese notes, from `notebooks/topics.yml`."""
    known = yaml.safe_load((CODE / "notebooks" / "topics.yml").read_text(encoding="utf-8"))
    rows: list[tuple[list[int], str]] = []
    myths = []
    for name, places in known.items():
        for place in places:
            chapter = place["chapter"]
            section, term = place["heading"], place.get("notes", "")
            proof = f"[{spoken(place['proof'])}](#{proof_target(chapter, lessons[chapter], place['proof'])})"
            titles = {each: exercises.title(unsolved[chapter], each) for each in place["exercises"]}
            asked = (f"[{words}](/exercises/{chapter}/{each}.md)" for each, words in titles.items())
            target, rest = heading_target(chapter, place["heading"]), f"{', '.join(asked)} | {proof} | {key(chapter)}"
            if name.startswith("Myth"):
                claim = section.partition(" · ")[2].strip('"') or section
                myths.append(f"[{claim}](#{target}) | {rest}")
            else:
                number = [int(part) for part in re.findall(r"\d+", term.partition(" ")[0])] or [99]
                rows.append((number, f"{term} | [{section}](#{target}) | {rest}"))
    ordered = (row for _, row in sorted(rows, key=lambda each: each[0]))
    return page(
        "# Topics",
        "Each term of the Chinese interview notes that the course mirrors: the section that teaches it, the cell that "
        "shows it, the exercises that grade it.",
        "{.stacked .topics}\n" + table("term | section | exercises | shown by | chapter", dict.fromkeys(ordered)),
        "## Myths",
        "You'll hear these claims, and they are wrong.",
        "{.stacked .myths}\n" + table("the claim | exercises | shown by | chapter", dict.fromkeys(myths)),
    )


def whiteboard(unsolved: Notebooks) -> str:
    """The whiteboard problems by their usual names, most asked first, from `notebooks/whiteboard.yml`."""
    rows = []
    for problem in exercises.problems():
        named = ((chapter, name) for chapter, names in problem["exercises"].items() for name in names)
        asked = [(*each, tasks(unsolved[each[0]])[each[1]]) for each in named if each[0] in unsolved]
        links = ", ".join(
            f"[{exercises.title(unsolved[chapter], name)}](/exercises/{chapter}/{name}.md)"
            for chapter, name, _ in asked
        )
        kinds = ", ".join(dict.fromkeys(about["kind"] for *_, about in asked))
        minutes, points = (str(sum(about[each] for *_, about in asked)) for each in ("minutes", "points"))
        row = (problem["name"], links, str(problem["collections"]), minutes, points, kinds, problem["chinese"])
        rows.append(" | ".join(row))
    return page(
        "# Whiteboard",
        "The problems that public collections ask for, under the names that people search for, with the number of "
        "collections, out of 23, that contain them. The minutes are those of all exercises in a row, each of which is "
        "graded on inputs that nobody has seen before.",
        _NARROW,
        "{.stacked .problems}\n" + table("problem | exercises | collections | minutes | points | kind | 中文", rows),
    )


def questions(lessons: Notebooks, found: list[Question]) -> str:
    """All questions, chapter by chapter, with their answers folded."""
    parts = [
        "# Interview questions",
        f"{len(found)} questions about PyTorch, each with an answer. Answer aloud, then open it.",
        _FILTER,
        "Chapters: " + ", ".join(f"[{title(notebook)}](#questions-{chapter})" for chapter, notebook in lessons.items()),
    ]
    for chapter, notebook in lessons.items():
        parts.append(f"(questions-{chapter})=\n## {key(chapter)} · {title(notebook)}")
        for each in (each for each in found if each.chapter == chapter):
            answer = f"{text(each.answer, chapter)}\n\n[In the lesson](#{each.target})"
            parts += [f"### {each.words}", folded("The answer", answer)]
    return page("---\nhide-toc: true\n---", *parts)  # more headings than a side has room for; the search has them all


def exercise_list(unsolved: Notebooks) -> str:
    """The chapters' exercises, how many there are and their points."""
    rows, listed = [], []
    for chapter, notebook in unsolved.items():
        about = tasks(notebook).values()
        subject, points = title(notebook).removeprefix("Exercises · "), sum(each["points"] for each in about)
        kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(each["kind"] for each in about).items())
        minutes = in_fives(sum(each["minutes"] for each in about))
        first = f"{key(chapter)} | [{subject}](/exercises/{chapter}/index.md) | {len(about)}"
        rows.append(f"{first} | {kinds} | {points} | {minutes}")
        listed.append(f"{key(chapter)} · {subject} </exercises/{chapter}/index>")
    meanings = (f"{name} | {re.split('[:.]', each.__doc__ or '')[0]}." for name, each in KINDS.items())
    return page(
        "# Exercises",
        "Each exercise has a page. You do it in its notebook, and it is graded on inputs that nobody has seen before.",
        table("no. | chapter | exercises | kinds | points | minutes", rows),
        "## Kinds",
        table("kind | what you do", meanings),
        contents(listed),
    )


def lesson_list(lessons: Notebooks) -> str:
    """The chapters and their subjects; those that are not written yet have no link."""
    subjects = yaml.safe_load((CODE / "notebooks" / "chapters.yml").read_text(encoding="utf-8"))
    rows = (
        f"{key(chapter)} | [{title(lessons[chapter])}](/lessons/{chapter}.ipynb) | {subject}"
        if chapter in lessons
        else f"{key(chapter)} | *not written yet* | {subject}"
        for chapter, subject in subjects.items()
    )
    listed = (f"{key(chapter)} · {title(notebook)} </lessons/{chapter}>" for chapter, notebook in lessons.items())
    return page("# Lessons", table("no. | lesson | about", rows), contents(listed))


def front(
    lessons: Notebooks, unsolved: Notebooks, found: list[Question], pictures: Pictures, is_offered: bool = False
) -> str:
    """The front page: what you build, as text that is written and pictures that move, and how to begin.

    `is_offered`: the site has the course itself, as `ARCHIVE`.
    """
    about = yaml.safe_load((frames.STORE / "front.yml").read_text(encoding="utf-8"))
    graded = [each for notebook in unsolved.values() for each in tasks(notebook).values()]
    moving = "\n".join(_moves(each, lessons, pictures) for each in about["moves"] if each["chapter"] in lessons)
    source = (frames.STORE / "front.md").read_text(encoding="utf-8")
    services = openers(address(CODE), f"notebooks/{min(lessons)}.ipynb")
    ways = " ".join(f"[{name}]({there})" for name, there in services.items())
    values = {
        "WRITTEN": html.escape(_printed(lessons[about["writes"]["chapter"]], about["writes"]["proof"])),
        "MOVES": moving,
        "LESSONS": len(lessons),
        "EXERCISES": len(graded),
        "POINTS": sum(each["points"] for each in graded),
        "QUESTIONS": len(found),
        "FIRST": min(lessons),
        "WAYS_IN": _ways_in(address(CODE), is_offered),
        "WAYS": f"In a browser, without installing anything: {ways}" if ways else "",
    }
    return re.sub(r"@([A-Z_]+)@", lambda match: str(values[match[1]]), source)


def _ways_in(repository: str, is_offered: bool) -> str:
    """How a reader begins: with pip or a clone; without an address, with the archive that the site offers."""
    needs = "You need Python 3.11 or newer, git and, for a clone, GNU make."
    if not repository and is_offered:
        name = Path(ARCHIVE).name
        link = f'<a href="{ARCHIVE}" download>{name}</a>'
        return page(
            f"You need Python 3.11 or newer and GNU make. Download the whole course, {link}. Then, where you saved it:",
            code(f"unzip {name}\ncd {Path(ARCHIVE).stem}\nmake lab", "sh"),
        )
    if not repository:
        return page(needs, "In the folder of your clone:", code("make lab", "sh"))
    pip = f"""\
python3 -m venv learning
. learning/bin/activate
pip install "minitorch-course[course] @ git+{repository}"
course start learn
cd learn
course lab"""
    clone = f"git clone {repository} minitorch-course\ncd minitorch-course\nmake lab"
    return page(f"{needs} With pip, in a new environment:", code(pip, "sh"), "Or a clone:", code(clone, "sh"))


def _printed(notebook: Any, proof: str) -> str:
    """What the cell of this name printed."""
    cell = next(cell for cell in notebook.cells if proof in cell.metadata.get("tags", []))
    return "".join(output.text for output in cell.outputs if output.output_type == "stream").rstrip()


def _moves(about: dict[str, str], lessons: Notebooks, pictures: Pictures) -> str:
    """The first picture of a chapter that can be moved, below a sentence about it."""
    alts = [each for each in frames.texts(lessons[about["chapter"]], "text/plain") if frames.MOVES in each]
    found = frames.moving(about["chapter"], alts[0]) if alts else None
    if not found:
        return ""
    link = f'<a href="lessons/{about["chapter"]}.html">{html.escape(about["says"])}</a>'
    return f"<div><p>{link}</p>{pictures.moving(found, plays=True)}</div>"
