"""IPython for an answer in mytorch that holds a line of it (`files = !ls`), wherever mytorch is imported."""

import sys
from typing import Any


def get_ipython() -> Any:
    """The notebook's shell; in a script one that is made for the purpose."""
    from IPython.core.interactiveshell import InteractiveShell

    main = sys.modules["__main__"]
    try:
        return InteractiveShell.instance()
    finally:
        sys.modules["__main__"] = main  # a new shell takes its place
