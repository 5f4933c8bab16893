"""Whose a submission is, by its path."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath

_WORDS = "copy|copie|kopie|final|new|old|fixed|solved"
_SUFFIX = rf"(?:[ _.-]*+(?:\(\d++\)|(?:v|rev)? ?\d++|{_WORDS}))*+[ _.-]*"
_ENDINGS = re.compile(r"(?:\.ipynb(?:\.\w+)?|\.tar\.\w+|\.\w+)$", re.IGNORECASE)
_NOTHING = "untitled|notebook|submission|solutions?|answers?|assignment|homework|hw|exercises?|final"
_UNTITLED = re.compile(rf"(?:my[ _-]?)?(?:{_NOTHING}){_SUFFIX}", re.IGNORECASE)
_AGAIN = re.compile(r" ?\(\d++\)$|-Copy\d*+$")  # what a browser or an editor adds to the name of a second file


def students_of(paths: Iterable[str], chapters: Collection[str], roster: Collection[str] = ()) -> dict[str, str]:
    """The student of each path: a file that is called like no chapter has their name, any other is in a folder with it.

    `class/ann.ipynb`, `class/ann/06_topic.ipynb`, `class/ann/06_topic (1).ipynb`, `class/ann/Untitled.ipynb` and
    nbgrader's `submitted/ann/06_topic/06_topic.ipynb` are ann's. So is `ann/bob.ipynb` where another folder is bob's:
    nobody can hand in under the name of somebody who has a folder. `ann/work.ipynb` and `ben/work.ipynb` are ann's and
    ben's where they are all that these folders hold: nobody's points are lost because two chose the same name. In a
    class of folders, where two others beside it hold chapters, `class/dan/my graph.ipynb` is dan's.

    Nobody else's folder is theirs: `class/ann/work.ipynb` and `class/group2/ann/work.ipynb` are of two students, who
    are called class/ann and group2/ann. The student is empty where no name is found.

    Args:
        paths: those of the whole grade, as a report names them.
        chapters: all that there are.
        roster: the names of the class; a folder that is called so is that student's, whatever is in it.
    """
    named = {path: _named(path, chapters) for path in paths}
    owned: dict[str, list[PurePosixPath]] = {}
    for name, folders in named.values():
        if folders and not name:
            owned.setdefault(plain(folders[0].name), []).append(folders[0])
    listed = {*map(plain, roster)}
    students = _students_folders(named)
    students |= {folder for _, folders in named.values() for folder in folders[:1] if plain(folder.name) in listed}
    homes = {}
    for path, (name, folders) in named.items():
        home = _home(path, "" if students.intersection(folders[:1]) else name, folders, owned)
        homes[path] = PurePosixPath(*(part for part in home.parts if part not in chapters))
    called_so = _told_apart({*homes.values()})
    return {path: called_so[home] for path, home in homes.items()}


def _told_apart(homes: Collection[PurePosixPath]) -> dict[PurePosixPath, str]:
    """What each student is called: the name, with as many of the folders above as tell all of that name apart."""
    alike: dict[str, list[PurePosixPath]] = {}
    for home in homes:
        alike.setdefault(plain(home.name), []).append(home)
    called_so: dict[PurePosixPath, str] = {}
    for name, places in alike.items():
        longest = max(len(place.parts) for place in places)
        told = (
            n for n in range(1, longest) if len({(*map(plain, each.parts[-n:]),) for each in places}) == len(places)
        )
        count = next(told, longest)
        called_so |= {place: str(PurePosixPath(*place.parts[-count:])) if name else "" for place in places}
    return called_so


def plain(name: str) -> str:
    """A name as a reader sees it: "Ann", "ann " and one with an invisible character are the same."""
    shown = (each for each in unicodedata.normalize("NFKC", name) if unicodedata.category(each) != "Cf")
    return "".join(shown).strip().casefold()


def _students_folders(named: Mapping[str, tuple[str, list[PurePosixPath]]]) -> set[PurePosixPath]:
    """The folders that hold files of one name only, and are students' all the same.

    Either the files in several such folders are called alike, or two folders beside this one hold chapters.
    """
    held: dict[PurePosixPath, set[str]] = {}
    above: dict[PurePosixPath, PurePosixPath] = {}
    with_chapters = set()
    for name, folders in named.values():
        for nearest in folders[:1]:
            above[nearest] = folders[1] if folders[1:] else PurePosixPath()
            if name:
                held.setdefault(nearest, set()).add(_AGAIN.sub("", name))
            else:
                with_chapters.add(nearest)
    alone = {folder: next(iter(bases)) for folder, bases in held.items() if len(bases) == 1}
    alike, everywhere = Counter(alone.values()), Counter(base for bases in held.values() for base in bases)
    classes = Counter(above[each] for each in with_chapters)
    return {
        folder
        for folder, base in alone.items()
        if 1 < alike[base] == everywhere[base] or (classes[above[folder]] > 1 and folder not in classes)
    }


def passed_over(students: Mapping[str, str], chapters: Collection[str]) -> dict[str, str]:
    """By the path of each file whose own name was taken for the student's: its folder, if that might be the name.

    A folder that holds all files of the grade is no student's, and one with several students' files only might be where
    the folders beside it are students'.

    Args:
        students: of all paths, by `students_of`.
        chapters: all that there are.
    """
    named = {path: _named(path, chapters) for path in students}
    of_all = set.intersection(*({*PurePosixPath(path).parents} for path in students)) if students else set()
    within: dict[PurePosixPath, set[str]] = {}
    classes = set()
    for path, (_, folders) in named.items():
        for nearest in folders[:1]:
            within.setdefault(nearest, set()).add(students[path])
            if PurePosixPath(students[path]).name == nearest.name:
                classes.add(nearest.parent)
    return {
        path: folders[0].name
        for path, (name, folders) in named.items()
        if folders
        and PurePosixPath(students[path]).name == name != folders[0].name
        and folders[0] not in of_all | classes
        and (len(within[folders[0]]) == 1 or folders[0].parent in classes)
    }


def _home(
    path: str, name: str, folders: list[PurePosixPath], owned: Mapping[str, list[PurePosixPath]]
) -> PurePosixPath:
    """The folder that a student has, or would have beside the file that has their name."""
    nearest = folders[0] if folders else PurePosixPath()
    namesakes, own = owned.get(plain(name), []), PurePosixPath(path).parent
    deepest = len(own.parts)  # a folder further down is one that somebody made, and takes nobody's name away
    is_anothers = any(len(each.parts) <= deepest for each in namesakes) and own not in {
        place for each in namesakes for place in (each, each.parent)
    }
    return nearest if name in ("", nearest.name) or (is_anothers and folders) else nearest / name


def _named(path: str, chapters: Collection[str]) -> tuple[str, list[PurePosixPath]]:
    """The file's name, empty if it is called like a chapter, and the folders that are not, the nearest first."""
    file, mark, chapter = path.rpartition("#")  # an exercise that has moved to another chapter
    place = PurePosixPath(file if mark and chapter in chapters else path)
    own = called(place.name)
    free = re.sub(r"^copy of ", "", own, flags=re.IGNORECASE)
    is_free = not any(is_called(free, chapter) for chapter in chapters) and not _UNTITLED.fullmatch(free)
    return own if is_free else "", [each for each in place.parents if each.name and each.name not in chapters]


def called(name: str) -> str:
    """A file's name without its ending, of which a program may have added one: 06_topic.ipynb.txt is 06_topic."""
    return _ENDINGS.sub("", name)


def is_called(name: str, chapter: str) -> bool:
    """Whether it is the chapter's name, or that with what a browser, an editor or a student adds for a second file."""
    return re.fullmatch(rf"{re.escape(chapter)}{_SUFFIX}", name, re.IGNORECASE) is not None
