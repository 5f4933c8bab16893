"""`course release`: what a student gets, without the solutions; and what grades, without what only authors need."""

import json
import subprocess
import zipfile
from collections.abc import Iterable
from pathlib import Path

from course.files import CODE, Course
from course.learner import withheld
from course.learner.update import FOLDER
from course.source.assemble import read

# Sources and tests of exercises hold the answers; the workflows are the authors' and the teacher's.
# The site is made from the sources.
NOT_STUDENTS = (
    "solutions/",
    "chapters/",
    "tests/course/",
    "docs/site/",
    "requirements-site.lock",
    ".ci/",
    ".github/",
    "CONTRIBUTING.md",
)
KEPT = "solutions/mytorch/"  # what is not solved yet runs on it
STUDENTS = CODE / "course" / "templates" / "student"  # what they get besides, or instead
NOT_GRADERS = ("chapters/", "tests/", "notebooks/", "benchmarks/", "docs/images/", ".ci/", ".github/workflows/ci.yml")
_TIME = (1980, 1, 1, 0, 0, 0)  # zip's first; the same files make the same bytes


def release(
    course: Course, path: Path, grader: bool = False, graded: Iterable[str] = ()
) -> tuple[dict[str, bytes], list[str]]:
    """Write a zip archive of files that git knows.

    A student's holds no solved notebook, no source of one, and no exercise is solved in it; README and workflow are a
    student's. The reference of mytorch is in it, but for the parts of the graded chapters: whatever part is not the
    learner's yet comes from there. A grader's holds the packages, the solutions and the exercises as built.

    Args:
        course: whose files.
        path: the archive.
        grader: write the grader's instead of the student's.
        graded: chapters, by their numbers.

    Returns:
        The files, and the graded chapters' parts whose reference had to stay: mytorch cannot be imported without.

    Raises:
        FileNotFoundError: the course is not in a git repository, or has no exercises there.
        LookupError: a graded chapter has no exercise about a part of mytorch.
    """
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=course.root, capture_output=True, text=True, check=False)
    left_out, kept = (NOT_GRADERS, ()) if grader else (NOT_STUDENTS, (KEPT,))
    names = [n for n in listed.stdout.split("\0") if n and (n.startswith(kept) or not n.startswith(left_out))]
    if not any(name.startswith("exercises/") for name in names):
        raise FileNotFoundError(f"git knows no exercises in {course.root}")
    files = {name: _content(course, name) for name in names}
    needed: list[str] = []
    if not grader:
        files |= {
            each.relative_to(STUDENTS).as_posix(): each.read_bytes() for each in STUDENTS.rglob("*") if each.is_file()
        }
    if parts := withheld.chosen(course, graded):
        without, needed = withheld.without(read(course.reference), parts)
        files |= {f"{KEPT}{name}": text.encode() for name, text in without.items()}
        named = {part: exercise for part, exercise in parts.items() if part not in needed}
        files[f"solutions/{withheld.FILE}"] = f"{json.dumps(named, indent=1)}\n".encode()
    folder = "minitorch-grader" if grader else FOLDER
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            about = zipfile.ZipInfo(f"{folder}/{name}", _TIME)
            about.external_attr = (0o100755 if files[name].startswith(b"#!") else 0o100644) << 16
            archive.writestr(about, files[name], zipfile.ZIP_DEFLATED)
    return files, needed


def _content(course: Course, name: str) -> bytes:
    """A file as git knows it; of a notebook in `exercises/` the one that was built."""
    path, pristine = course.root / name, course.pristine / Path(name).name
    return (pristine if path.parent == course.exercises and pristine.exists() else path).read_bytes()
