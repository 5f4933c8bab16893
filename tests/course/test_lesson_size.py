"""A lesson fits into an hour: at most 2,400 words, 45 cells and 200 lines of code before *If you have time*."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from course.files import CODE, Course
from course.source.minutes import lines, parted, words

COURSE = Course(CODE)
LIMITS = {"words": 2400, "cells": 45, "lines of code": 200}


def size(lesson: Any) -> dict[str, int]:
    cells, _ = parted(lesson.cells)
    sources = {kind: [cell.source for cell in cells if cell.cell_type == kind] for kind in ("markdown", "code")}
    return {
        "words": sum(map(words, sources["markdown"])),
        "cells": len(cells),
        "lines of code": sum(map(lines, sources["code"])),
    }


@pytest.mark.parametrize("path", sorted(COURSE.notebooks.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_lesson_fits_into_an_hour(path: Path) -> None:
    measured = size(nbformat.read(path, as_version=4))
    assert {name: count for name, count in measured.items() if count > LIMITS[name]} == {}


def test_what_is_optional_does_not_count() -> None:
    markdown, code = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell
    cells = [code("x = 1"), markdown("Two words\n\n## If you have time\n\nmany more words"), code("y = 1\nz = 2")]
    assert size(nbformat.v4.new_notebook(cells=cells)) == {"words": 2, "cells": 2, "lines of code": 1}


def test_what_counts_as_a_word() -> None:
    text = "# A heading\nSee [two words](an/address.ipynb).\n\n- `a = b` – no\n\n| a table |\n\n```\ncode = 1\n```\n"
    assert words(text) == 6  # See, two, words, a, b, no
    assert words("Why?\n\n<details><summary>Answer</summary>\n\n- That is why.\n\n</details>\n\nNext.") == 2


def test_what_counts_as_a_line() -> None:
    assert [lines(line) for line in ("", "  ", "# a comment", "x = 1")] == [0, 0, 1, 1]
