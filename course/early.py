"""An extension of IPython that a kernel loads when it starts (course/jupyter/etc/ipython), before its first cell.

So a check or an answer that is run before the setup cells runs them itself.
"""

from pathlib import Path
from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Watch what runs in a kernel whose folder is the exercises'; do nothing in any other."""
    if (Path.cwd() / ".pristine").is_dir():
        import course.check  # noqa: F401  # it registers what it needs
