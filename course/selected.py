"""A pytest plugin (`pytest -p course.selected tests/mytorch`): only the tests of the parts that are the learner's."""

import pytest

from course import package
from course.files import Course


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that are marked with no part of the learner's."""
    mine = package.solved(Course.find())
    chosen = [item for item in items if any(part in mine for mark in item.iter_markers("part") for part in mark.args)]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def pytest_report_header() -> str:
    """Say whose package is tested."""
    return "your parts of mytorch: " + ", ".join(package.solved(Course.find()))
