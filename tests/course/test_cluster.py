"""A class graded by two workers of a Dask cluster, over TCP."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.files import Course
from course.grading import cluster
from course.grading.grade import grade
from course.grading.report import Report
from course.sandbox import launch

pytestmark = pytest.mark.needs("dask")


@pytest.fixture(scope="module")
def address(course: Course) -> Iterator[str]:
    """A scheduler and two workers, processes of their own that hold the course."""
    from distributed import LocalCluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINITORCH_COURSE_ROOT", str(course.root))
        with LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="tcp://127.0.0.1", dashboard_address=None
        ) as local:
            local.wait_for_workers(2)
            yield local.scheduler_address


@pytest.fixture
def folder(submission: Callable[..., Any], tmp_path: Path) -> Path:
    """Five submissions."""
    made = {
        "solved": submission(solved=True),
        "unsolved": submission(),
        "wrong": submission(solved=True, predict_strides="prediction = (12, 3, 1)"),
        "raises": submission(solved=True, contiguous_strides="def contiguous_strides(size):\n    1 / 0"),
    }
    (tmp_path / "class").mkdir()
    for name, notebook in made.items():
        nbformat.write(notebook, tmp_path / "class" / f"{name}.ipynb")
    (tmp_path / "class" / "broken.ipynb").write_text("{")
    return tmp_path / "class"


def without_times(report: Report) -> list[Any]:
    for result in report.submissions:
        result.seconds = 0
    return report.submissions


@pytest.mark.turns(8)
def test_a_cluster_grades_as_this_machine_does(course: Course, folder: Path, address: str) -> None:
    assert address.startswith("tcp://")
    kept: list[int] = []
    report = grade([folder], course, seed=5, dask=address, keep=lambda each: kept.append(len(each.submissions)))
    assert without_times(report) == without_times(grade([folder], course, seed=5))
    assert kept == [2, 3, 4, 5]
    assert report.submissions[-1].items[0].message.startswith("These would be")


@pytest.mark.turns(8)
def test_both_workers_grade_and_nothing_stays_on_them(
    course: Course, folder: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Client

    took: list[Any] = []
    end = Client.run

    def run(client: Any, function: Any, *arguments: Any, **keywords: Any) -> Any:
        took.append(end(client, lambda: [each.folder.name for each in cluster._workers.values()]))
        return end(client, function, *arguments, **keywords)

    monkeypatch.setattr(Client, "run", run)
    grade([folder], course, dask=address, explain=False)
    assert len(took[0]) == 2 and all(len(folders) == 1 for folders in took[0].values())
    with Client(address, set_as_default=False) as client:
        assert set(map(len, end(client, lambda: cluster._workers).values())) == {0}
    assert not any(Path(place).exists() for places in took[0].values() for place in places)


@pytest.mark.turns(8)
def test_the_command(course: Course, folder: Path, address: str, tmp_path: Path) -> None:
    saved = tmp_path / "report.json"
    command = ["--root", str(course.root), "grade", str(folder / "solved.ipynb"), "--json", str(saved)]
    done = CliRunner().invoke(main, [*command, "--dask", address])
    assert done.exit_code == 0, done.output
    assert json.loads(saved.read_text())["submissions"][0]["score"] == 8


@pytest.mark.turns(8)
def test_nobody_answers(course: Course, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import dask

    command = ["--root", str(course.root), "grade", str(folder / "solved.ipynb"), "--dask", "tcp://127.0.0.1:9"]
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        done = CliRunner().invoke(main, command)
    assert done.exit_code == 1
    assert "the cluster at tcp://127.0.0.1:9: " in done.output


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": "old"}, "the worker and the grader have different versions of the course"),
        ({"is_sandboxed": True}, "the worker has no sandbox, although the grader's machine has one: none"),
    ],
)
def test_a_worker_that_differs_grades_nothing(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], reason: str
) -> None:
    about = {"version": cluster.version(), "is_sandboxed": False, "seed": 1, "limits": launch.Limits(), **change}
    monkeypatch.setattr(launch, "trouble", lambda: "none")
    with pytest.raises(cluster.SandboxError, match=reason):
        cluster.grade_there(cluster.GradeSettings("test", **about), None, None, "")  # type: ignore[arg-type]


def test_a_lost_worker_costs_its_submission_alone() -> None:
    class Future:
        status = "error"

        def exception(self) -> Exception:
            return RuntimeError("the worker was lost")

    result = cluster._result(Future(), cluster.Result("a.ipynb", "01_fixture"))
    assert (result.status, result.reason) == ("not graded", "the worker was lost")


def test_dask_is_asked_for_only_where_it_is_used() -> None:
    code = "import sys, course.grading.grade, course.__main__; print('distributed' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
