"""`course release`: what a student gets, without the solutions; and what grades, without what only authors need."""

import subprocess
import zipfile
from pathlib import Path

from course.files import Course

# Sources and tests of exercises hold the answers; the workflow is for the teacher's repository.
NOT_STUDENTS = ("solutions/", "chapters/", "tests/course/", ".github/workflows/grade.yml")
KEPT = "solutions/mytorch/"  # what is not solved yet runs on it
NOT_GRADERS = ("chapters/", "tests/", "notebooks/", "benchmarks/", "docs/images/", ".ci/", ".github/workflows/ci.yml")
_TIME = (1980, 1, 1, 0, 0, 0)  # zip's first; the same files make the same bytes


def release(course: Course, path: Path, grader: bool = False) -> int:
    """Write a zip archive of files that git knows.

    A student's holds no solutions, and no exercise is solved in it. The reference of mytorch is in it: whatever part is
    not the learner's yet comes from there. A grader's holds the packages, the solutions and the exercises as built.

    Args:
        course: whose files.
        path: the archive.
        grader: write the grader's instead of the student's.

    Returns:
        How many files it holds.

    Raises:
        FileNotFoundError: the course is not in a git repository, or has no exercises there.
    """
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=course.root, capture_output=True, text=True, check=False)
    left_out, kept = (NOT_GRADERS, ()) if grader else (NOT_STUDENTS, (KEPT,))
    names = [n for n in listed.stdout.split("\0") if n and (n.startswith(kept) or not n.startswith(left_out))]
    if not any(name.startswith("exercises/") for name in names):
        raise FileNotFoundError(f"git knows no exercises in {course.root}")
    folder = "minitorch-grader" if grader else "minitorch-course"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(names):
            pristine = course.pristine / Path(name).name
            unsolved = (course.root / name).parent == course.exercises and pristine.exists()
            content = (pristine if unsolved else course.root / name).read_bytes()
            archive.writestr(zipfile.ZipInfo(f"{folder}/{name}", _TIME), content)
    return len(names)
