"""The limits: what runs too long ends, and nothing of it stays behind."""

import os
import sys
import uuid
from pathlib import Path

import psutil
import pytest

from course.files import CODE
from course.sandbox import Limits, run

ENVIRONMENT = {"PYTHONPATH": str(CODE), "PATH": os.environ.get("PATH", os.defpath)}

pytestmark = pytest.mark.skipif(os.name == "nt", reason="resource limits are POSIX's")


def python(code: str, folder: Path, limits: Limits | None = None, **environment: str) -> tuple[int | None, str]:
    ended = run([sys.executable, "-c", code], folder, {**ENVIRONMENT, **environment}, limits or Limits())
    return ended.returncode, ended.output


def test_output_and_exit_code(tmp_path: Path) -> None:
    assert python("import os; print(os.getcwd()); raise SystemExit(3)", tmp_path) == (3, f"{tmp_path}\n")
    assert python("print('x' * 50_000)", tmp_path) == (0, "x" * 19_999 + "\n")


def test_the_wall_clock(tmp_path: Path) -> None:
    assert python("import time; time.sleep(600)", tmp_path, Limits(wall_seconds=1))[0] is None


def test_no_process_stays_behind(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    code = """
import os, subprocess, sys
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
subprocess.Popen(sleep)
subprocess.Popen(sleep, start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        subprocess.Popen(sleep).wait()
    os._exit(0)
"""
    assert python(code, tmp_path, MARK=mark)[0] == 0
    alive = [p for p in psutil.process_iter(["environ", "status"]) if (p.info["environ"] or {}).get("MARK") == mark]
    assert alive == []


@pytest.mark.parametrize(
    ("limits", "code", "error"),
    [
        (Limits(memory_bytes=1 << 30), "bytearray(2 << 30)", "MemoryError"),
        (Limits(file_bytes=1 << 20), "open('f', 'wb').write(bytes(2 << 20))", "File too large"),
    ],
)
def test_resource_limits(tmp_path: Path, limits: Limits, code: str, error: str) -> None:
    returncode, output = python(code, tmp_path, limits)
    assert returncode == 1
    assert error in output


def test_cpu_time_ends_a_process(tmp_path: Path) -> None:
    assert python("while True: pass", tmp_path, Limits(cpu_seconds=1))[0] == -9


def test_the_limits_that_a_command_gets(tmp_path: Path) -> None:
    kinds = "(r.RLIMIT_AS, r.RLIMIT_CPU, r.RLIMIT_FSIZE, r.RLIMIT_CORE)"
    code = f"import resource as r; print([r.getrlimit(kind)[1] for kind in {kinds}])"
    limits = Limits(memory_bytes=3 << 30, cpu_seconds=9, file_bytes=5 << 20)
    assert python(code, tmp_path, limits) == (0, f"[{3 << 30}, 9, {5 << 20}, 0]\n")
    code = "import resource as r; print(r.getrlimit(r.RLIMIT_NPROC)[0] >= 40)"
    assert python(code, tmp_path, Limits(processes=40)) == (0, "True\n")
