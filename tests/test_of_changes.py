"""`make quick` runs the tests that concern a change."""

from pathlib import Path

import pytest

from tests import of_changes

TESTS = {
    "tests/nn/test_pooling.py": "import minitorch as torch\n",
    "tests/nn/test_linear.py": "from minitorch.nn import functional, pooling  # used below\n",
    "tests/nn/test_other.py": "from minitorch.nn.pooling_layers import Pool\n",
    "tests/course/test_hints.py": "def test_nothing(): ...\n",
    "tests/course/test_pages.py": "from course.learner.hints import shown\n",
    "tests/utils/test_once.py": "from minitorch.files import one\n",
    "tests/utils/test_twice.py": "from minitorch.files import one\n\nfiles = files.two\n",
    "tests/utils/test_thrice.py": "from minitorch import files\n\nfiles.three, files.four\n",
    "tests/utils/test_more.py": "from minitorch import files\n\nfiles.three\n",
    "tests/test_architecture.py": "",
}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("minitorch/nn/pooling.py", ["tests/nn/test_linear.py", "tests/nn/test_pooling.py"]),
        ("course/learner/hints.py", ["tests/course/test_hints.py", "tests/course/test_pages.py"]),
        ("tests/nn/test_other.py", ["tests/nn/test_other.py"]),
        ("minitorch/files.py", [f"tests/utils/test_{name}.py" for name in ("more", "thrice", "twice")]),
        ("hatch_build.py", []),
        ("docs/starting.md", []),
    ],
)
def test_what_a_change_concerns(
    change: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_changes, "ROOT", tmp_path)
    for name, text in TESTS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = of_changes.concerned({change}, tmp_path.glob("tests/**/test_*.py"))
    assert sorted(found) == sorted([*expected, "tests/test_architecture.py"])
