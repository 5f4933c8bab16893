"""The repository's address, as the pages of the site name it."""

from __future__ import annotations

import functools
import os
import re
import subprocess
from pathlib import Path

from course.authoring import places


@functools.cache
def address(root: Path) -> str:
    """What `make site ADDRESS=…` says, or else pyproject.toml, or else git's remote; empty if none of them says one."""
    return _tidy(os.environ.get("ADDRESS", "") or places.address(root) or _remote(root))


@functools.cache
def served(root: Path) -> str:
    """Where the pages will be read: what `make site PAGES=…` says, or else where GitHub serves a repository's pages."""
    found = re.fullmatch(r"https://github\.com/([^/]+)/([^/]+)", address(root))
    return os.environ.get("PAGES", "").removesuffix("/") or (
        f"https://{found[1].lower()}.github.io/{found[2]}" if found else ""
    )


def archived(root: Path, path: Path) -> bool:
    """Write the repository's last commit into a zip file, whose folder is called like the file; False without git."""
    command = ["git", "-C", str(root), "archive", "--format=zip", f"--prefix={path.stem}/", "-o", str(path), "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:  # no git
        return False


def _remote(root: Path) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "remote", "get-url", "origin"], capture_output=True, text=True, check=False
        )
    except OSError:  # no git
        return ""
    return done.stdout.strip()


def _tidy(given: str) -> str:
    """An address that a browser opens; empty for a folder of this machine, which is no address for readers."""
    shell = re.fullmatch(r"(?:ssh://)?git@([\w.-]+)[:/](.+)", given)
    web = f"https://{shell[1]}/{shell[2]}" if shell else given
    web = re.sub(r"^(https?://)[^/@]*@", r"\1", web)  # a name or a token that git logs in with
    return web.removesuffix("/").removesuffix(".git") if web.startswith(("https://", "http://")) else ""
