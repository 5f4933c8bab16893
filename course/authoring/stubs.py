"""Which tests of mytorch see which definition: a pytest plugin, `pytest -p course.authoring.stubs tests/mytorch`.

Each definition is taken away, one at a time, in one process, and the tests that `tests/mytorch/seen.json` names for it
run until one fails. The run fails for the definitions whose absence none notices. `--one-in 16 --turn 3` takes
away every sixteenth, beginning with the third.

`python -m course.authoring.stubs` makes the file anew: the tests run once on the whole package, which notes what each
calls, then the quickest on packages that lack a definition. The first three that fail are named in the file.
"""

import json
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from course.files import Course, write_atomically
from course.source import definitions, parts
from course.source.assemble import Files, read

NAMED = 3
"""Tests that the file names for a definition, at most."""
_TRIED = 12  # of those that call a definition, when the file is made
_STATE = pytest.StashKey["Finder | Checker"]()


class Checker:
    """Takes away each definition, for the tests that should see it."""

    def __init__(self, candidates: dict[str, list[str]], most: int) -> None:
        self.candidates, self.most = candidates, most
        self.seen: dict[str, list[str]] = {part: [] for part in candidates}
        self.functions: dict[str, dict[str, None]] = defaultdict(dict)
        for part, tests in candidates.items():
            for test in tests:
                self.functions[test.partition("[")[0]][part] = None

    def has_seen(self, part: str) -> bool:
        """Whether enough tests failed."""
        return len(self.seen[part]) >= self.most


class Finder:
    """Notes what each test calls, and how long it takes."""

    def __init__(self, files: Files) -> None:
        self.places = places(files)
        self.called: dict[str, set[str]] = defaultdict(set)
        self.seconds: dict[str, float] = {}

    def candidates(self) -> dict[str, list[str]]:
        """For each definition the quickest tests that call it; of what the import alone calls, the quickest of all."""
        quickest = sorted(self.seconds, key=self.seconds.__getitem__)
        return {
            part: [test for test in quickest if part in self.called[test]][:_TRIED] or quickest[:1]
            for part in dict.fromkeys(part for file in self.places.values() for part in file.values())
        }


def places(files: Files) -> dict[str, dict[int, str]]:
    """For each file the definition that a line belongs to."""
    found: dict[str, dict[int, str]] = defaultdict(dict)
    for part in definitions.names(files):
        name = parts.file_of(files, part)
        place = parts.find(files[name], part.partition(":")[2])
        found[f"<mytorch>/{name}"].update(dict.fromkeys(range(place.start, place.end + 1), part))
    return found


def pytest_addoption(parser: pytest.Parser) -> None:
    """What `python -m course.authoring.stubs` says to its two runs."""
    parser.addoption("--calls", type=Path, help="write to this file which tests to try for each definition")
    parser.addoption("--tried", type=Path, help="try the tests of this file, and name those that fail in seen.json")
    parser.addoption("--one-in", type=int, default=1, help="take away every so many-th definition")
    parser.addoption("--turn", type=int, default=0, help="beginning with this one")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to find, or to check."""
    course, tried = Course.find(), config.option.tried
    files = read(course.reference)
    if config.option.calls:
        config.stash[_STATE] = Finder(files)
        return
    known = json.loads((tried or course.root / definitions.SEEN).read_text(encoding="utf-8"))
    turns = config.option.one_in
    candidates = {part: known.get(part, []) for part in definitions.names(files)[config.option.turn % turns :: turns]}
    config.stash[_STATE] = Checker(candidates, NAMED if tried else 1)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give the fixture `mytorch` each definition that a test should see."""
    state = metafunc.config.stash[_STATE]
    if isinstance(state, Checker) and "mytorch" in metafunc.fixturenames:
        name = metafunc.definition.nodeid
        metafunc.parametrize("mytorch", state.functions[name], indirect=True, scope="module")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that no definition names."""
    state = config.stash[_STATE]
    if isinstance(state, Checker):
        items[:] = [item for item in items if (part := _part(item)) and _name(item) in state.candidates.get(part, [])]
    else:
        items[:] = [item for item in items if "mytorch" in getattr(item, "fixturenames", ())]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Enough failures are enough."""
    state = item.config.stash[_STATE]
    if isinstance(state, Checker) and state.has_seen(_part(item)):
        pytest.skip("other tests miss the definition")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Note which definitions a test calls."""
    state = item.config.stash[_STATE]
    if isinstance(state, Checker):
        return (yield)
    called: set[tuple[str, int]] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            called.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    sys.setprofile(note)
    threading.setprofile(note)  # for those that the test starts
    try:
        return (yield)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        found = (state.places[file].get(line) for file, line in called if file in state.places)
        state.called[item.nodeid] = {part for part in found if part}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure means that the absence was noticed."""
    state = item.config.stash[_STATE]
    if isinstance(state, Finder):
        if call.when == "call" and call.excinfo is None:
            state.seconds[item.nodeid] = call.duration
    elif call.excinfo is not None and not isinstance(call.excinfo.value, pytest.skip.Exception):
        state.seen[_part(item)].append(_name(item))
    return (yield)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The exit code: whether every definition was noticed; failed tests are what is wanted."""
    state = session.config.stash[_STATE]
    if session.exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return
    if isinstance(state, Finder):
        write_atomically(session.config.option.calls, json.dumps(state.candidates()))
        return
    if session.config.option.tried:
        named = {part: tests[:NAMED] for part, tests in state.seen.items() if tests}
        write_atomically(Course.find().root / definitions.SEEN, json.dumps(named, indent=1) + "\n")
    session.exitstatus = int(not all(state.seen.values()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the definitions that no test misses."""
    state = config.stash[_STATE]
    if isinstance(state, Checker):
        for part, tests in state.seen.items():
            if not tests:
                terminalreporter.line(f"no test misses {part}")


def _part(item: pytest.Item) -> str:
    """The definition that is away in a test; empty if none is."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    part = parameters.get("mytorch", "")
    return part if isinstance(part, str) else ""  # not where a test has no such part to be given


def _name(item: pytest.Item) -> str:
    """A test's name as it is without a definition to be away."""
    part = _part(item)
    for old, new in ((f"[{part}]", ""), (f"[{part}-", "["), (f"-{part}]", "]"), (f"-{part}-", "-")):
        if old in item.nodeid:
            return item.nodeid.replace(old, new, 1)
    return item.nodeid


def main() -> int:
    """Make the file anew; the exit code of the tests."""
    run = [sys.executable, "-m", "pytest", "-q", "-p", "course.authoring.stubs", "-p", "no:cacheprovider", "--tb=no"]
    with tempfile.TemporaryDirectory() as folder:
        calls = str(Path(folder) / "calls.json")
        first = subprocess.call([*run, f"--calls={calls}", "tests/mytorch"])
        if first not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return first
        return subprocess.call([*run, f"--tried={calls}", "tests/mytorch"])


if __name__ == "__main__":
    sys.exit(main())
