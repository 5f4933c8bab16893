"""Links that open a notebook in Binder, Colab or Codespaces, and the cell that Colab needs."""

import os
import re
import subprocess
import sys
import types
import zipfile
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course.authoring import places
from course.authoring.build import build, differences
from course.files import CODE, Course
from course.site import frames, indexes
from course.site.address import archived
from course.site.shown import Pictures

pytestmark = pytest.mark.turns(8, together=True)

CHAPTER = "01_fixture"
ADDRESS = "https://github.com/someone/minitorch"
LINE = (
    "*Open in [Binder](https://mybinder.org/v2/gh/someone/minitorch/HEAD?urlpath=lab%2Ftree%2F{folder}%2F01_fixture.ipynb)"
    " · [Colab](https://colab.research.google.com/github/someone/minitorch/blob/HEAD/{folder}/01_fixture.ipynb)"
    " · [Codespaces](https://codespaces.new/someone/minitorch)*"
)


def set_address(course: Course, address: str) -> None:
    (course.root / "pyproject.toml").write_text(f'[project]\nname = "x"\nurls = {{Repository = "{address}"}}\n')


def texts(course: Course) -> dict[str, list[str]]:
    return {
        folder: [cell.source for cell in nbformat.read(course.root / folder / f"{CHAPTER}.ipynb", as_version=4).cells]
        for folder in ("notebooks", "exercises", "exercises/.pristine", "solutions")
    }


@pytest.mark.parametrize("address", [f"{ADDRESS}.git", ADDRESS + "/"])
def test_they_are_there_once_the_address_is_set(own_course: Course, address: str) -> None:
    before = texts(own_course)
    assert "Open in" not in str(before) and "google" not in str(before)
    set_address(own_course, address)
    build(own_course)
    after = texts(own_course)
    for folder, cells in after.items():
        place = folder.partition("/")[0]
        assert cells[0] == f"{before[folder][0]}\n\n{LINE.format(folder=place)}"
        assert f"git+{ADDRESS}" in cells[1] and f"/content/course/{place}" in cells[1]
        assert cells[2:] == before[folder][1:]
    assert differences(own_course) == differences(own_course, stored=True) == []
    (own_course.root / "pyproject.toml").unlink()
    build(own_course)
    assert texts(own_course) == before


def test_an_address_elsewhere_has_no_such_links(own_course: Course) -> None:
    before = texts(own_course)
    set_address(own_course, "https://codeberg.org/someone/minitorch")
    build(own_course)
    assert texts(own_course) == before


@pytest.mark.parametrize("address", ["", ADDRESS])
def test_the_sites_front_page_says_how_to_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str) -> None:
    """With pip, and from a clone: what a visitor copies works as it stands, with an address and without one."""
    monkeypatch.setattr(indexes, "address", lambda root: address)
    lessons = {path.stem: frames.read(path) for path in Course(CODE).notebooks.glob("*.ipynb")}
    front = indexes.front(lessons, {}, [], Pictures(tmp_path, up=""))
    commands = re.findall(r"^````{code-block} sh\n(.*?)^````", front, re.MULTILINE | re.DOTALL)
    if address:
        with_pip, with_git = commands
        assert f'pip install "minitorch-course[course] @ git+{address}"\n' in with_pip
        assert with_git == f"git clone {address} minitorch-course\ncd minitorch-course\nmake lab\n"
    else:
        assert commands == ["make lab\n"]
    assert "ADDRESS" not in front
    assert ("https://mybinder.org/" in front) == bool(address)


def test_without_an_address_the_site_offers_the_course_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is downloaded, unpacked as the page says, is the last commit, in the folder that the page names."""
    monkeypatch.setattr(indexes, "address", lambda root: "")
    lessons = {path.stem: frames.read(path) for path in Course(CODE).notebooks.glob("00*.ipynb")}
    front = indexes.front(lessons, {}, [], Pictures(tmp_path, up=""), is_offered=True)
    assert f'href="{indexes.ARCHIVE}"' in front
    (commands,) = re.findall(r"^````{code-block} sh\n(.*?)^````", front, re.MULTILINE | re.DOTALL)
    unpack, enter, _ = commands.splitlines()
    repository, there = tmp_path / "repository", tmp_path / unpack.removeprefix("unzip ")
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    repository.mkdir()
    (repository / "Makefile").write_text("lab:\n", encoding="utf-8")
    assert not archived(tmp_path / "nothing", there)
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    assert archived(repository, there)
    assert zipfile.ZipFile(there).read(f"{enter.removeprefix('cd ')}/Makefile") == b"lab:\n"


def test_the_cell_for_colab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Elsewhere it does nothing; there it installs, lays out and changes the folder, once."""
    source = places._CELL.format(address=ADDRESS, folder="exercises")
    called: list[Any] = []
    monkeypatch.setattr(subprocess, "run", lambda command, check: called.append((command, check)))
    monkeypatch.setattr(os, "chdir", lambda folder: called.append(folder))
    exec(source, {})
    assert called == []
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    exec(source, {})
    install = [sys.executable, "-m", "pip", "install", "--quiet", f"git+{ADDRESS}"]
    start = [sys.executable, "-m", "course", "start", "/content/course"]
    assert called == [(install, True), (start, True), "/content/course/exercises"]
    monkeypatch.setattr(os.path, "exists", lambda path: path == "/content/course")
    exec(source, {})
    assert len(called) == 3
