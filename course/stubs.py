"""A pytest plugin (`pytest -p course.stubs tests/mytorch`): every part that the learner writes, away one at a time.

The tests marked with such a part run on a mytorch in which that part only raises, until one of them fails. The run
fails for the parts of which none does.
"""

from collections.abc import Generator

import pytest

from course import practice
from course.files import Course

_NOTICED = pytest.StashKey[dict[str, bool]]()


def pytest_configure(config: pytest.Config) -> None:
    """Note the parts that are to be noticed."""
    exercises = practice.exercises(Course.find())
    config.stash[_NOTICED] = {part: False for exercise in exercises for part in exercise.parts}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give the fixture `mytorch` each part that the test is marked with."""
    if "mytorch" in metafunc.fixturenames:
        known = metafunc.config.stash[_NOTICED]
        marked = [part for mark in metafunc.definition.iter_markers("part") for part in mark.args if part in known]
        metafunc.parametrize("mytorch", dict.fromkeys(marked), indirect=True, scope="module")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of no part."""
    chosen = [item for item in items if _part(item)]
    config.hook.pytest_deselected(items=[item for item in items if not _part(item)])
    items[:] = chosen


def pytest_runtest_setup(item: pytest.Item) -> None:
    """One failure is enough."""
    if item.config.stash[_NOTICED][_part(item)]:
        pytest.skip("another test misses the part")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, object, object]:
    """A failure means that the part's absence was noticed."""
    if call.excinfo is not None and not isinstance(call.excinfo.value, pytest.skip.Exception):
        item.config.stash[_NOTICED][_part(item)] = True
    return (yield)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The exit code: whether every part was noticed; failed tests are what is wanted."""
    if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        session.exitstatus = int(not all(session.config.stash[_NOTICED].values()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the parts that no test misses."""
    for part, noticed in config.stash[_NOTICED].items():
        if not noticed:
            terminalreporter.line(f"no test misses {part}")


def _part(item: pytest.Item) -> str:
    """The part that is away in a test; empty if none is."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    part = parameters.get("mytorch", "")
    return part if isinstance(part, str) else ""  # not where a test has no such part to be given
