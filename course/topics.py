"""What chapter 00 shows of the whole course: the chapters with their questions, and an index by the notes' terms.

Both are made from `topics.yml` and `chapters.yml` beside the lessons (docs/authoring.md, *Topics*).
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


def _read(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((folder / f"{name}.yml").read_text(encoding="utf-8"))
    return found
