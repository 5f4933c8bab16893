"""A grade as pages for learners: one for each submission, and an overview for the teacher."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from course.files import Course, write_atomically
from course.grading.report import Report, Result
from course.learner.feedback import clean, feedback, tasks_of, titles_of, verdict_of
from course.reports.gradebook import Entry, Rules, in_utc
from course.reports.overview import chapters, learners
from course.sandbox.launch import description


def write_html(report: Report, rows: Sequence[Entry], rules: Rules, folder: Path, course: Course) -> Path:
    """Write the pages into a folder; the overview is its `index.html`.

    The pages load nothing, and no page of a learner leads to another's. The overview has a short script, which sorts
    its tables; all that it shows is there without it.

    Args:
        report: the grade.
        rows: the gradebook made of it.
        rules: by which it was made.
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
    environment.filters |= {"clean": clean, "code": _code, "verdict": verdict_of, "utc": in_utc}
    environment.globals |= {"seed": report.seed, "sandbox": description(), "titles": titles}
    counted = {row.result.path: row for row in rows}
    for result in report.submissions:
        shown = [feedback(item, tasks) for item in result.items]
        page = environment.get_template("learner.html")
        text = page.render(result=result, items=shown, entry=counted.get(result.path), rules=rules)
        write_atomically(folder / page_name(result), text)
    script = (Path(__file__).parents[1] / "templates" / "sort.js").read_text(encoding="utf-8")
    overview, page = folder / "index.html", environment.get_template("overview.html")
    text = page.render(
        rules=rules,
        files=len(report.submissions),
        page_of={result.path: page_name(result) for result in report.submissions},
        chapters=chapters(rows),
        learners=learners(rows),
        without=[row for row in rows if not row.result.chapter],
        others=[each for row in rows for each in row.others],
        script=Markup(script),
        script_digest=f"sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
    )
    write_atomically(overview, text)
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
