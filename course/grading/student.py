"""Whose a submission is, by its path."""

import re
from collections.abc import Collection, Iterable
from pathlib import PurePosixPath

_WORDS = "copy|copie|kopie|final|new|old|fixed|solved"
_SUFFIX = rf"(?:[ _.-]*+(?:\(\d++\)|(?:v|rev)? ?\d++|{_WORDS}))*+[ _.-]*"
_UNTITLED = re.compile(rf"untitled{_SUFFIX}", re.IGNORECASE)


def student_of(path: str, chapters: Collection[str], others: Iterable[str] = ()) -> str:
    """The student: a file that is called like no chapter has their name, any other is in a folder that has it.

    `class/ann.ipynb`, `class/ann/06_topic.ipynb`, `class/ann/06_topic (1).ipynb`, `class/ann/Untitled.ipynb` and
    nbgrader's `submitted/ann/06_topic/06_topic.ipynb` are ann's. So is `ann/bob.ipynb` where another folder is bob's:
    nobody can hand in under the name of somebody who has a folder.

    Args:
        path: as a report names it.
        chapters: all that there are.
        others: the paths of the whole grade.
    """
    name, folders = _named(path, chapters)
    if not name:
        return folders[0].name if folders else ""
    owned = [inner[0] for first, inner in (_named(other, chapters) for other in others) if inner and not first]
    namesakes = [folder for folder in owned if folder.name == name]
    own = PurePosixPath(path).parent
    is_anothers = namesakes and not any(own in (folder, folder.parent) for folder in namesakes)
    return folders[0].name if is_anothers and folders else name


def _named(path: str, chapters: Collection[str]) -> tuple[str, list[PurePosixPath]]:
    """The file's name, empty if it is called like a chapter, and the folders that are not, the nearest first."""
    file, mark, chapter = path.rpartition("#")  # an exercise that has moved to another chapter
    place = PurePosixPath(file if mark and chapter in chapters else path)
    called = re.sub(r"^copy of ", "", place.stem, flags=re.IGNORECASE)
    is_free = not any(_is_called(called, chapter) for chapter in chapters) and not _UNTITLED.fullmatch(called)
    return place.stem if is_free else "", [each for each in place.parents if each.name and each.name not in chapters]


def _is_called(name: str, chapter: str) -> bool:
    """Whether it is the chapter's name, or that with what a browser, an editor or a student adds for a second file."""
    return re.fullmatch(rf"{re.escape(chapter)}{_SUFFIX}", name, re.IGNORECASE) is not None
