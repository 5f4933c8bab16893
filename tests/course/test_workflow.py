"""The workflow that grades pushes: what its steps run, with a stand-in for GitHub's command."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml

from course.files import CODE, Course

PATH = CODE / ".github" / "workflows" / "grade.yml"
WORKFLOW: dict[Any, Any] = yaml.safe_load(PATH.read_text(encoding="utf-8"))
GH = """#!/bin/sh
echo "$*" >> {log}
case "$2" in
  repos/class/ann/commits/HEAD) echo aaa;;
  repos/class/bob/commits/HEAD) echo bbb;;
  repos/class/eve/commits/HEAD) exit 1;;
  repos/class/ann/commits/aaa/status) echo '{{"statuses": [{{"context": "ci"}}]}}' | jq "$4";;
  repos/class/bob/commits/bbb/status) echo '{{"statuses": [{{"context": "grade"}}]}}' | jq "$4";;
esac
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the steps are a shell's")


def step(job: str, name: str) -> dict[str, Any]:
    return next(each for each in WORKFLOW["jobs"][job]["steps"] if each.get("name") == name)


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Runs a step's script in an empty folder, as GitHub does."""
    (tmp_path / "bin").mkdir()
    gh = tmp_path / "bin" / "gh"
    gh.write_text(GH.format(log=tmp_path / "calls"))
    gh.chmod(0o755)

    def run(script: str, **environment: str) -> str:
        path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=tmp_path,
            env={**os.environ, "PATH": path, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.needs("jq")
def test_pushes_without_a_grade_are_found(run: Any, tmp_path: Path) -> None:
    students = "class/ann\nclass/bob\nclass/eve\n"
    said = run(step("pushes", "Find the pushes that are not graded yet")["run"], STUDENTS=students, GITHUB_OUTPUT="out")
    assert said == "::warning::class/eve has no commit, or the token may not read it\n"
    name, _, value = (tmp_path / "out").read_text().partition("=")
    assert (name, json.loads(value)) == ("include", [{"repository": "class/ann", "commit": "aaa"}])


@pytest.mark.needs("bubblewrap", "jq")
def test_a_push_is_graded_and_the_student_told(run: Any, course: Course, submission: Any, tmp_path: Path) -> None:
    folder = tmp_path / "handed-in" / "exercises"
    folder.mkdir(parents=True)
    nbformat.write(submission(solved=True, predict_strides="prediction = 1"), folder / "01_fixture.ipynb")
    (folder / "broken.ipynb").write_text("{")
    script = step("grade", "Grade")["run"].replace(
        ".venv/bin/course", f"{sys.executable} -m course --root {course.root}"
    )
    run(script, PYTHONPATH=str(CODE))
    made = {path.relative_to(tmp_path / "grade").parts[0] for path in (tmp_path / "grade").iterdir()}
    assert made == {"grade.json", "grade.xml", "grade.csv", "pages"}
    run(step("grade", "Tell the student")["run"], REPOSITORY="class/ann", COMMIT="aaa")
    assert (tmp_path / "calls").read_text() == (
        "api repos/class/ann/statuses/aaa -f state=success -f context=grade -f description=7 of 8 points --silent\n"
    )


def test_the_solutions_and_the_tokens_stay_the_teachers() -> None:
    text = PATH.read_text(encoding="utf-8")
    triggers = WORKFLOW[True]  # YAML's reading of "on"
    assert set(triggers) == {"schedule", "workflow_dispatch"}  # nothing that a student's push or pull request starts
    assert WORKFLOW["permissions"] == {"contents": "read"}
    steps = [each for job in WORKFLOW["jobs"].values() for each in job["steps"]]
    assert not [each for each in steps if "${{" in each.get("run", "")]  # a repository's name is never part of a script
    checkouts = [each["with"] for each in steps if each.get("uses", "").startswith("actions/checkout")]
    assert [each["persist-credentials"] for each in checkouts] == [False, False]
    assert "STUDENTS_TOKEN" not in str(step("grade", "Grade")) and "--untrusted" in step("grade", "Grade")["run"]
    assert text.count("secrets.") == 3
