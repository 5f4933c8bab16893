"""Where a link of the repository leads on the site, and what needs the repository's address."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from course.files import CODE
from course.site.address import address

UNLISTED = {"authoring.md"}
"""Files of `docs` that have no page: this one shows parts of answers."""

_CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def blob(path: str) -> str:
    """A file or folder of the repository on its host; empty where the address is not set."""
    return f"{address(CODE)}/blob/HEAD/{path}" if address(CODE) else ""


def addressed(text: str) -> str:
    """A guide with the repository's address for ADDRESS, or where none is set with the clone that the reader has."""
    where = address(CODE)
    if not where:
        text = text.replace(
            " ADDRESS is the address of the repository.", " `minitorch` is your clone of the repository."
        )
        text = text.replace(", where ADDRESS is the repository's address", "")
        text = text.replace("git clone ADDRESS minitorch && cd minitorch", "cd minitorch")
        return text.replace('"minitorch-course[course] @ git+ADDRESS"', '"./minitorch[course]"')
    text = text.replace(" ADDRESS is the address of the repository.", "")
    text = text.replace(", where ADDRESS is the repository's address", "")
    return text.replace("git clone ADDRESS", f"git clone {where}").replace("git+ADDRESS", f"git+{where}")


def outside_code(change: re.Pattern[str], to: object, text: str) -> str:
    """The text with a pattern replaced everywhere but in fenced code."""
    parts = _CODE.split(text)
    parts[::2] = [change.sub(to, part) for part in parts[::2]]  # type: ignore[call-overload]
    return "".join(parts)


def moved(text: str, folder: str) -> str:
    """Markdown of a file in this folder of the repository, with links that lead to the site's pages.

    What has no page is linked on the repository's host; where its address is not set, its name stays.
    """

    def link(match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        if re.match(r"https?:|mailto:|#", target):
            return match[0]
        path, _, anchor = target.partition("#")
        to = page(posixpath.normpath(posixpath.join(folder, path)))
        return f"[{words}]({to}{'#' * bool(anchor)}{anchor})" if to else words

    return outside_code(_LINK, link, text)


def page(path: str) -> str:
    """The address of a path of the repository as a page links to it; empty where it has none."""
    folder, name = posixpath.split(path)
    if name.endswith(".ipynb") and not (CODE / path).exists():
        return ""
    if folder == "notebooks" and name.endswith(".ipynb"):
        return f"/lessons/{name}"
    if folder in ("exercises", "solutions") and name.endswith(".ipynb"):
        return f"/exercises/{Path(name).stem}/index.md"
    if folder == "docs" and name.endswith(".md") and name not in UNLISTED:
        return f"/guides/{name}"
    if path in ("CONTRIBUTING.md", "CHANGELOG.md"):
        return f"/guides/{name.lower()}"
    return blob(path)
