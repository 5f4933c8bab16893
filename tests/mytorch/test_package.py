"""The package as a whole: as of each chapter it can be imported, and the tests miss each part that a learner writes."""

import re
import subprocess
import sys
from pathlib import Path, PurePath

import pytest

from course.source import parts
from course.source.assemble import as_of, assemble, load, read
from tests.turn import this_turn

ROOT = Path(__file__).parents[2]

SOURCE = ROOT / "chapters" / "mytorch"  # absent in a student's copy
REFERENCE = read(SOURCE if SOURCE.is_dir() else ROOT / "solutions" / "mytorch")


def test_the_document_names_every_file() -> None:
    document = ROOT / "docs" / "mytorch.md"
    named = {PurePath(name).name for name in re.findall(r"`([\w/]+(?:\.py|/))`", document.read_text(encoding="utf-8"))}
    files = [PurePath(name) for name in REFERENCE if not name.endswith("__init__.py")]
    assert [str(file) for file in files if not {file.name, file.parent.name} & named] == []


@pytest.mark.parametrize("chapter", [*range(1, 25), "02b", "07b", "08b", "20b"])
def test_the_package_as_of_a_chapter_can_be_imported(chapter: int | str) -> None:
    """Every module of it: a section may use what earlier ones define, and nothing later."""
    files = as_of(REFERENCE, chapter)
    package = load(files)
    for name in files:
        module = ".".join(["mytorch", *name.removesuffix(".py").removesuffix("__init__").strip("/").split("/")])
        __import__(module.strip("."))
    assert package.__name__ == "mytorch"


@pytest.mark.turns(8)
def test_every_part_swapped_for_itself_gives_the_text_back() -> None:
    """What a learner's cell replaces are the part's own lines, and the indentation is the part's.

    Without decorators, those come back that say what a part is; `no_grad` is part of the answer.
    """

    def without_answers(text: str, decorators: bool) -> str:
        return text if decorators else re.sub(r"^ *@no_grad\(\)\n", "", text, flags=re.MULTILINE)

    for decorators in (True, False):
        for part in parts.names(REFERENCE):
            name = parts.file_of(REFERENCE, part)
            file = {name: REFERENCE[name]}
            back = assemble(file, None, {part: parts.text_of(file, part, decorators)})[name]
            assert without_answers(back, decorators) == without_answers(REFERENCE[name], decorators), part


@pytest.mark.needs("torch", "onnxruntime", "tensorboard")  # as some of those tests do
def test_the_tests_miss_every_definition() -> None:
    """Each of a sixteenth is taken away, in one process; `seen.json` says which tests to try (docs/authoring.md)."""
    share = [] if this_turn() is None else ["--one-in=32", f"--turn={this_turn()}"]
    call = [sys.executable, "-m", "pytest", "-q", "-p", "course.authoring.stubs", "-p", "no:cacheprovider", "--tb=no"]
    done = subprocess.run([*call, *share, "tests/mytorch"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, "\n".join(line for line in done.stdout.splitlines() if "misses" in line)
