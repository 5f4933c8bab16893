"""`course start` and `course update`: a learner's folder, and its next version, in which what they wrote stays.

The files are those of the installed course, or of an archive that `course release` wrote.
"""

import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from course.files import CODE, DATA, UNFINISHED, Course, clean, shipped, write_atomically
from course.learner import withheld
from course.notebooks import rebuild
from course.notebooks.notebook import v4, write

FOLDER = "minitorch-course"  # of a student's archive


def start(folder: Path) -> Course:
    """Lay out a folder to learn in, with the files of the installed course; or go on where that was stopped.

    Raises:
        ValueError: something is there already.
    """
    course = Course(folder.resolve())
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not course.is_unfinished()):
        raise ValueError(f"{folder} is not empty: name a new or empty folder")
    course.root.mkdir(parents=True, exist_ok=True)
    (course.root / UNFINISHED).touch()
    _put(course, _installed())
    clean(course.root)
    (course.root / UNFINISHED).unlink()
    return course


def update(course: Course, archive: Path | None = None) -> list[Path]:
    """Put new files in the place of the folder's. Notebooks keep the learner's answers and own cells.

    Args:
        archive: where the files are from; from the installed course, if it is None.

    Returns:
        The copies kept of notebooks that changed and held such, in `my/backups`.

    Raises:
        ValueError: it is no student's archive, or the folder is a clone of the course itself.
    """
    if course.chapters.is_dir():
        raise ValueError(f"{course.root} is a clone of the course: update it with git pull")
    if archive is None and course.root in (CODE, DATA):
        raise ValueError(f"{course.root} is a student's copy: name the archive of the new version")
    files = _installed() if archive is None else _packed(archive)
    (course.solutions / withheld.FILE).unlink(missing_ok=True)
    return _put(course, files)


def _installed() -> dict[PurePosixPath, bytes]:
    """The files of a learner's folder, by their paths in it."""
    root = DATA if DATA.is_dir() else CODE
    files = {PurePosixPath(name): (root / name).read_bytes() for name in shipped(root)}
    pristine = {PurePosixPath("exercises", name.name): files[name] for name in files if ".pristine" in name.parts}
    templates = CODE / "course" / "templates" / "folder"
    own = {PurePosixPath(path.relative_to(templates).as_posix()): path.read_bytes() for path in templates.iterdir()}
    return files | pristine | own


def _packed(archive: Path) -> dict[PurePosixPath, bytes]:
    """The files of a student's archive."""
    try:
        with zipfile.ZipFile(archive) as packed:
            files = {PurePosixPath(name): packed.read(name) for name in packed.namelist()}
    except zipfile.BadZipFile as error:
        raise ValueError(f"{archive}: {error}") from error
    if not files or any(path.parts[0] != FOLDER or ".." in path.parts for path in files):
        raise ValueError(f"{archive} is not a students' archive: `course release` writes one")
    return {path.relative_to(FOLDER): text for path, text in files.items()}


def _put(course: Course, files: Mapping[PurePosixPath, bytes]) -> list[Path]:
    """Write files into a learner's folder; the copies kept of notebooks that changed and held the learner's work."""
    copies: list[Path] = []
    new = {course.root / path: content for path, content in files.items()}
    for path, content in sorted(
        new.items(), key=lambda item: item[0].parent == course.pristine
    ):  # it tells what is new
        if path.suffix == ".ipynb" and path.parent in (course.exercises, course.notebooks) and path.exists():
            text, kept = _merged(course, path, content)
            write_atomically(path, text)
            copies += kept
        else:
            write_atomically(path, content)
            if content.startswith(b"#!"):
                path.chmod(0o755)
    for path in course.pristine.glob("*.ipynb"):
        if path not in new:  # a chapter that has another name now: its exercises would be there twice
            path.unlink()
    return copies


def _merged(course: Course, path: Path, content: bytes) -> tuple[str, list[Path]]:
    built = v4.reads(content.decode())
    if path.parent == course.exercises:
        return rebuild.learners_text(course, built, path.name)
    theirs = rebuild.read(path)
    merged = rebuild.with_work(built, built, theirs) if theirs is not None else built
    text = write(merged)
    only_run = theirs is not None and merged is built
    return text, [] if only_run or path.read_bytes() == text.encode() else [rebuild.back_up(course, path)]
