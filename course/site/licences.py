"""The page that says whose work the site ships, and under which licence."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from course.files import CODE
from course.site import markdown
from course.site.frames import MERMAID_VERSION

SHIPPED = {
    "furo": "the look of the pages",
    "sphinx": "the search and the pages' structure",
    "sphinx-copybutton": "the button that copies code",
    "sphinx-design": "cards and folded answers",
    "myst-nb": "the look of cells and their outputs",
    "sphinx-mathjax-offline": "MathJax, which draws formulas, and its fonts (Apache License 2.0)",
    "pygments": "the colours of code",
}
"""What of each package is in the pages."""

OTHERS = {
    f"Mermaid {MERMAID_VERSION}": ("drew the graphs, which are stored as pictures", "MIT"),
    "DejaVu Sans": ("is in the pictures", "Bitstream Vera licence"),
    "scikit-learn's handwritten digits": ("are in the lessons' pictures (E. Alpaydin, C. Kaynak, UCI)", "CC BY 4.0"),
}


def page() -> str:
    """The licences, and the course's own in full."""
    packages = (f"{name} {metadata.version(name)} | {what} | {_licence(name)}" for name, what in SHIPPED.items())
    others = (f"{name} | {what} | {licence}" for name, (what, licence) in OTHERS.items())
    return markdown.page(
        "# Licences",
        "The course is under the MIT licence, below. Its pages also hold work of others:",
        markdown.table("what | here | licence", [*packages, *others]),
        markdown.code((CODE / "LICENSE").read_text(encoding="utf-8"), "text"),
    )


def _licence(name: str) -> str:
    """What a package says of its licence."""
    about: Any = metadata.metadata(name)
    classified = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier", []) if line.startswith("License")]
    return about.get("License-Expression") or ", ".join(classified) or about.get("License") or "see its package"
