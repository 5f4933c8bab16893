"""Answers fold under their questions, and a proof's name leads to its cell."""

from __future__ import annotations

import nbformat

from course.notebooks.lesson_text import OPENING, fold_answers, link_proofs

TEXT = """\
Before.

**Interview · Why?**

- *Thirty seconds:* Because,
  and so on.

  A second paragraph.
- *The trap:* none.

After."""


def test_an_answer_is_folded_under_its_question() -> None:
    before, after = fold_answers(TEXT).split(OPENING)
    assert before == "Before.\n\n**Interview · Why?**\n\n"
    answer, after = after.split("</details>")
    assert answer == "\n\n- *Thirty seconds:* Because,\n  and so on.\n\n  A second paragraph.\n- *The trap:* none.\n\n"
    assert after.strip() == "After."


def test_each_of_two_answers_is_folded_by_itself() -> None:
    two = fold_answers("**Interview · A?**\n\n- *Thirty seconds:* a\n\n**Interview · B?**\n\n- *Thirty seconds:* b")
    assert two.count("<details ") == two.count("</details>") == 2
    assert two.index("</details>") < two.index("B?")


def test_other_lists_stay() -> None:
    assert fold_answers("Two things:\n\n- one\n- two") == "Two things:\n\n- one\n- two"


def test_a_proof_is_a_link_that_reads_as_words() -> None:
    text = nbformat.v4.new_markdown_cell(
        "`proof-scale-first`, [as here](proof-scale-first), not `proof-two` or [that](proof-two)."
    )
    code = nbformat.v4.new_code_cell("print(1)", id="abc", metadata={"tags": ["proof-scale-first", "raises-exception"]})
    assert link_proofs("06_graph", [text, code]) == ["proof-two", "proof-two"]
    address = "06_graph.ipynb#cell-id=abc"
    assert text.source == f"[scale first]({address}), [as here]({address}), not `proof-two` or [that](proof-two)."
    assert code.source == "print(1)"
