"""What a built page must not do: `python -m course.site.check FOLDER` ends in a list of faults, if there are any.

No link within the site may lead nowhere, nothing may be loaded from another host, no page may be larger than 2 MB, and
none may show the answer to an exercise.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from course.files import CODE, Course
from course.notebooks.notebook import exercise_of, role
from course.site.frames import read

LARGEST = 2_000_000
"""Bytes of a page."""

_LOADED = {
    ("link", "href"),
    ("script", "src"),
    ("img", "src"),
    ("source", "src"),
    ("iframe", "src"),
    ("object", "data"),
}
_LOADED_RELATIONS = {"stylesheet", "icon", "shortcut", "preload", "modulepreload", "preconnect", "dns-prefetch"}
_SHORT = 40  # characters of two lines that a page may have by chance
_SHARE = 0.5  # of an answer


class Page(HTMLParser):
    """A page's names of places, its links, what it loads, and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.names: set[str] = {"", "top"}
        self.links: list[str] = []
        self.loads: list[str] = []
        self.parts: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Takes in a tag."""
        about = {name: value or "" for name, value in attrs}
        self.names |= {about[name] for name in ("id", "name") if name in about}
        if tag == "a" and "href" in about:
            self.links.append(about["href"])
        for name in about:
            relations = set(about.get("rel", "").split())
            if (tag, name) in _LOADED and (tag != "link" or relations & _LOADED_RELATIONS):
                self.loads.append(about[name])

    def handle_data(self, data: str) -> None:
        """Takes in text."""
        self.parts.append(data)

    @property
    def text(self) -> str:
        """The text as it stands in the page."""
        return "".join(self.parts)


def faults(folder: Path, course: Course) -> Iterator[str]:
    """What is wrong with the site in this folder, a sentence each."""
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html"))}
    kept = answers(course)
    for path, page in pages.items():
        name = path.relative_to(folder)
        if path.stat().st_size > LARGEST:
            yield f"{name} has {path.stat().st_size:,} bytes; {LARGEST:,} are allowed"
        for address in page.loads:
            if urlsplit(address).netloc:
                yield f"{name} loads {address} from another host"
            elif not address.startswith("data:") and not _target(path, address, folder).exists():
                yield f"{name} loads {address}, which isn't there"
        for address in page.links:
            parts = urlsplit(address)
            if not parts.scheme and not parts.netloc:
                target = _target(path, address, folder)
                if not target.is_file():
                    yield f"{name} links to {address}, which isn't there"
                elif target in pages and unquote(parts.fragment) not in pages[target].names:
                    yield f"{name} links to {address}, where that page has no such place"
        shown = _passages(_lines(page.text))
        for exercise, passages in kept.items():
            if len(passages & shown) >= _SHARE * len(passages):
                yield f"{name} shows the answer to {exercise}: {min(passages & shown)}"


def _target(page: Path, address: str, folder: Path) -> Path:
    path = unquote(urlsplit(address).path)
    target = folder / path[1:] if path.startswith("/") else page.parent / path
    return (page if not path else target / "index.html" if path.endswith("/") else target).resolve()


def answers(course: Course) -> dict[str, set[str]]:
    """By exercise, the passages of its answer that are not in its stub."""
    found: dict[str, set[str]] = {}
    for path in sorted(course.solutions.glob("*.ipynb")):
        for cell in read(path).cells:
            if role(cell) == "solution":
                given = {*_lines(cell.metadata["minitorch"]["stub"]), "### BEGIN SOLUTION", "### END SOLUTION"}
                lines = [line for line in _lines(cell.source) if line not in given]
                if passages := _passages(lines) or {line for line in lines if len(line) >= _SHORT}:
                    found[exercise_of(cell)] = passages
    return found


def _passages(lines: list[str]) -> set[str]:
    """Two lines each, long enough to be told from others."""
    return {pair for each in itertools.pairwise(lines) if len(pair := "\n".join(each)) >= _SHORT}


def _lines(source: str) -> list[str]:
    return [" ".join(line.split()) for line in source.splitlines() if line.strip()]


def main(folder: Path) -> None:
    """Print the faults; exit with 1 if there are any."""
    found = list(faults(folder.resolve(), Course(CODE)))
    print("\n".join(found) if found else f"{sum(1 for _ in folder.rglob('*.html'))} pages, no fault")
    sys.exit(bool(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
