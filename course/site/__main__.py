"""Writes the sources of the site: `python -m course.site FOLDER`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from course.files import CODE, Course
from course.notebooks.notebook import tasks, write
from course.site import api, exercises, frames, indexes, lessons, licences
from course.site.address import address, archived, served
from course.site.links import UNLISTED, addressed, moved
from course.site.markdown import contents, page
from course.site.shown import Pictures


def main(folder: Path) -> None:
    """Write all pages as Sphinx reads them, in place of what the folder held."""
    course = Course(CODE)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(frames.STORE / "static", folder / "_static")
    shutil.copy(frames.STORE / "conf.py", folder)
    shutil.copytree(course.notebooks, folder / "downloads", ignore=shutil.ignore_patterns("*.yml", "files", ".*"))
    shutil.copytree(frames.STORE / "templates", folder / "_templates")
    shutil.copy(CODE / "docs" / "images" / "lesson.png", folder / "_static" / "preview.png")
    for name, value in {"address": address(CODE), "served": served(CODE)}.items():
        (folder / name).write_text(value, encoding="utf-8")  # conf.py reads them
    is_offered = not address(CODE) and archived(CODE, folder / indexes.ARCHIVE)
    pictures = Pictures(folder / "_static")
    taught = {path.stem: frames.read(path) for path in sorted(course.notebooks.glob("*.ipynb"))}
    unsolved = {path.stem: frames.read(path) for path in sorted(course.pristine.glob("*.ipynb"))}
    found = [each for chapter, notebook in taught.items() for each in lessons.questions(chapter, notebook)]
    asked = {
        part: f"/exercises/{chapter}/{name}.md"
        for chapter, notebook in unsolved.items()
        for name, about in tasks(notebook).items()
        for part in about["parts"]
    }
    pages = {
        "index.md": indexes.front(taught, unsolved, found, Pictures(folder / "_static", up=""), is_offered),
        "lessons/index.md": indexes.lesson_list(taught),
        "exercises/index.md": indexes.exercise_list(unsolved),
        "questions.md": indexes.questions(taught, found),
        "topics.md": indexes.topics(taught, unsolved),
        "whiteboard.md": indexes.whiteboard(unsolved),
        "licences.md": licences.page(),
    }
    for chapter in taught:
        pages[f"lessons/{chapter}.ipynb"] = write(lessons.page(course.notebooks / f"{chapter}.ipynb", pictures))
    for chapter, notebook in unsolved.items():
        for name, text in exercises.pages(chapter, notebook).items():
            pages[f"exercises/{chapter}/{name}.md"] = text
    for library, listed in {
        "minitorch": api.minitorch_pages(),
        "mytorch": api.mytorch_pages(course.reference, asked),
    }.items():
        pages |= {f"api/{name}.md": text for name, text in listed.items()}
        pages[f"api/{library}-index.md"] = _contents(library, listed)
    for path in sorted((CODE / "docs").glob("*.md")):
        if path.name not in UNLISTED:
            pages[f"guides/{path.name}"] = moved(addressed(path.read_text(encoding="utf-8")), "docs")
    for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
        pages[f"guides/{name.lower()}"] = moved(addressed((CODE / name).read_text(encoding="utf-8")), "")
    pages["guides/index.md"] = (frames.STORE / "guides.md").read_text(encoding="utf-8")
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _contents(library: str, listed: dict[str, str]) -> str:
    about = {
        "minitorch": "What PyTorch's documentation describes, here in one sentence each.",
        "mytorch": "The library that you write. The links lead to the exercises that ask for a definition.",
    }
    short = [f"{name.removeprefix(f'{library}.')} <{name}>" for name in sorted(listed)]
    return page(f"# {library}", about[library], contents(short, ":maxdepth: 1"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
