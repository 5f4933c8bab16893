"""The names of a part's file, in the cell in which a learner writes the part.

They come after the cell's own names and those of the notebook, in the place of the builtins: so they are gone with the
cell, and a function that it defines still finds them.
"""

import builtins
import importlib
from collections.abc import Callable, Sequence
from typing import Any

from course.authoring import parts
from course.authoring.assemble import Files
from course.authoring.cells import defined


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
