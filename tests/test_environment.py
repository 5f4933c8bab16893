"""The places that name dependencies agree: pyproject.toml, requirements.lock and environment.yml."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from course.authoring import environment

PYPROJECT = tomllib.loads((environment.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCK = (environment.ROOT / "requirements.lock").read_text(encoding="utf-8")
ENVIRONMENT = yaml.safe_load((environment.ROOT / "environment.yml").read_text(encoding="utf-8"))

LOCKED_DEPENDENCIES = [
    *PYPROJECT["build-system"]["requires"],
    *PROJECT["dependencies"],
    *EXTRAS["course"],
    *EXTRAS["dev"],
]


def locked() -> Iterator[tuple[Requirement, str]]:
    """Each pinned requirement of the lock with the lines below it (its hashes)."""
    for entry in re.split(r"^(?=\w)", LOCK, flags=re.MULTILINE)[1:]:
        first, _, rest = entry.partition("\n")
        yield Requirement(first.removesuffix("\\")), rest


LOCKED_VERSIONS = {
    canonicalize_name(requirement.name): next(iter(requirement.specifier)).version for requirement, _ in locked()
}


@pytest.mark.parametrize("dependency", LOCKED_DEPENDENCIES)
def test_lock_satisfies_every_direct_dependency(dependency: str) -> None:
    requirement = Requirement(dependency)
    assert LOCKED_VERSIONS[canonicalize_name(requirement.name)] in requirement.specifier


def test_lock_pins_one_version_with_hashes() -> None:
    for requirement, rest in locked():
        assert [specifier.operator for specifier in requirement.specifier] == ["=="], requirement
        assert "--hash=sha256:" in rest, requirement


def test_lock_names_no_host_and_no_path() -> None:
    assert [line for line in LOCK.splitlines() if re.search(r"/|\w+:\\|^\s*-(?!-hash=sha256:)", line)] == []


def test_lock_serves_every_platform() -> None:
    names = LOCKED_VERSIONS.keys()
    assert {"appnope", "colorama", "pywinpty"} <= names, "macOS's and Windows's own packages are missing"


@pytest.mark.parametrize("name", ["torch", "cupy-cuda13x"])
def test_lock_leaves_out_what_depends_on_the_machine(name: str) -> None:
    assert name not in LOCKED_VERSIONS


def test_environment_is_generated_from_pyproject() -> None:
    assert environment.main(["--check"]) == 0


def test_environment_names_what_a_learner_needs() -> None:
    conda = {re.match(r"[\w-]+", line)[0] for line in ENVIRONMENT["dependencies"] if isinstance(line, str)}
    assert {"python", "numpy", "ml_dtypes", "jupyterlab", "matplotlib", "nbval"} <= conda
    assert conda - {"python", "pip"} == {Requirement(line).name for line in PROJECT["dependencies"] + EXTRAS["course"]}


def test_environment_gets_cupy_and_the_project_from_pip() -> None:
    (pip,) = (line["pip"] for line in ENVIRONMENT["dependencies"] if isinstance(line, dict))
    cupy, project = pip
    marker = Requirement(cupy).marker
    assert Requirement(cupy).name.startswith("cupy")
    assert marker is not None
    assert marker.evaluate({"platform_system": "Linux", "platform_machine": "x86_64"})
    assert not marker.evaluate({"platform_system": "Darwin", "platform_machine": "arm64"})
    assert not marker.evaluate({"platform_system": "Windows", "platform_machine": "AMD64"})
    assert project == "-e ."


def test_binder_gets_no_cupy_and_installs_the_project_itself() -> None:
    """A line `-e .` of its file would mean the folder `binder`."""
    binder = yaml.safe_load((environment.ROOT / "binder" / "environment.yml").read_text(encoding="utf-8"))
    assert binder["dependencies"] == [line for line in ENVIRONMENT["dependencies"] if isinstance(line, str)]
    build = environment.ROOT / "binder" / "postBuild"
    assert os.access(build, os.X_OK)
    steps = build.read_text(encoding="utf-8").splitlines()
    assert "python -m pip install --no-deps --editable ." in steps and "python -m course.setup" in steps


def test_write_and_check(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text(
        '[project]\nrequires-python = ">=3.11"\ndependencies = ["numpy>=2"]\n'
        'optional-dependencies = {course = ["click>=8"], gpu = ["cupy>=14; platform_system == \'Linux\'"]}\n'
    )
    assert environment.main(["--check"]) == 1
    assert "make environment" in capsys.readouterr().err
    assert environment.main(["--write"]) == 0
    assert environment.main(["--check"]) == 0
    assert yaml.safe_load((tmp_path / "environment.yml").read_text())["dependencies"] == [
        "python=3.11",
        "pip",
        "click>=8",
        "numpy>=2",
        {"pip": ["cupy>=14; platform_system == 'Linux'", "-e ."]},
    ]
    (tmp_path / "binder" / "environment.yml").write_text("")
    assert environment.main(["--check"]) == 1
    assert environment.main(["--write"]) == 0
    assert yaml.safe_load((tmp_path / "binder" / "environment.yml").read_text())["dependencies"] == [
        "python=3.11",
        "pip",
        "click>=8",
        "numpy>=2",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["binder", "environment.yml", "pyproject.toml"]

    pyproject.write_text(pyproject.read_text().replace("numpy>=2", "numpy>=3"))
    assert environment.main(["--check"]) == 1
