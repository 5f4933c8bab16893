"""`make kernels`: which runs a processor can do, and what each sets for that command alone."""

import subprocess
from typing import Any

import pytest
from click.testing import CliRunner

from course.authoring import kernels


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    """The kernels and threads of each command that would have run, on a processor without AVX-512."""
    found: list[tuple[str, str, str]] = []

    def run(command: list[str], env: dict[str, str], check: bool) -> Any:
        assert command[-3:] == ["--nbval", "notebooks", "solutions"]
        found.append((env["OPENBLAS_CORETYPE"], env["OPENBLAS_NUM_THREADS"], env["NPY_DISABLE_CPU_FEATURES"]))
        return subprocess.CompletedProcess(command, int(env["OPENBLAS_CORETYPE"] == "Haswell"))

    monkeypatch.setattr(kernels.subprocess, "run", run)
    monkeypatch.setattr(kernels, "described", lambda: "vendor_id : GenuineIntel\nflags : pni avx2 fma\n")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Zen")
    return found


OLD = "X86_V3 X86_V4 AVX512_ICL"
MIDDLE = "X86_V4 AVX512_ICL"


def test_six_runs_but_for_those_that_the_processor_cannot_do(ran: list[tuple[str, str, str]]) -> None:
    done = CliRunner().invoke(kernels.main, [])
    assert ran == [("Prescott", "1", OLD), ("Haswell", "1", MIDDLE), ("Prescott", "2", OLD), ("Haswell", "2", MIDDLE)]
    left_out = "SkylakeX with 1 thread: left out, since this processor lacks avx512bw avx512dq avx512f avx512vl"
    assert left_out in done.output.splitlines()
    failed = "Error: other outputs than stored: Haswell with 1 thread, Haswell with 2 threads"
    assert (done.exit_code, done.output.splitlines()[-1]) == (1, failed)


def test_one_of_them(ran: list[tuple[str, str, str]]) -> None:
    assert CliRunner().invoke(kernels.main, ["4"]).exit_code == 0
    assert ran == [("Prescott", "2", OLD)]


def test_in_turn_it_is_one_that_the_processor_can_do(ran: list[tuple[str, str, str]]) -> None:
    for turn in range(4, 8):
        CliRunner().invoke(kernels.main, ["--turn", str(turn)])
    assert [each[:2] for each in ran] == [("Prescott", "1"), ("Haswell", "1"), ("Prescott", "2"), ("Haswell", "2")]
