"""The course speaks the field's words: those of our own, and what reads as translated, don't come back.

Who learned here must be able to talk to others: "backward", not "way back"; "initial weights", not "first weights".
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from course.files import CODE

WORDS = {
    r"\bways? back\b": "backward",
    r"meeting shape": "broadcast shape",
    r"first (weights|values of the weights)": "initial weights",
    r"the bend\b": "nonlinearity",
    r"operations? in place": "in-place operation",
    r"(derivative|gradient) (of [`\w]+ )?by (the|each|its|one|`?[abwxyz]`?)\b": "with respect to",
    r"weighs? (by|the)\b": "weight",
    r"letter for letter": "character for character",
    r"\b(step|state|dimension|batch|one|time|token)s? less\b": "one fewer",
    r"too good to be possible": "too good to be true",
    r"lies? on (the|a) (GPU|CPU|device)": "is on a device",
    r"\bhinders?\b": "stops",
    r"\bhands? (it|them|its) on\b|\bhands on\b": "passes on",
    r"\b(turn|turned|goes|go|turns) round\b": "reverse, turn around",
    r"\bwhose is\b": "whose",
    r"\bsurer\b": "more confident",
    r"\bmend(s|ed|ing)?\b": "fix",
}
"""A pattern of words that must not come back, and what the field says."""

ALLOWED = [
    "first weights, then biases",  # an order, not an initialization
]

FILES = sorted(
    [
        *CODE.glob("chapters/**/*.py"),
        *CODE.glob("docs/*.md"),
        CODE / "README.md",
    ]
)


def found(text: str) -> list[str]:
    """The lines with a word of our own, each with the field's."""
    lines = [line for line in text.splitlines() if not any(each in line for each in ALLOWED)]
    return [
        f"{line.strip()}  →  {better}"
        for line in lines
        for word, better in WORDS.items()
        if re.search(word, line, re.I)
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(CODE).as_posix())
def test_the_fields_words(path: Path) -> None:
    assert found(path.read_text(encoding="utf-8")) == []


def test_a_word_of_our_own_is_found() -> None:
    assert found("# The gradient by the logits\nfine\n") == ["# The gradient by the logits  →  with respect to"]
    assert found("GRU: one state less") == ["GRU: one state less  →  one fewer"]
    assert found("scaled down by the norm, first weights, then biases") == []
