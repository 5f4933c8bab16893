"""A grade as pages for learners: one for each submission, and an overview for the teacher."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from course.files import Course, write_atomically
from course.grading.report import Report, Result
from course.learner.feedback import clean, feedback, tasks_of, titles_of, verdict_of
from course.sandbox.outside import description


def write_html(report: Report, folder: Path, course: Course) -> Path:
    """Write the pages into a folder; the overview is its `index.html`.

    The pages are whole in themselves: no script, nothing is loaded, and no page of a learner leads to another's.

    Args:
        report: the grade.
        folder: is made if it is not there. Other files in it stay.
        course: whose notebooks hold the exercises' titles and hints.

    Returns:
        The overview's path.
    """
    tasks, titles = tasks_of(course), titles_of(course)
    environment = Environment(
        loader=PackageLoader("course"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"clean": clean, "code": _code, "verdict": verdict_of}
    environment.globals |= {"seed": report.seed, "sandbox": description(), "titles": titles}
    pages = [(result, page_name(result)) for result in report.submissions]
    for result, name in pages:
        shown = [feedback(item, tasks) for item in result.items]
        write_atomically(folder / name, environment.get_template("learner.html").render(result=result, items=shown))
    overview = folder / "index.html"
    write_atomically(overview, environment.get_template("overview.html").render(pages=pages))
    return overview


def page_name(result: Result) -> str:
    """The file's name of a submission's page, which no other path has: what can be read of it, and its SHA-256."""
    readable = re.sub(r"[^A-Za-z0-9_-]+", "-", result.path.removesuffix(".ipynb")).strip("-")[-80:]
    return f"{readable}-{hashlib.sha256(result.path.encode()).hexdigest()}.html"


def _code(text: str) -> Markup:
    """Text, escaped, with what stands in backticks as code; a fence of three of them makes a block."""
    return Markup("").join(_pieces(text))


def _pieces(text: str) -> Iterator[Markup]:
    for number, piece in enumerate(re.split(r"```(?:\w*\n)?", text)):
        if number % 2:
            yield Markup("<pre>{}</pre>").format(piece.strip("\n"))
        else:
            for place, word in enumerate(piece.split("`")):
                yield Markup("<code>{}</code>").format(word) if place % 2 else escape(word)
