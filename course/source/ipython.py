"""Cells as IPython reads them: what in them is no Python, line by line."""

import ast
import re
from typing import Any

from IPython.core import inputtransformer2

_BODIES = ("capture", "prun", "time", "timeit")  # cell magics that run the cell below them
_MOST = 100  # lines of IPython in a cell


def as_python(text: str) -> str:
    """A cell as Python, in which each line keeps its number.

    Of `%%time` and the like the cell below counts, of `%time x = f()` the statement. What gives a value
    (`files = !ls`) becomes the call of `get_ipython()` that it is; any other line of IPython becomes `pass`.
    """
    return _as_python(text) if text.endswith("\n") else _as_python(f"{text}\n").removesuffix("\n")


def _as_python(text: str) -> str:
    """As above, of a text that ends with a line's end."""
    make: Any = inputtransformer2.TransformerManager  # without type hints
    manager = make()
    lines = before = text.splitlines(keepends=True)
    for clean in manager.cleanup_transforms:
        lines = clean(lines)
    head = "\n" * (len(before) - len(lines))  # empty lines at the top, which it removes
    if lines and (magic := re.match(r"%%(\w+)", lines[0])):
        body = "".join(lines[1:])
        return f"{head}\n{_as_python(body) if body and magic[1] in _BODIES else _blank(body)}"
    for _ in range(_MOST):
        changed, after = manager.do_one_token_transform(lines)
        if not changed:
            break
        place = next(i for i, (old, new) in enumerate(zip(lines, after, strict=False)) if old != new)
        after[place] = _in_python(after[place]) + "\n" * (len(lines) - len(after))  # one line took the place of several
        lines = "".join(after).splitlines(keepends=True)
    return head + "".join(lines)


def _in_python(line: str) -> str:
    """A line that IPython made of another: as the Python that it stands for, or `pass`."""
    code = line.strip()
    if not code.startswith("get_ipython()"):
        return line
    indent = line[: len(line) - len(line.lstrip())]
    timed = re.fullmatch(r"get_ipython\(\)\.run_line_magic\('time', (.*)\)", code)
    return f"{indent}{(timed and ast.literal_eval(timed[1])) or 'pass'}\n"


def _blank(text: str) -> str:
    return "\n" * text.count("\n")
