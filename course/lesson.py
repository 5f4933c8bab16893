"""What a lesson's first cell calls."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from course.files import Course
from course.learner import package

if TYPE_CHECKING:
    from course.image import Picture


def mytorch(chapter: int | str) -> ModuleType:
    """Import mytorch as it is at the end of a chapter; `import mytorch` gives this package from now on.

    What the reader has solved is theirs, the rest is the reference's. In builds and tests of the course all of it is.
    """
    course = Course.find()
    mine = package.solved(course, chapter) if package.is_learners() else {}
    try:
        return package.with_parts(course, chapter, mine)
    except Exception as error:
        if not mine:
            raise
        print(f"mytorch with your parts cannot be imported here ({type(error).__name__}: {error}): the reference runs.")
        return package.with_parts(course, chapter, {})


def mytorch_with(parts: dict[str, str], chapter: int | str) -> ModuleType:
    """Import mytorch with these parts, by name, in the place of what was there: wrong ones, to see what they spoil."""
    course = Course.find()
    solved = package.solved(course, chapter) if package.is_learners() else {}
    return package.with_parts(course, chapter, solved | parts)


def mine() -> Picture:
    """How much of mytorch is the reader's, as a map of the package."""
    from course.learner import share
    from course.pictures import package_map

    return package_map(share.of(Course.find()))
