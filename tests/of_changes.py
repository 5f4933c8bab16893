"""The test files that concern what has changed since the main branch: `make quick` runs them.

A changed test file concerns itself. A changed source file concerns the test files that are named after it, in the
folder of tests that mirrors its own, and the few of those that import it which name it most often. The architecture is
always tested. This finds the tests that are likely to fail first, and no more: `make test` runs all.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
ALWAYS = ("tests/test_architecture.py",)
SLOW = re.compile(
    r"tests/course/test_"
    r"(browser|site|class|whole_class|strange_class|exercises|draws|attacks|freshness|command_line|release)\.py"
)
"""What takes longer than all of `make quick` may."""
FEW = 3
"""How many of the test files that import a module run, those that name it most often: `course.files` has fifty."""


def changed() -> set[str]:
    """The files that differ from where this branch left `main`, and those that git doesn't know yet."""
    base = _git("merge-base", "HEAD", "main") or ["HEAD"]
    return {*_git("diff", "--name-only", base[0]), *_git("ls-files", "--others", "--exclude-standard")}


def concerned(files: Iterable[str], tests: Iterable[Path]) -> Iterator[str]:
    """The test files, relative to the root, that a change of `files` concerns."""
    texts = {test.relative_to(ROOT).as_posix(): test.read_text(encoding="utf-8") for test in tests}
    sources = [Path(file) for file in files if file.endswith(".py") and not file.startswith(("tests/", "chapters/"))]
    chosen = {*files, *ALWAYS, *map(_mirrored, sources)}
    for source in sources:
        module = ".".join(source.with_suffix("").parts).removesuffix(".__init__")
        importing = [path for path, text in texts.items() if _importing(module).search(text)]
        name = re.compile(rf"\b{module.rpartition('.')[2]}\b")
        chosen.update(sorted(importing, key=lambda path: -len(name.findall(texts[path])))[:FEW])
    yield from chosen & texts.keys()


def _mirrored(source: Path) -> str:
    """Where the tests of a source file stand."""
    package, *folders, _ = source.parts if len(source.parts) > 1 else ("", "")
    place = ["course"] if package == "course" else folders
    return "/".join(["tests", *place, f"test_{source.stem}.py"])


def _importing(module: str) -> re.Pattern[str]:
    """A line that imports a module, or a name of it."""
    package, _, name = map(re.escape, module.rpartition("."))
    ways = (
        rf"from {package}\.{name} import",
        rf"import {package}\.{name}\b",
        rf"from {package} import [^#\n]*\b{name}\b",
    )
    return re.compile(rf"^\s*(?:{'|'.join(ways)})", re.MULTILINE)


def _git(*arguments: str) -> list[str]:
    run = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False, cwd=ROOT)
    return run.stdout.split("\n")[:-1]


if __name__ == "__main__":
    chosen = sorted(concerned(changed(), ROOT.glob("tests/**/test_*.py")))
    print(*(path for path in chosen if not SLOW.fullmatch(path)))
