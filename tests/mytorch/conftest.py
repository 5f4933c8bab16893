"""The package under test: the reference; under `course mine` the learner's; one without a part (authoring/stubs.py).

A test names the parts that it tests, `@pytest.mark.part("mytorch.strides:strides", ...)`: a wrong one should fail it.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from course import variables
from course.source.assemble import load, read
from course.source.core_exercises import absent
from course.source.parts import file_of
from minitorch.cuda import simulate

ROOT = Path(__file__).parents[2]

pytest.register_assert_rewrite("tests.mytorch.compare")  # its failures show both values, too
SOURCE = ROOT / "chapters" / "mytorch"  # absent in a student's copy
REFERENCE = SOURCE if SOURCE.is_dir() else ROOT / "solutions" / "mytorch"


@pytest.fixture(scope="module")
def mytorch(request: pytest.FixtureRequest) -> ModuleType:
    """The package mytorch, imported anew for each file of tests."""
    files = read(Path(os.environ.get(variables.MYTORCH, REFERENCE)))
    if part := getattr(request, "param", ""):
        files[file_of(files, part)] = absent(files, part)
    return load(files)


@pytest.fixture(autouse=True, scope="module")
def gpus_go() -> Iterator[None]:
    """The simulated GPUs of a file are gone for the next one, which may ask minitorch whether there is one."""
    yield
    simulate(0)


@pytest.fixture(autouse=True, scope="session")
def seeds_without_gpu() -> None:
    """Nothing here draws numbers on a GPU."""


@pytest.fixture(autouse=True, scope="session")
def objects_that_stay() -> None:
    """Nothing here needs few objects."""
