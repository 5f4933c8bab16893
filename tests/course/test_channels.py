"""A run in a sandbox leaves nothing for another run, finds nothing of one beside it, and has no right to ask for more.

The attacks are the tables of `channels` and `rights`, whose text is each answer; what they found is the error raised.
"""

import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course.files import Course
from course.grading.grade import grade
from course.notebooks.notebook import exercise_of, role
from course.sandbox import launch
from tests.course.attacks import channels, rights

CHANNELS, RIGHTS = (Path(str(each.__file__)).read_text(encoding="utf-8") for each in (channels, rights))
LEAVES = f"{CHANNELS}\nraise ValueError(report())"
HOLDS = f"{CHANNELS}\nimport time\nreport()\ntime.sleep(5)\nraise ValueError('found []')"
WAITS = f"""{CHANNELS}
import time
end, seen = time.monotonic() + 5, []
while time.monotonic() < end and not seen:
    seen = found()
raise ValueError(f"found {{seen}}")
"""
IN_PARTS = f"""
def tried():
    space = {{}}
    exec({CHANNELS!r}, space)
    raise ValueError(space["report"]())

def rows(self):
    tried()

def describe(self, name="tensor"):
    tried()
"""
ASKS = f"{RIGHTS}\nraise ValueError(f'granted {{granted()}}')"
NOTHING = "found [], blind []"
MODES = {
    "bubblewrap": [
        pytest.mark.needs("bubblewrap"),
        pytest.mark.skipif(bool(launch.trouble()), reason=launch.trouble()),
    ],
    "Landlock": [pytest.mark.skipif(not launch.has_landlock(), reason="this kernel has no Landlock")],
}


@pytest.fixture(params=[pytest.param(mode, marks=marks) for mode, marks in MODES.items()])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Grades are made with bubblewrap, or without it."""
    if request.param == "Landlock":
        monkeypatch.setattr(launch, "has_bubblewrap", lambda: False)
        monkeypatch.setattr(launch, "can_nest", lambda: False)
    yield request.param


Said = Callable[..., list[str]]


@pytest.fixture
def said(tmp_path: Path, mode: str) -> Said:
    """Grades one submission for each text, in the cells of `exercises`; what is said of each and of its parts."""

    def said(course: Course, texts: list[str], exercises: list[str], jobs: int = 1) -> list[str]:
        (pristine,) = course.pristine.glob("*.ipynb")
        for number, text in enumerate(texts):
            notebook: Any = nbformat.read(pristine, as_version=4)
            for cell in notebook.cells:
                if role(cell) == "solution" and exercise_of(cell) in exercises:
                    cell.source = text
            nbformat.write(notebook, tmp_path / f"{number}.ipynb")
        results = grade([tmp_path], course, jobs=jobs, explain=False).submissions
        assert [each.status for each in results] == ["graded"] * len(texts), results
        items = [item for result in results for item in result.items if item.grade_id in exercises]
        told = [each.message.rpartition("ValueError: ")[2] for item in items for each in (item, *item.parts)]
        return [each.partition(" (line ")[0] for each in told]

    return said


@pytest.mark.turns(8)
def test_an_exercise_leaves_nothing_for_the_next_nor_for_the_next_submission(course: Course, said: Said) -> None:
    assert said(course, [LEAVES] * 2, ["predict_strides", "running_mean", "contiguous_strides"]) == [NOTHING] * 6


def test_a_run_of_all_parts_leaves_nothing_for_that_of_one(core_course: Course, said: Said) -> None:
    assert said(core_course, [IN_PARTS], ["core_tensor"]) == [NOTHING] * 3


@pytest.mark.turns(8)
def test_two_sandboxes_share_nothing(course: Course, said: Said) -> None:
    assert said(course, [HOLDS, WAITS], ["predict_strides"], jobs=2) == ["found []"] * 2


@pytest.mark.turns(8)
def test_no_right_is_to_be_had(course: Course, said: Said, mode: str) -> None:
    assert said(course, [ASKS], ["predict_strides"]) == ["granted []"]


CONNECTS = """
import socket
reached = []
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    try:
        socket.socket(socket.AF_UNIX, kind).connect("PLACE")
        reached.append(kind)
    except OSError:
        pass
try:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"x", "PLACE.datagrams")
    reached.append("a pair")
except OSError:
    pass
one, other = socket.socketpair()
one.send(b"fine")
raise ValueError(f"reached {reached}, {other.recv(4).decode()}")
"""


@pytest.mark.turns(8)
def test_what_listens_on_this_machine_is_out_of_reach(course: Course, said: Said) -> None:
    """Landlock does not ask about sockets that have a path, such as those of Docker and of the desktop."""
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.socket(socket.AF_UNIX) as server,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams,
    ):
        place = f"{folder}/s"
        server.bind(place)
        server.listen()
        datagrams.bind(f"{place}.datagrams")
        assert said(course, [CONNECTS.replace("PLACE", place)], ["predict_strides"]) == ["reached [], fine"]
