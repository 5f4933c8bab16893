"""What conftest.py makes of tests whose needs are not met, with and without MINITORCH_REQUIRE_ALL=1."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

MARKED = """
import pytest

@pytest.mark.needs("bubblewrap")
def test_marked():
    raise AssertionError("must not run")

def test_plain():
    pass
"""

GPU = """
import pytest

@pytest.mark.needs("gpu")
def test_gpu():
    raise AssertionError("must not run")
"""

MODULE = """
import pytest
pytest.importorskip("no_such_module", reason="no_such_module is not installed")

def test_in_module():
    pass
"""

INSIDE = """
import pytest

def test_imports():
    pytest.importorskip("no_such_module", reason="no_such_module is not installed")

def test_skips_for_a_reason_of_its_own():
    pytest.skip("only on Windows")
"""


IN_TURN = """
import pytest

@pytest.mark.turns(3)
@pytest.mark.parametrize("place", range(3))
def test_long(place):
    pass

def test_short():
    pass
"""


TOGETHER = """
import pytest

pytestmark = pytest.mark.turns(2, together=True)

def test_long():
    pass

def test_as_long():
    pass
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """Run a test file under this conftest.py, with nothing on PATH, and return the result."""

    def run(source: str, *arguments: str, require_all: bool) -> pytest.RunResult:
        monkeypatch.setenv("PATH", "")
        monkeypatch.setenv("MINITORCH_REQUIRE_ALL", "1" if require_all else "0")
        pytester.makeconftest(Path(__file__).with_name("conftest.py").read_text(encoding="utf-8"))
        markers = "needs(*names): what the test needs\n turns(count, together): one in so many"
        pytester.makeini(f"[pytest]\nmarkers =\n {markers}\naddopts = --strict-markers -ra")
        pytester.makepyfile(source)
        return pytester.runpytest_inprocess(*arguments)

    return run


def test_missing_need_skips_with_its_reason(run) -> None:
    result = run(MARKED, require_all=False)
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines("SKIPPED*bubblewrap is not installed: apt-get install bubblewrap*")


def test_missing_need_fails_where_all_is_required(run) -> None:
    result = run(MARKED, require_all=True)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines("*bubblewrap is not installed: apt-get install bubblewrap*")


@pytest.mark.parametrize("require_all", [False, True])
def test_missing_gpu_always_skips(run, monkeypatch, require_all: bool) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    run(GPU, require_all=require_all).assert_outcomes(skipped=1)


def test_importorskip_skips(run) -> None:
    run(MODULE, require_all=False).assert_outcomes(skipped=1)
    run(INSIDE, require_all=False).assert_outcomes(skipped=2)


@pytest.mark.parametrize("workers", ["0", "1"])
def test_importorskip_of_a_module_fails_where_all_is_required(run, workers: str) -> None:
    result = run(MODULE, "-n", workers, require_all=True)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines("*no_such_module is not installed (MINITORCH_REQUIRE_ALL=1 forbids*")


def test_importorskip_inside_a_test_fails_where_all_is_required(run) -> None:
    result = run(INSIDE, require_all=True)
    result.assert_outcomes(failed=1, skipped=1)
    result.stdout.fnmatch_lines("*no_such_module is not installed (MINITORCH_REQUIRE_ALL=1 forbids*")


@pytest.mark.parametrize("names", ["", '"tensorflow"'])
def test_unknown_need_is_a_usage_error(run, names: str) -> None:
    result = run(MARKED.replace('"bubblewrap"', names), require_all=False)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("*should name some of torch, bubblewrap, browser, mpi, *gpu, avx512, nvrtc*")


def test_each_turn_runs_one_in_three_of_the_long_tests(run, monkeypatch) -> None:
    for turn in ("7", "8", "9"):
        monkeypatch.setenv("MINITORCH_TURN", turn)
        run(IN_TURN, require_all=False).assert_outcomes(passed=2, deselected=2)
    monkeypatch.delenv("MINITORCH_TURN")
    run(IN_TURN, require_all=False).assert_outcomes(passed=4)


def test_those_of_a_file_run_together_where_they_say_so(run, pytester, monkeypatch) -> None:
    pytester.makepyfile(test_first=TOGETHER, test_second=TOGETHER.replace("long", "short"))
    for turn, passed in ("6", "long"), ("7", "short"):
        monkeypatch.setenv("MINITORCH_TURN", turn)
        result = run("", "-v", require_all=False)
        result.assert_outcomes(passed=2, deselected=2)
        result.stdout.fnmatch_lines(f"*test_as_{passed} PASSED*")
