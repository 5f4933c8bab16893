"""What chapter 00 shows of the whole course: the chapters with their questions, and indexes of topics and problems.

They are made from `topics.yml`, `chapters.yml` and `whiteboard.yml` beside the lessons (docs/authoring.md, *Topics*).
"""

import re
from pathlib import Path
from typing import Any

import yaml
from IPython.display import Markdown


def chapter_map(folder: Path = Path()) -> Markdown:
    """The chapters of the course, each with its interview questions."""
    topics = _read(folder, "topics")
    table = "| | chapter | questions |\n|---|---|---|"
    for chapter, subject in _read(folder, "chapters").items():
        places = [place for each in topics.values() for place in each if place["chapter"] == chapter]
        asked = "<br>".join(dict.fromkeys(question for place in places for question in place["questions"]))
        title = f"[{subject}]({chapter}.ipynb)" if asked else subject
        table += f"\n| {chapter.partition('_')[0]} | {title} | {asked or '*not written yet*'} |"
    return Markdown(table)  # type: ignore[no-untyped-call]


def notes_index(folder: Path = Path()) -> Markdown:
    """The topics of the Chinese notes by number and term, each with the section that teaches it."""
    topics = _read(folder, "topics")
    table = "| 笔记 | chapter | section |\n|---|---|---|"
    for topic in sorted(topics, key=lambda name: (name[0], [int(each) for each in re.findall(r"\d+", name)], name)):
        for place in topics[topic]:
            if "notes" in place:
                chapter, heading = place["chapter"], place["heading"]
                anchor = heading.replace("`", "").replace(" ", "-")
                table += f"\n| {place['notes']} | {chapter.partition('_')[0]} | [{heading}]({chapter}.ipynb#{anchor}) |"
    return Markdown(table)  # type: ignore[no-untyped-call]


def whiteboard_index(folder: Path = Path()) -> Markdown:
    """The whiteboard problems by their usual names, most asked first, each with the exercises that ask for it."""
    table = "| problem | 中文 | exercises |\n|---|---|---|"
    for problem in _read(folder, "whiteboard"):
        links = ", ".join(
            f"[{chapter.partition('_')[0]}](../exercises/{chapter}.ipynb) {', '.join(f'`{name}`' for name in names)}"
            for chapter, names in problem["exercises"].items()
        )
        table += f"\n| {problem['name']} | {problem['chinese']} | {links} |"
    return Markdown(table)  # type: ignore[no-untyped-call]


def _read(folder: Path, name: str) -> Any:
    found: Any = yaml.safe_load((folder / f"{name}.yml").read_text(encoding="utf-8"))
    return found
