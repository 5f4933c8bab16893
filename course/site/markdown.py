"""The few forms of Markdown that the pages are made of."""

from __future__ import annotations

from collections.abc import Iterable


def table(head: str, rows: Iterable[str]) -> str:
    """A table; head and rows are cells with bars between them."""
    return "\n".join(f"| {line} |" for line in (head, " | ".join(["---"] * len(head.split("|"))), *rows))


def contents(pages: Iterable[str], options: str = ":hidden:") -> str:
    """What stands below a page in the site's order, each a page or `TITLE <PAGE>`."""
    return "\n".join(["```{toctree}", options, "", *pages, "```"])


def code(source: str, language: str = "python") -> str:
    """A block of code."""
    return f"````{{code-block}} {language}\n{source}\n````"


def folded(summary: str, content: str) -> str:
    """What a reader opens by its summary."""
    return f":::::{{dropdown}} {summary}\n\n{content}\n\n:::::"


def entries(names: Iterable[str]) -> str:
    """Names under which the search finds the page; nothing of them is shown."""
    return "\n\n".join(f"```{{index}} single: {name}\n```" for name in names)


def page(*parts: str) -> str:
    """Paragraphs, those left out that are empty."""
    return "\n\n".join(part for part in parts if part) + "\n"
