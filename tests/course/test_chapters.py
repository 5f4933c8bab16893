"""Chapters and their second sittings: 06, then 06b, then 07, wherever a chapter is named."""

import shutil
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.authoring.build import build, differences
from course.chapters import Key, key
from course.files import Course
from course.learner import practice
from course.learner.names import chapter
from course.learner.read import shown
from course.source import assemble, parts

CURVATURE = """

# 06b · More of it
def curvature(name: str) -> str:
    \"\"\"What bends.\"\"\"
    return f"{name} bends"


# 07 · Later
def unbent(name: str) -> str:
    \"\"\"What doesn't.\"\"\"
    return name
"""
EXERCISES = """# %% [markdown]
# # Exercises · More

# %% setup=true
from __future__ import annotations

from course import check

# %% [markdown] exercise="more_curvature" kind="core" points=2 part="mytorch.derivatives:curvature"
# ### Exercise 1 · What bends
# Say it.

# %% check="more_curvature"
name = "".join(check.rng().permutation(list("sinus")))
check.show({"bends": mytorch.curvature(name), "later": hasattr(mytorch.derivatives, "unbent")})

# %% [markdown] hint="more_curvature"
# One.

# %% [markdown] hint="more_curvature"
# Two.

# %% [markdown] hint="more_curvature"
# Three.

# %% mutant="more_curvature"
# Says nothing
# It says what bends.
def curvature(name):
    return ""


# %% mutant="more_curvature"
# Says too little
# It says that it bends.
def curvature(name):
    return name
"""
LESSON = """# %% [markdown]
# # More

# %% hidden=true
from course import lesson

mytorch = lesson.mytorch("06b")

# %%
print(hasattr(mytorch, "curvature"), hasattr(mytorch.derivatives, "unbent"))
"""


@pytest.fixture
def two_sittings(core_course: Course, tmp_path: Path) -> Course:
    """A course of chapters 06 and 06b."""
    course = Course(Path(shutil.copytree(core_course.root, tmp_path / "course")))
    derivatives = course.chapters / "mytorch" / "derivatives.py"
    derivatives.write_text(derivatives.read_text() + CURVATURE)
    package = course.chapters / "mytorch" / "__init__.py"
    section = "# 06b · More of it\nfrom .derivatives import curvature\n\n# 09"
    package.write_text(package.read_text().replace("# 09", section))
    folder = course.chapters / "06b_more"
    folder.mkdir()
    (folder / "exercises.py").write_text(EXERCISES)
    (folder / "lesson.py").write_text(LESSON)
    (course.root / "docs").mkdir()
    row = "| 06b | `derivatives.py` | all of it | Everything. |"
    (course.root / "docs" / "reading.md").write_text(f"{row}\n{row.replace('06b', '06').replace('E', 'Almost e')}\n")
    (course.root / "minitorch").mkdir()
    shutil.copy(derivatives, course.root / "minitorch")
    build(course)
    return course


def test_keys_are_in_order() -> None:
    names = ["02_tensors", "02b_dtypes", "03_views", "20", "20b", "21"]
    assert sorted(names, key=key) == sorted(names) == names
    assert key(6) == key("06") == key("06_core") == Key(6) and str(key(6)) == "06" and key(6).literal == "6"
    assert key("20b_export") == Key(20, "b") and str(key("20b")) == "20b" and key("20b").literal == '"20b"'
    for name in ("core", "b20", "6bb", "123"):
        with pytest.raises(ValueError, match="is no chapter"):
            key(name)


@pytest.mark.turns(8)
def test_a_section_of_a_second_sitting_comes_after_the_first(two_sittings: Course) -> None:
    files = assemble.read(two_sittings.reference)
    first, second, third = (assemble.as_of(files, each)["derivatives.py"] for each in (6, "06b", "07"))
    assert "curvature" not in first and "curvature" in second and "unbent" not in second and "unbent" in third
    assert assemble.section_of(third, "curvature") == "06b"
    with pytest.raises(parts.PartError, match=r"not \['06b', '06'\]"):
        assemble.as_of({"a.py": "# 06b · B\n\n# 06 · A\n"}, 7)


@pytest.mark.turns(8)
def test_it_is_built_checked_counted_and_read(two_sittings: Course) -> None:
    course = two_sittings
    assert differences(course) == []
    notebook = nbformat.read(course.exercises / "06b_more.ipynb", as_version=4)
    checks = [cell.source for cell in notebook.cells if "check.show" in cell.source]
    assert len(checks) == 1 and 'chapter="06b",' in checks[0].partition(")")[0]
    lesson = nbformat.read(course.notebooks / "06b_more.ipynb", as_version=4)
    assert lesson.cells[-1].outputs[0].text == "True False\n"
    *first, second = (exercise.key for exercise in practice.exercises(course))
    assert {*first} == {Key(6)} and second == Key(6, "b")
    assert chapter(course, "06b") == "06b_more" and chapter(course, "06") == "06_core"
    assert chapter(course, "6b") == "06b_more" and chapter(course, "6") == "06_core" and not chapter(course, "60")
    shown_progress = CliRunner().invoke(main, ["--root", str(course.root), "progress", "06b"]).output
    assert "more_curvature" in shown_progress and "core_strides" not in shown_progress
    assert shown(course.root, "06b").startswith("# minitorch/derivatives.py: Everything.")
    assert shown(course.root, "06").startswith("# minitorch/derivatives.py: Almost everything.")


@pytest.mark.turns(8)
def test_one_sitting_can_be_built_alone(two_sittings: Course) -> None:
    for name in ("06b", "06b_more"):
        path = two_sittings.notebooks / "06b_more.ipynb"
        path.unlink()
        build(two_sittings, [name])
        assert path.exists()
