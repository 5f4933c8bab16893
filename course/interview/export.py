"""All questions and rapid-fire lines on paper, or as cards for Anki."""

from __future__ import annotations

import html
from collections.abc import Iterable
from pathlib import Path

from markdown_it import MarkdownIt

from course import formulas
from course.chapters import key
from course.files import write_atomically
from course.interview.bank import Bank
from course.interview.cards import Card

DECK = "PyTorch from the inside"
_STYLE = """
body { font: 11pt/1.4 Georgia, serif; max-width: 46em; margin: 2em auto; padding: 0 1em; }
body { color: #111; background: #fff; }
h1, h2, h3 { font-family: sans-serif; line-height: 1.2; }
h2 { border-bottom: 1px solid #888; margin-top: 2em; }
section { break-inside: avoid; margin: 0 0 1em; }
section p, section ul { margin: .2em 0; }
dt { font-weight: bold; break-after: avoid; }
dd { margin: 0 0 .5em 1.5em; break-before: avoid; }
code { font-size: 90%; }
@page { margin: 18mm; }
@media print { body { margin: 0; max-width: none; font-size: 10pt; } h2 { break-after: avoid; } }
"""


def export(bank: Bank, path: Path) -> int:
    """Write all questions to a file: `.txt` for Anki, `.html` for printing. Returns how many cards there are.

    Raises:
        ValueError: the file has another ending.
    """
    cards = [*bank.of("question"), *bank.of("line")]
    if path.suffix == ".txt":
        write_atomically(path, anki(cards))
    elif path.suffix == ".html":
        write_atomically(path, page(bank, cards))
    else:
        raise ValueError(f"{path.name}: .txt is for Anki (File, Import), .html for printing")
    return len(cards)


def anki(cards: Iterable[Card]) -> str:
    """Anki's text format, a line a note: https://docs.ankiweb.net/importing/text-files.html

    A note has an id of its own, so that importing a newer file brings it up to date and keeps its schedule.
    """
    head = ["#separator:tab", "#html:true", "#notetype:Basic", f"#deck:{DECK}", "#columns:ID\tFront\tBack\tTags"]
    head += ["#guid column:1", "#tags column:4"]
    lines = ["\t".join([card.name, _inline(card.words), _back(card), f"chapter-{key(card.chapter)}"]) for card in cards]
    return "\n".join([*head, *lines]) + "\n"


def page(bank: Bank, cards: Iterable[Card]) -> str:
    """A page to print, chapter by chapter."""
    given, parts = list(cards), []
    for chapter, title in bank.titles.items():
        mine = [card for card in given if card.chapter == chapter]
        asked = [
            f"<section><h3>{_inline(card.words)}</h3>{_back(card)}</section>"
            for card in mine
            if card.kind == "question"
        ]
        lines = [f"<dt>{_inline(card.words)}</dt><dd>{_back(card)}</dd>" for card in mine if card.kind == "line"]
        if mine:
            rapid = f"<h3>Rapid fire</h3><dl>{''.join(lines)}</dl>" * bool(lines)
            parts.append(f"<h2>{key(chapter)} · {_inline(title)}</h2>\n" + "\n".join(asked) + rapid)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(DECK)}: interview questions'
        f'</title><meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n<body>'
        f"<h1>Interview questions</h1>\n<p>{len(given)} questions.</p>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def _back(card: Card) -> str:
    if len(card.points) == 1:
        return _inline(card.points[0].text)
    points = (f"<li><i>{html.escape(each.label)}:</i> {_inline(each.text)}</li>" for each in card.points)
    return f"<ul>{''.join(points)}</ul>"


def _inline(text: str) -> str:
    """Markdown on one line as HTML."""
    return str(MarkdownIt().renderInline(formulas.plain(text))).replace("\t", " ").replace("\n", " ").strip()
