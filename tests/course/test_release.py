"""The students' archive."""

import subprocess
import zipfile
from pathlib import Path

from click.testing import CliRunner

from course.__main__ import main
from course.files import Course


def test_the_archive_holds_no_solution_and_is_the_same_each_time(own_course: Course, tmp_path: Path) -> None:
    command = ["--root", str(own_course.root), "release"]
    refused = CliRunner().invoke(main, [*command, str(tmp_path / "none.zip")])
    assert (refused.exit_code, "git knows no exercises" in refused.output) == (1, True)
    (own_course.root / ".gitignore").write_text("__pycache__/\n")
    for arguments in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *arguments], cwd=own_course.root, check=True)
    (own_course.root / "untracked.txt").write_text("not in git")
    archives = [tmp_path / "a.zip", tmp_path / "b.zip"]
    for path in archives:
        assert CliRunner().invoke(main, [*command, str(path)]).exit_code == 0
    assert archives[0].read_bytes() == archives[1].read_bytes()
    with zipfile.ZipFile(archives[0]) as archive:
        texts = {name: archive.read(name) for name in archive.namelist()}
    assert set(texts) == {
        f"minitorch-course/{name}"
        for name in (
            ".gitignore",
            "exercises/.pristine/01_fixture.ipynb",
            "exercises/01_fixture.ipynb",
            "notebooks/01_fixture.ipynb",
            "toy/__init__.py",
            "toy/layout.py",
        )
    }
    assert not any(b"BEGIN SOLUTION" in text for text in texts.values())
