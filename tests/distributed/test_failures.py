"""Processes that die, leave, or don't come: the others get an error, soon or when their time is over; none hangs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.distributed.processes import ONE_THREAD, PROGRAMS, run

GONE = "Connection closed by peer"


def answers(how: str, processes: int = 2) -> list[list[tuple[str, str, str]]]:
    return [
        [tuple(line.split(" | ", 2)) for line in lines]  # type: ignore[misc]
        for lines in run("minitorch", "failures.py", processes, how)
    ]


@pytest.mark.parametrize("how", ["dies", "leaves"])
def test_a_process_that_is_gone_gives_an_error_at_once(how: str) -> None:
    (first, second) = answers(how)
    assert [name for name, _, _ in first] == ["all_reduce", "all_reduce again", "async", "recv", "send", "destroy"]
    for name, when, answer in first:
        assert when == "soon"
        assert (answer == "done") if name == "destroy" else (GONE in answer), name
    assert second == []


def test_of_three_all_that_are_left_see_it() -> None:
    for lines in answers("dies", 3)[:2]:
        assert [when for name, when, _ in lines if name != "all_reduce"] == ["soon"] * 5
        assert lines[0][2] != "done"


@pytest.mark.turns(8)
def test_a_process_that_stops_is_waited_for_once() -> None:
    (first, _) = answers("stops")
    assert first[0] == ("all_reduce", "late", "Timed out waiting 3000ms for recv operation to complete")
    assert first[1] == ("all_reduce again", "soon", "Application timeout caused pair closure")


@pytest.mark.turns(8)
def test_a_process_that_doesnt_come() -> None:
    assert answers("absent")[0] == [("init", "late", "Wait timeout")]


@pytest.mark.turns(8)
def test_monitored_barrier_names_who_is_missing() -> None:
    ((_, _, first),) = answers("forgets", 3)[0]
    assert first.startswith("[Rank 0]: Rank 1 failed to pass monitoredBarrier in 3000 ms")
    ((_, _, every),) = answers("forget", 3)[0]
    assert every == "[Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 3000 ms"


def test_tensors_that_differ_in_size() -> None:
    _, ((_, when, answer),) = answers("differs")
    assert when == "soon"
    assert "12 vs 16. Received data size doesn't match expected size" in answer


@pytest.mark.turns(8)
def test_a_receive_that_is_waited_for_in_vain() -> None:
    texts = [line[2] for lines in answers("waits") for line in lines]
    assert any(text == "Timed out waiting 3000ms for recv operation to complete" for text in texts)
    assert all(GONE in text or text.startswith("Timed out") for text in texts)


def launch(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "minitorch.distributed.run", *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **ONE_THREAD}
    )


@pytest.mark.parametrize(
    ("how", "code"), [("raise ValueError", "1"), ("sys.exit(7)", "7"), ("os.kill(os.getpid(), 9)", "-9")]
)
def test_the_launcher_ends_the_others_and_says_who_failed(how: str, code: str) -> None:
    launcher = launch("--standalone", "--nproc-per-node=2", str(PROGRAMS / "launched.py"), how)
    output, errors = launcher.communicate(timeout=120)
    assert launcher.returncode == 1
    assert re.search(rf"Root Cause .*rank      : 1 \(local_rank: 1\)\n  exitcode  : {code} ", errors, re.DOTALL)
    assert "exitcode  : -15" in errors  # rank 0 was ended
    assert all(is_gone(int(pid)) for pid in re.findall(r"pid (\d+)", output))


def test_a_launcher_that_is_ended_ends_its_processes() -> None:
    launcher = launch("--standalone", "--nproc-per-node=2", str(PROGRAMS / "launched.py"), "time.sleep(100)")
    assert launcher.stdout is not None
    pids = [int(re.findall(r"pid (\d+)", launcher.stdout.readline())[0]) for _ in range(2)]
    launcher.send_signal(signal.SIGTERM)
    launcher.communicate(timeout=60)
    assert launcher.returncode == 128 + signal.SIGTERM
    assert all(map(is_gone, pids))


def test_the_launcher_refuses_options_that_it_doesnt_have() -> None:
    launcher = launch("--max-restarts=3", "script.py")
    _, errors = launcher.communicate(timeout=60)
    assert launcher.returncode == 2
    assert "unrecognized arguments: --max-restarts=3" in errors


def test_a_rank_that_dies_ends_the_training_on_gpus_with_an_error(tmp_path: Path) -> None:
    environment = {**os.environ, **ONE_THREAD, "MINITORCH_SIMULATED_GPUS": "2", "STORE": str(tmp_path / "store")}
    command = [sys.executable, "-m", "minitorch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*command, str(PROGRAMS / "regression.py"), "dies"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert re.search(r"Root Cause .*rank      : 1 \(local_rank: 1\)\n  exitcode  : 3 ", done.stderr, re.DOTALL)
    stopped = re.search(r"rank      : 0 \(local_rank: 0\)\n  exitcode  : -15 ", done.stderr)
    assert GONE in done.stderr or stopped  # what rank 0 was told, unless the launcher was quicker


def is_gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
