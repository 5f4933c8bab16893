"""`make kernels`: which runs a processor can do, and what each sets for that command alone."""

import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from course.authoring import kernels
from course.files import CODE

FOLDERS = ["notebooks", "solutions"]


class Run(NamedTuple):
    """A command that would have run."""

    kernels: str
    threads: str
    left_out: str
    paths: list[str]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """The kernels and threads of each command that would have run, on a processor without AVX-512."""
    found: list[Run] = []

    def run(command: list[str], env: dict[str, str], check: bool) -> Any:
        settings = (
            env.get(name, "") for name in ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "NPY_DISABLE_CPU_FEATURES")
        )
        found.append(Run(*settings, command[command.index("--nbval") + 1 :]))
        return subprocess.CompletedProcess(command, int(env.get("OPENBLAS_CORETYPE") == "Haswell"))

    monkeypatch.setattr(kernels.subprocess, "run", run)
    monkeypatch.setattr(kernels, "described", lambda: "vendor_id : GenuineIntel\nflags : pni avx2 fma\n")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Zen")
    return found


OLD = "X86_V3 X86_V4 AVX512_ICL"
MIDDLE = "X86_V4 AVX512_ICL"


def test_six_runs_but_for_those_that_the_processor_cannot_do(ran: list[Run]) -> None:
    done = CliRunner().invoke(kernels.main, [])
    assert ran == [
        Run("Prescott", "1", OLD, FOLDERS),
        Run("Haswell", "1", MIDDLE, FOLDERS),
        Run("Prescott", "2", OLD, FOLDERS),
        Run("Haswell", "2", MIDDLE, FOLDERS),
    ]
    left_out = "SkylakeX with 1 thread: left out, since this processor lacks avx512bw avx512dq avx512f avx512vl"
    assert left_out in done.output.splitlines()
    failed = "Error: other outputs than stored: Haswell with 1 thread, Haswell with 2 threads"
    assert (done.exit_code, done.output.splitlines()[-1]) == (1, failed)


def test_one_of_them(ran: list[Run]) -> None:
    assert CliRunner().invoke(kernels.main, ["4"]).exit_code == 0
    assert ran == [Run("Prescott", "2", OLD, FOLDERS)]


def test_in_turn_it_is_one_that_the_processor_can_do_with_half_of_the_notebooks(
    ran: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CODE)
    for turn in range(4, 12):
        CliRunner().invoke(kernels.main, ["--turn", str(turn)])
    four = [("Prescott", "1"), ("Haswell", "1"), ("Prescott", "2"), ("Haswell", "2")]
    assert [each[:2] for each in ran] == four * 2
    every = sorted(path.as_posix() for folder in FOLDERS for path in Path(folder).glob("*.ipynb"))
    assert every
    for one, other in zip(ran[:4], ran[4:], strict=True):
        assert sorted(one.paths + other.paths) == every
        assert len({Path(path).name for path in one.paths}) == len(one.paths)


def test_a_processor_that_can_do_none_of_them_runs_them_as_it_is(
    ran: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "described", lambda: "Features : asimd")
    monkeypatch.delenv("OPENBLAS_CORETYPE")
    monkeypatch.delenv("NPY_DISABLE_CPU_FEATURES", raising=False)
    monkeypatch.chdir(CODE)
    assert CliRunner().invoke(kernels.main, ["--turn", "4"]).exit_code == 0
    assert [each[:3] for each in ran] == [("", "1", "")]
