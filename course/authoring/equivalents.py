"""Read a chapter's `equivalent.yml`: mutants that mean the same as the answer, each with a sentence that says why."""

from pathlib import Path

import yaml

from course.source.exercises import Source, SourceError

EQUIVALENTS = "equivalent.yml"
Equivalent = tuple[str, str, str]
"""The exercise, the lines, and what takes their place."""

_KEYS = {"was", "becomes", "because"}


def read_equivalents(path: Path, source: Source) -> set[Equivalent]:
    """The recorded mutants; none if there is no such file.

    Raises:
        SourceError: an entry is incomplete, or names no exercise of the chapter.
    """
    if not path.exists():
        return set()
    names = {exercise.name for exercise in source.exercises}
    found: set[Equivalent] = set()
    for exercise, entries in yaml.safe_load(path.read_text(encoding="utf-8")).items():
        if exercise not in names:
            raise SourceError(f"{path}: the chapter has no exercise {exercise!r}")
        for entry in entries:
            if set(entry) != _KEYS or not all(str(value).strip() for value in entry.values()):
                raise SourceError(f"{path}: {exercise}: a mutant has was, becomes and because, not {entry}")
            found.add((exercise, str(entry["was"]).rstrip("\n"), str(entry["becomes"]).rstrip("\n")))
    return found
