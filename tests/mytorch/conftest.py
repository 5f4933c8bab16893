"""The package under test: the reference; the learner's own under `course mine`; one without a part under course.stubs.

A test names the parts that it tests, `@pytest.mark.part("mytorch.strides:strides", ...)`: a wrong one should fail it.
"""

import os
from pathlib import Path
from types import ModuleType

import pytest

from course.assemble import load, read
from course.core import absent
from course.files import CODE
from course.package import VARIABLE
from course.parts import file_of

pytest.register_assert_rewrite("tests.mytorch.compare")  # its failures show both values, too
SOURCE = CODE / "chapters" / "mytorch"  # absent in a student's copy
REFERENCE = SOURCE if SOURCE.is_dir() else CODE / "solutions" / "mytorch"


@pytest.fixture(scope="module")
def mytorch(request: pytest.FixtureRequest) -> ModuleType:
    """The package mytorch, imported anew for each file of tests."""
    files = read(Path(os.environ.get(VARIABLE, REFERENCE)))
    if part := getattr(request, "param", ""):
        files[file_of(files, part)] = absent(files, part)
    return load(files)


@pytest.fixture(autouse=True, scope="session")
def seeds_without_gpu() -> None:
    """Nothing here is compared with torch, which takes seconds to import."""


@pytest.fixture(autouse=True, scope="session")
def objects_that_stay() -> None:
    """Nothing here needs few objects."""
