"""`course update`: the next version of a student's copy, from an archive of `course release`; what they wrote stays."""

import zipfile
from pathlib import Path, PurePosixPath

from course import rebuild, withheld
from course.files import Course, write_atomically
from course.notebook import v4, write

FOLDER = "minitorch-course"  # of a student's archive


def update(course: Course, archive: Path) -> list[Path]:
    """Put the archive's files in the place of the copy's. Notebooks keep the learner's answers and own cells.

    Returns:
        The copies kept of notebooks that changed and held such, in `my/backups`.

    Raises:
        ValueError: it is no student's archive, or the copy is a clone of the course itself.
    """
    if course.chapters.is_dir():
        raise ValueError(f"{course.root} is a clone of the course: git pull")
    try:
        with zipfile.ZipFile(archive) as packed:
            files = {name: packed.read(name) for name in packed.namelist()}
    except zipfile.BadZipFile as error:
        raise ValueError(f"{archive}: {error}") from error
    inside = {PurePosixPath(name): text for name, text in files.items()}
    if not inside or any(path.parts[0] != FOLDER or ".." in path.parts for path in inside):
        raise ValueError(f"{archive} is no archive for students: `course release` writes one")
    (course.solutions / withheld.FILE).unlink(missing_ok=True)
    copies: list[Path] = []
    new = {course.root / path.relative_to(FOLDER): text for path, text in inside.items()}
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
