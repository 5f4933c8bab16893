"""The files that are handed out: wheels and sdists, the image's Dockerfile, Binder's and the devcontainer's set-up."""

import email
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import nbformat
import pytest
from packaging.requirements import Requirement

from course.authoring import distributions
from course.files import CODE
from tests.conftest import tool

pytestmark = pytest.mark.turns(8, together=True)

PROJECT, LIBRARY = (
    tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for folder in (CODE, CODE / distributions.LIBRARY)
)
ALONE = """
import sys

class Alone:
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] not in {"minitorch", "numpy", "ml_dtypes"} | sys.stdlib_module_names:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Alone())
import minitorch as torch
x = torch.arange(3.0, requires_grad=True)
(x * x).sum().backward()
print(x.grad, torch.__file__)
"""
"""A program that finds minitorch and what it requires, and no other package."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The library's sdist and wheel, and the course's, as `make release` builds them."""
    return distributions.build(CODE, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def programs(built: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a new environment: both wheels, and of our packages those that `[course]` requires."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    options = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-compile"]
    pip = [sys.executable, "-m", "pip", "--python", str(folder), "install", *options]
    subprocess.run([*pip, *(str(path) for path in built if path.suffix == ".whl")], check=True)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    for each in closure(Requirement("minitorch-course[course]")):
        for file in each.files or []:
            if ".." not in file.parts and file.suffix != ".pyc":
                (packages / file).parent.mkdir(parents=True, exist_ok=True)
                os.link(file.locate(), packages / file)
    return Path(sysconfig.get_path("scripts", "venv", {"base": str(folder)}))


def closure(wanted: Requirement) -> list[importlib.metadata.Distribution]:
    """The installed packages that a requirement leads to, without its own."""
    found: dict[str, importlib.metadata.Distribution] = {}
    waiting, seen = [wanted], set()
    while waiting:
        now = waiting.pop()
        distribution = importlib.metadata.distribution(now.name)
        found[distribution.name] = distribution
        for each in map(Requirement, distribution.requires or []):
            extras = [{"extra": extra} for extra in now.extras or {""}]
            if str(each) not in seen and (each.marker is None or any(map(each.marker.evaluate, extras))):
                seen.add(str(each))
                waiting.append(each)
    return [each for name, each in found.items() if name != wanted.name]


def printed(*command: str | Path, where: Path = CODE) -> str:
    """What a command prints that succeeds."""
    done = subprocess.run([*map(str, command)], cwd=where, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def said(name: str, *arguments: str) -> str:
    """What a tool prints; empty if it finds nothing."""
    program = tool(name)
    assert program is not None
    done = subprocess.run([program, *arguments], cwd=CODE, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{done.returncode}: {done.stdout}{done.stderr}"


def held(path: Path) -> set[str]:
    """The files of a wheel, and those of an sdist below its folder."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return set(wheel.namelist())
    with tarfile.open(path) as sdist:
        return {name.partition("/")[2] for name in sdist.getnames()}


def required(wheel: Path) -> set[str]:
    """What a wheel requires, without its extras."""
    with zipfile.ZipFile(wheel) as file:
        about = next(file.read(name).decode() for name in file.namelist() if name.endswith(".dist-info/METADATA"))
    every = map(Requirement, email.message_from_string(about).get_all("Requires-Dist", []))
    return {str(each) for each in every if not each.marker}


@pytest.mark.needs("twine", "check-wheel-contents")
def test_wheels_and_sdists_are_as_they_should_be(built: list[Path]) -> None:
    assert said("twine", "check", "--strict", *map(str, built)) == ""
    for wheel, package in zip(built[1::2], ("minitorch", "course"), strict=True):
        assert said("check-wheel-contents", "--toplevel", package, str(wheel)) == ""


def test_what_they_require(built: list[Path]) -> None:
    """The library NumPy and ml_dtypes, as the checkout does; the course the library of its own version, too."""
    _, library, _, course = built
    assert sorted(PROJECT["dependencies"]) == sorted(LIBRARY["dependencies"])
    assert PROJECT["optional-dependencies"]["gpu"] == LIBRARY["optional-dependencies"]["gpu"]
    assert required(library) == {"ml-dtypes>=0.5", "numpy>=2"}
    assert required(course) == {*required(library), f"minitorch=={PROJECT['version']}"}


def test_what_they_hold(built: list[Path]) -> None:
    """The course's wheel also what `course start` lays out; neither what a learner or an environment left here."""
    library, library_wheel, course, course_wheel = names = [held(path) for path in built]
    assert {"LICENSE", "README.md", "minitorch/tensor.py"} <= library
    assert {name.partition("/")[0] for name in library_wheel if ".dist-info/" not in name} == {"minitorch"}
    assert not any(name.startswith("minitorch/") for name in course | course_wheel)
    chapters = {path.name for path in (CODE / "exercises" / ".pristine").glob("*.ipynb")}
    for folder in ("exercises/.pristine", "notebooks", "solutions"):
        here = [Path(name).name for name in course_wheel if re.fullmatch(rf"course/data/{folder}/[^/]*\.ipynb", name)]
        assert set(here) == chapters
    shared = {name.partition(".data/data/")[2] for name in course_wheel if ".data/data/" in name}
    assert {
        "etc/ipython/ipython_kernel_config.json",
        "etc/jupyter/jupyter_server_config.d/minitorch-course.json",
        "share/jupyter/lab/settings/overrides.d/minitorch-course.json",
    } <= shared
    assert {"chapters/mytorch/strides.py", "hatch_build.py", "requirements.lock", "pyproject.toml"} <= course
    for name in set().union(*names):
        assert not re.search(r"(^|/)(my|\.venv|__pycache__|\.ipynb_checkpoints)/|^course/data/exercises/[^.]", name), (
            name
        )


def test_the_library_runs_alone(programs: Path) -> None:
    gradient, _, file = printed(programs / "python", "-P", "-c", ALONE).strip().rpartition(" ")
    assert gradient == "tensor([0., 2., 4.])"
    assert Path(file).is_relative_to(programs.parent)


def test_the_wheels_reach_a_first_graded_answer(programs: Path, tmp_path: Path) -> None:
    """As a learner does: lay out a folder, answer the first exercise in its notebook, run the cells up to the check."""
    learn = tmp_path / "learn"
    assert "course lab" in printed(programs / "course", "start", learn, where=tmp_path)
    path = learn / "exercises" / "00_welcome.ipynb"
    notebook, solved = (
        nbformat.read(learn / folder / path.name, as_version=4) for folder in ("exercises", "solutions")
    )
    roles = [cell.metadata.get("minitorch", {}).get("role") for cell in notebook.cells]
    notebook.cells[roles.index("solution")].source = next(
        cell.source for cell in solved.cells if cell.metadata.get("minitorch", {}).get("role") == "solution"
    )
    del notebook.cells[roles.index("check") + 1 :]
    nbformat.write(notebook, path)
    run = "from nbclient.cli import main; main()"
    printed(programs / "python", "-P", "-c", run, "--inplace", path, where=learn)
    shown = nbformat.read(path, as_version=4).cells[-1].outputs
    assert "Right" in str(shown), shown
    assert "1/" in printed(programs / "course", "progress", where=learn)
    checked = printed(programs / "course", "check", "welcome_first_derivative", where=learn)
    assert "✓ welcome_first_derivative" in checked, checked
    graded = printed(programs / "course", "grade", f"exercises/{path.name}", where=learn)
    assert re.search(r"graded, 1 of \d+ points", graded), graded


def test_one_command_makes_a_release() -> None:
    lines = printed(
        shutil.which("make") or "make", "--no-print-directory", "--always-make", "--dry-run", "release"
    ).splitlines()
    assert [re.sub(r"^\.venv/\w+/", "", line) for line in lines[-2:]] == [
        "python -m course.authoring.distributions dist",
        "course release dist/course.zip",
    ]


@pytest.mark.needs("hadolint")
def test_the_dockerfile_is_as_it_should_be() -> None:
    assert said("hadolint", "Dockerfile") == ""
    ignored = (CODE / ".dockerignore").read_text(encoding="utf-8").split()
    assert {".git", ".venv", "my"} <= set(ignored)


def test_the_devcontainer_makes_the_environment() -> None:
    settings = json.loads((CODE / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    assert settings["onCreateCommand"].endswith("make setup")
    assert settings["customizations"]["vscode"]["settings"]["python.defaultInterpreterPath"].endswith(
        "/.venv/bin/python"
    )
