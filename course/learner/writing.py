"""Any definition of mytorch, written by the learner: what no exercise asks for can be theirs, too (`course write`).

A definition is written in `my/writing/`, in a file of its own. When the tests that see it pass on the package with it,
its text is kept in `my/written/`, and `my/mytorch` has it.
"""

import functools
import itertools
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

from course import variables
from course.files import Course, write_atomically
from course.learner import package, written
from course.learner.names import suggestion
from course.source import definitions, parts
from course.source.assemble import assemble, read, section_of
from course.source.cells import cut, has_code
from course.source.core_exercises import solution


class NotFreeError(LookupError):
    """No definition has that name, several have it, or an exercise asks for it."""


def find(course: Course, name: str) -> str:
    """The definition that a name means: `mytorch.views:select`, `views:select`, or `select` if there is one of it.

    Raises:
        NotFreeError: there is none, there are several, or an exercise asks for it.
    """
    graded, known = written.graded(course), written.free(course, read(package.reference(course)))
    found = [part for part in known if name in _names(part)]
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFreeError(f"{name!r} is ambiguous: it could be any of {', '.join(found)}")
    if asked := next((part for part in graded if name in _names(part)), None):
        raise NotFreeError(f"{asked} belongs to exercise {graded[asked]!r}: write it there")
    near = suggestion(name, [each for part in known for each in _names(part)])
    raise NotFreeError(f"mytorch has no definition {name!r}{near}")


def listed(course: Course) -> Iterator[str]:
    """A line for each file: its definitions that can be written, with a tick before the learner's."""
    files = read(package.reference(course))
    mine = written.texts(course, files)
    for name, group in itertools.groupby(written.free(course, files), functools.partial(parts.file_of, files)):
        each = ("✓ " * (part in mine) + part.partition(":")[2] for part in group)
        yield textwrap.fill(
            f"{name.removesuffix('.py').replace('/', '.')}: {', '.join(each)}", 100, subsequent_indent="    "
        )


def _names(part: str) -> tuple[str, str, str]:
    """A definition's name with the package, without it, and its own."""
    return part, part.partition(".")[2], part.partition(":")[2]


def begun(course: Course, part: str) -> Path:
    """The file in which a definition is written; it is made with a stub if it isn't there."""
    path = course.mine / "writing" / written.path(course, part).name
    if not path.exists():
        write_atomically(path, stub(course, part))
    return path


def stub(course: Course, part: str) -> str:
    """What the learner begins with: what the definition must do, the tests that see it, and its head."""
    files = read(package.reference(course))
    name = parts.file_of(files, part)
    tests = "\n".join(definitions.seen(course).get(part, []))
    about = f'''"""{part} · chapter {section_of(files[name], part.partition(":")[2])}

Write it; all names of mytorch/{name} can be used. Then `course write {part.partition(".")[2]}` runs its tests.
Among those that fail without it:

{tests}
"""'''
    return f"{about}\n\n\n{cut(solution(files, [part], set()))}\n"


def is_written(course: Course, part: str, text: str) -> bool:
    """Whether a text holds more of a definition than the stub."""
    return parts.defines(text, part) and has_code(text, stub(course, part))


def check(course: Course, part: str) -> int:
    """Run the tests of a definition on mytorch with the learner's text of it, and keep the text if they pass."""
    text = begun(course, part).read_text(encoding="utf-8")
    files = assemble(read(package.reference(course)), None, {part: text})
    tests = dict.fromkeys(test.partition("::")[0] for test in definitions.seen(course).get(part, []))
    with tempfile.TemporaryDirectory() as folder:
        package.copy(files, Path(folder) / "mytorch")
        environment = os.environ | {variables.MYTORCH: str(Path(folder) / "mytorch")}
        run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
        code = subprocess.call(run, cwd=course.root, env=environment)
    if code == 0:
        write_atomically(written.path(course, part), text)
        package.write(course)
    return code
