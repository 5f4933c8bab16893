"""Programs, what they print, and docs/packages.md belong together. To run them: `python -m tests.packages`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packages.__main__ import PROGRAMS, ROOT, START, TABLE, Program, alike, versions


def test_every_program_has_what_it_prints_and_pinned_packages() -> None:
    for program in PROGRAMS:
        packages, purpose = program.header
        assert program.expected.read_text(encoding="utf-8").strip(), program.name
        assert set(packages) <= versions(program.pinned).keys()
        assert purpose.endswith(".")


def test_the_table_has_every_program() -> None:
    rows = TABLE.read_text(encoding="utf-8").partition(START)[2]
    assert [program.name for program in PROGRAMS if program.header[1].rstrip(".") not in rows] == []


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        ("print('a'); print('b')", ""),
        ("print('a'); print('c')", "line 2 is 'c', PyTorch's 'b'"),
        ("print('a')", "1 lines, PyTorch's 2"),
        ("print('a'); raise ValueError('x')", "after line 1: ValueError: x"),
    ],
)
def test_a_difference_is_found(printed: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.packages.__main__.EXPECTED", tmp_path)
    (tmp_path / "program.py").write_text(printed)
    (tmp_path / "program.txt").write_text("a\nb\n")
    assert Program(tmp_path / "program.py").difference(Path(sys.executable)) == found


@pytest.mark.parametrize(
    ("line", "want", "same"),
    [
        ("loss 3.14", "loss 3.14", True),
        ("loss 3.14", "loss 3.15", True),
        ("loss 3.14", "loss 3.16", False),
        ("loss 1.23e-05", "loss 1.24e-05", True),
        ("loss 1.23e-05", "loss 1.23e-06", False),
        ("loss 3.14", "less 3.14", False),
        ("step 7", "step 8", False),
        ("1.0 2.0", "1.0", False),
        ("nan", "1.0", False),
    ],
)
def test_a_number_may_differ_in_the_digit_that_is_rounded(line: str, want: str, same: bool) -> None:
    assert alike(line, want) is same


@pytest.mark.turns(8)
@pytest.mark.parametrize(("required", "code"), [("", 0), ("1", 1)])
def test_packages_that_pip_does_not_find_are_named(required: str, code: int, tmp_path: Path) -> None:
    """When pip finds no packages, the output says that no program ran, and CI fails."""
    alone = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    environment = os.environ | alone | {"MINITORCH_REQUIRE_ALL": required}
    command = [sys.executable, "-m", "tests.packages", "einops"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "NOT TRIED: 1 of 1 programs (einops)" in done.stdout and "0 of 0 that ran" in done.stdout
