"""The files that are handed out: wheel and sdist, the image's Dockerfile, Binder's and the devcontainer's set-up."""

import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from course.files import CODE
from tests.conftest import tool


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel and the sdist, by their suffixes."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=CODE, check=True)
    return {path.suffix: path for path in folder.iterdir()}


def said(name: str, *arguments: str) -> str:
    """What a tool prints; empty if it finds nothing."""
    program = tool(name)
    assert program is not None
    done = subprocess.run([program, *arguments], cwd=CODE, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{done.returncode}: {done.stdout}{done.stderr}"


@pytest.mark.needs("twine", "check-wheel-contents")
def test_wheel_and_sdist_are_as_they_should_be(built: dict[str, Path]) -> None:
    assert said("twine", "check", "--strict", *map(str, built.values())) == ""
    assert said("check-wheel-contents", str(built[".whl"])) == ""


def test_what_wheel_and_sdist_hold(built: dict[str, Path]) -> None:
    with zipfile.ZipFile(built[".whl"]) as wheel_file, tarfile.open(built[".gz"]) as sdist:
        wheel = set(wheel_file.namelist())
        names = {name.partition("/")[2] for name in sdist.getnames()}
    chapters = {path.name for path in (CODE / "exercises" / ".pristine").glob("*.ipynb")}
    for folder in ("exercises/.pristine", "notebooks", "solutions"):
        here = [Path(name).name for name in wheel if re.fullmatch(rf"course/data/{folder}/[^/]*\.ipynb", name)]
        assert set(here) == chapters
    shared = {name.partition(".data/data/")[2] for name in wheel if ".data/data/" in name}
    assert {
        "etc/ipython/ipython_kernel_config.json",
        "etc/jupyter/jupyter_server_config.d/minitorch-course.json",
        "share/jupyter/lab/settings/overrides.d/minitorch-course.json",
    } <= shared
    assert {"chapters/mytorch/strides.py", "hatch_build.py", "requirements.lock", "pyproject.toml"} <= names
    for name in wheel | names:
        assert not re.search(r"(^|/)(my|\.venv|__pycache__|\.ipynb_checkpoints)/|^course/data/exercises/[^.]", name), (
            name
        )


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
