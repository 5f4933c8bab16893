"""What is meant by a name on the command line: a chapter, or an exercise that is spelled almost so."""

import difflib
import re
from collections.abc import Iterable
from pathlib import Path

from course.chapters import key
from course.files import Course


def chapter(course: Course, name: str) -> str:
    """The chapter called so: 06, 6, 20b, 06_computation_graph, or the path of its notebook; empty if there is none."""
    stem = re.sub(r"^(?=\d[a-z]?$)", "0", Path(name).stem)
    chapters = (path.stem for path in sorted(course.pristine.glob("*.ipynb")))
    return next((each for each in chapters if stem in (each, str(key(each)))), "")


def notebook(course: Course, path: Path) -> Path:
    """The learner's notebook of a chapter that is only named (06), where there is no such file; else the path."""
    named = chapter(course, path.name) if path.name == str(path) and not path.suffix and not path.exists() else ""
    found, here = course.exercises / f"{named}.ipynb", Path.cwd()
    return path if not named else found.relative_to(here) if found.is_relative_to(here) else found


def suggestion(name: str, known: Iterable[str]) -> str:
    """The known names that are spelled almost as `name`, as the end of a sentence; empty if none is."""
    close = difflib.get_close_matches(name, list(known), cutoff=0.75)
    return f"; did you mean {' or '.join(close)}?" if close else ""
