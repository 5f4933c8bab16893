"""The names of a part's file, in the cell in which a learner writes the part.

They come after the cell's own names and those of the notebook, in the place of the builtins: so they are gone with the
cell, and a function that it defines still finds them.
"""

import ast
import builtins
import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from course.parsed import parsed
from course.source import parts
from course.source.assemble import Files
from course.source.cells import defined, plain


class Names(dict[str, Any]):
    """The builtins, and what the files of some parts define or import, the parts themselves aside."""

    def __init__(self, chosen: Sequence[str], files: Callable[[], Files]) -> None:
        """
        Args:
            chosen: the parts.
            files: gives the package as of the chapter; it is called, and the package imported, when a name is missing.
        """
        super().__init__(vars(builtins))
        self._chosen, self._files = chosen, files

    def __missing__(self, name: str) -> Any:
        files = self._files()
        for part in self._chosen:
            if name in defined(files[parts.file_of(files, part)]) - set(map(parts.short, self._chosen)):
                return vars(importlib.import_module(part.partition(":")[0]))[name]
        raise KeyError(name)


_LIBRARIES = {
    "np": "import numpy as np",
    "plt": "import matplotlib.pyplot as plt",
    "nn": "from minitorch import nn",
    "F": "from minitorch.nn import functional as F",
}


def provider(name: str, setup: Iterable[str]) -> str:
    """The statement that brings a name of the libraries, as a setup cell has it or as it can be written; else empty."""
    imports = [
        ast.unparse(statement)
        for text in setup
        for statement in parsed(plain(text)).body
        if isinstance(statement, ast.Import | ast.ImportFrom)
    ]
    if found := [line for line in imports if name in defined(line)]:
        return found[0]
    for module in ("minitorch", "minitorch.nn", "minitorch.nn.functional"):
        if hasattr(sys.modules.get(module), name):
            return f"from {module} import {name}"
    return _LIBRARIES.get(name, "")
