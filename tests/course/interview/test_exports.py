"""What is exported."""

from __future__ import annotations

import re
from pathlib import Path

from course.files import Course
from course.interview.bank import Bank
from course.interview.cards import Card, Point
from course.interview.export import export
from tests.course.interview.holding import hold


def test_anki_gets_a_line_a_note(bank: Bank, tmp_path: Path) -> None:
    path = tmp_path / "questions.txt"
    count = export(bank, path)
    head, notes = (
        [line for line in path.read_text().splitlines() if line.startswith("#") is is_head] for is_head in (True, False)
    )
    assert head[:2] == ["#separator:tab", "#html:true"] and "#guid column:1" in head and "#tags column:4" in head
    assert count == len(notes) == len(bank.of("question")) + len(bank.of("line"))
    fields = [note.split("\t") for note in notes]
    assert {len(each) for each in fields} == {4}
    assert len({each[0] for each in fields}) == count
    assert all(front and back and tag.startswith("chapter-") for _, front, back, tag in fields)


def test_markup_of_a_question_cannot_break_the_card() -> None:
    card = Card("q", "line", "06_x", "Is `a<b>`\t*so*?", (Point("Answer", "No: `<script>`."),))
    from course.interview.export import anki

    assert anki([card]).splitlines()[-1] == (
        "q\tIs <code>a&lt;b&gt;</code> <em>so</em>?\tNo: <code>&lt;script&gt;</code>.\tchapter-06"
    )


def test_the_page_has_each_question_once_and_prints(bank: Bank, tmp_path: Path) -> None:
    path = tmp_path / "questions.html"
    count = export(bank, path)
    text = path.read_text()
    assert text.count("<section>") + text.count("<dt>") == count
    assert "@media print" in text and "<script" not in text and "http" not in text
    for title in bank.titles.values():
        assert title.split("`")[0] in text


def test_the_command_exports(course: Course) -> None:
    done = hold(course, "--export", str(course.root / "q.txt"))
    assert re.search(r"q\.txt: \d+ cards", done.output) and (course.root / "q.txt").exists()
    assert not course.mine.exists()
