"""The judge reads what a learner wrote, in a sandbox that reaches nothing; no message costs the next one anything."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from course.grading import compare, served
from course.grading.judge import Comparer
from course.sandbox import launch
from course.sandbox.launch import SandboxError

EXPECTED = {"version": 1, "rtol": 0, "atol": 0, "values": {"n": {"kind": "number", "data": 3}}}
WRONG = {**EXPECTED, "values": {"n": {"kind": "number", "data": 4}}}

pytestmark = pytest.mark.skipif(not launch.can_fork(), reason="without fork the grader reads in its own process")


@pytest.fixture
def comparer() -> Iterator[Comparer]:
    made = Comparer()
    yield made
    made.close()


def message(*shown: Any, **more: Any) -> bytes:
    return json.dumps({"nonce": "n", "phase": "check", "error": "", "shown": shown, **more}).encode() + b"\n"


def edited(patch: pytest.MonkeyPatch, code: str) -> None:
    """Let the judge run this when a message is read, as if a fault in a parser let a learner in."""
    text = (served.CODE / "course" / "grading" / "compare.py").read_text()
    old = "    try:\n        said = json.loads(line)\n"
    assert text.count(old) == 1
    inner = "".join(f"        {row}\n" for row in f"import os, signal\n{code.strip()}".splitlines())
    broken = text.replace(old, f"    if b'EVIL' in line:\n{inner}{old}")
    copy = served.shutil.copy

    def copied(path: Any, target: Any) -> None:
        copy(path, target)
        if target.name == "compare.py":
            target.write_text(broken)

    patch.setattr(served.shutil, "copy", copied)


def test_what_is_heard(comparer: Comparer) -> None:
    right, wrong = comparer.hear(message(EXPECTED, called=True), EXPECTED), comparer.hear(message(WRONG), EXPECTED)
    assert right == compare.Heard("n", "check", called=True, wrong="")
    assert wrong is not None and wrong.wrong == "n: expected 3, got 4"
    process = comparer._served._process
    assert comparer.hear(message(EXPECTED, EXPECTED), EXPECTED) == compare.Heard(
        "n", "check", wrong="the check showed more than one bundle of values"
    )
    assert process is comparer._served._process  # one process reads them all


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xff\n",
        b"[]\n",
        b'"nonce"\n',
        b'{"nonce": 1, "phase": "check"}\n',
        b'{"nonce": "n", "phase": ["check"]}\n',
        b"[" * 2_000_000 + b"\n",
        b'{"nonce": "n", "phase": "check", "shown": [' + b"9" * 1_000_000 + b"]}\n",
    ],
)
def test_what_is_no_message(comparer: Comparer, line: bytes) -> None:
    assert comparer.hear(line, EXPECTED) is None
    assert comparer.hear(message(EXPECTED), EXPECTED)


def test_what_a_learner_says_comes_out_short_and_of_known_types(comparer: Comparer) -> None:
    heard = comparer.hear(message([] * 9, error="x" * 100_000, called="yes", nonce="n" * 1000), None)
    assert heard == compare.Heard("n" * 100, "check", "x" * 2000)
    names = {f"{name} " * 10_000: {"kind": "none"} for name in range(10)}
    many = comparer.hear(message({**EXPECTED, "values": names}), EXPECTED)
    assert many is not None and many.wrong is not None and 10_000 < len(many.wrong) <= 20_000
    assert many.shown == ()  # no value comes out


REACH = """
import glob, os, pathlib, socket, subprocess
def attempt(act):
    try:
        return f"done {act()}"
    except (OSError, subprocess.CalledProcessError) as error:
        return type(error).__name__
told = [attempt(act) for act in (
    lambda: pathlib.Path("/tmp/new").write_text("x"),
    lambda: pathlib.Path("/dev/shm/new").write_text("x"),
    lambda: pathlib.Path("/course/new").write_text("x"),
    lambda: socket.create_connection(("127.0.0.1", PORT), 1),
    lambda: os.kill(PROCESS, 0),
    lambda: os.setuid(0),
    lambda: subprocess.run(["unshare", "-Ur", "true"], check=True, capture_output=True),
    lambda: open(f"/proc/{os.getppid()}/mem"),
)]
told += [sorted(os.listdir("/course/course")), os.path.exists("ROOT/course"), os.getuid(), "SECRET" in os.environ]
told += [len(os.listdir("/proc/self/fd")) - 1, len([name for name in os.listdir("/proc") if name.isdigit()])]
return Heard("n", "check", json.dumps(told))
"""


@pytest.mark.needs("bubblewrap")
def test_what_the_judge_can_reach(monkeypatch: pytest.MonkeyPatch, comparer: Comparer) -> None:
    import os
    import socket

    monkeypatch.setenv("SECRET", "x")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        code = REACH.replace("PORT", port).replace("PROCESS", str(os.getpid())).replace("ROOT", str(served.CODE))
        edited(monkeypatch, code)
        heard = comparer.hear(b"EVIL", None)
    assert heard is not None
    assert json.loads(heard.error) == [
        *["OSError"] * 3, "ConnectionRefusedError", "ProcessLookupError", "OSError", "CalledProcessError",
        "PermissionError",
        ["checks", "grading", "sandbox"],
        False, 65534, False, 3, 3,
    ]  # fmt: skip


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    "evil",
    [
        "os._exit(0)",
        "os.kill(os.getppid(), signal.SIGKILL)",
        "os.kill(os.getppid(), signal.SIGSTOP)",
        "while True: pass",
        "block = [bytearray(1 << 28) for _ in range(100)]",
        """
if os.fork() == 0:
    os.setsid()
    import time
    while True:
        for name in os.listdir("/proc/self/fd"):
            try:
                os.write(int(name), b'{"token": "", "told": {"nonce": "n", "phase": "check", "wrong": ""}}\\n')
            except OSError:
                pass
        time.sleep(0.01)""",
    ],
    ids=["ends", "kills", "stops", "never_ends", "fills", "lives_on"],
)
def test_a_message_that_breaks_the_judge_costs_the_next_one_nothing(
    monkeypatch: pytest.MonkeyPatch, comparer: Comparer, evil: str
) -> None:
    edited(monkeypatch, evil)
    monkeypatch.setattr(served, "_SECONDS", 20.0)  # what "stops" takes from the next message, once
    assert comparer.hear(message(EXPECTED), EXPECTED)
    with monkeypatch.context() as patch:
        patch.setattr(served, "_SECONDS", 1.0)
        comparer.hear(message("EVIL"), EXPECTED)
    for _ in range(3):
        heard = comparer.hear(message(WRONG), EXPECTED)
        assert heard is not None and heard.wrong == "n: expected 3, got 4"
    assert comparer.hear(message(EXPECTED), EXPECTED) == compare.Heard("n", "check", wrong="")


def test_a_judge_that_cannot_start_is_a_fault_of_the_machine(
    monkeypatch: pytest.MonkeyPatch, comparer: Comparer
) -> None:
    monkeypatch.setattr(launch, "plain_environment", lambda folder: {"PYTHONHOME": "/nowhere"})
    with pytest.raises(SandboxError, match="the sandbox that reads what learners wrote could not be started: "):
        comparer.hear(message(EXPECTED), EXPECTED)
