"""A grade as pages for learners: one for each submission, and an overview for the teacher."""

import hashlib
import itertools
import re
import unicodedata
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from course.checks.printable import clean
from course.files import Course, write_atomically
from course.grading.report import Report
from course.reports.feedback import feedback, tasks_of, titles_of, verdict_of
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
    counted, names = {row.result.path: row for row in rows}, page_names(rows)
    for result in report.submissions:
        shown = [feedback(item, tasks) for item in result.items]
        page = environment.get_template("learner.html")
        text = page.render(result=result, items=shown, entry=counted.get(result.path), rules=rules)
        write_atomically(folder / names[result.path], text)
    script = (Path(__file__).parents[1] / "templates" / "sort.js").read_text(encoding="utf-8")
    overview, page = folder / "index.html", environment.get_template("overview.html")
    text = page.render(
        rules=rules,
        files=len(report.submissions),
        page_of=names,
        chapters=chapters(rows),
        learners=learners(rows),
        without=[row for row in rows if row.result.path and not row.result.chapter],
        others=[each for row in rows for each in row.others],
        script=Markup(script),
        script_digest=f"sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
    )
    write_atomically(overview, text)
    return overview


def page_names(rows: Sequence[Entry]) -> dict[str, str]:
    """By a submission's path, its page's name: the student and the chapter, and a number for each further file.

    Names differ on file systems that ignore case and accents' forms, too. Where no student is known, the path stands.
    """
    names: dict[str, str] = {}
    taken = {"index"}
    for row in rows:
        for result in filter(lambda each: each.path, (row.result, *row.others)):
            called = "-".join(filter(None, [row.student or result.path.removesuffix(".ipynb"), result.chapter]))
            readable = re.sub(r"\W+", "-", unicodedata.normalize("NFKC", called)).strip("-")[-50:] or "page"
            free = (f"{readable}-{count}" if count > 1 else readable for count in itertools.count(1))
            names[result.path] = next(name for name in free if name.casefold() not in taken)
            taken.add(names[result.path].casefold())
    return {path: f"{name}.html" for path, name in names.items()}


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
