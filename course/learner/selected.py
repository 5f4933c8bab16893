"""A pytest plugin (`-p course.learner.selected tests/mytorch --part=views:select …`): only the tests of these parts."""

import pytest

from course.files import Course
from course.source import definitions


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the learner's parts, each with `--part`."""
    parser.addoption("--part", action="append", default=[], help="a part of mytorch that is the learner's")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that are marked with no part of the learner's."""
    course, mine = Course.find(), config.getoption("part")
    seeing = {test for part in mine for test in definitions.seen(course).get(part, [])}
    marked = [item for item in items if any(part in mine for mark in item.iter_markers("part") for part in mark.args)]
    chosen = [item for item in items if item in marked or item.nodeid in seeing]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def pytest_report_header(config: pytest.Config) -> str:
    """Say whose package is tested."""
    return "your parts of mytorch: " + ", ".join(config.getoption("part"))
