"""What nbgrader makes an assignment of: a solved notebook whose first cell stops nbgrader in a wrong kernel.

nbgrader gives a cell that raises 0 points and goes on. Only a kernel that ends makes it stop and say so. The lines
stand in the setup cell, which is locked: nbgrader puts its text back into whatever is handed in.
"""

from pathlib import Path

from course.files import Course, write_atomically
from course.learner.names import chapter
from course.notebooks.notebook import role, v4, write

GUARD = '''\
import os
import sys

if "NBGRADER_EXECUTION" in os.environ:  # everybody would get 0 points
    try:
        from course import check
    except ImportError as error:
        message = f"""
Nothing was graded: nbgrader's kernel, {sys.executable}, does not have the course ({error}).
Make the course's Python its kernel: .venv/bin/python -m ipykernel install --prefix NBGRADER_ENVIRONMENT --name python3
"""
        os.write(getattr(sys.stderr, "_original_stdstream_copy", None) or 2, message.encode())
        os._exit(1)
'''
_FUTURE = "from __future__ import annotations\n"  # has to be a cell's first line


def write_source(course: Course, name: str, folder: Path) -> Path:
    """Write `folder`/NN_topic/NN_topic.ipynb for a chapter; where it is.

    Raises:
        LookupError: there is no such chapter.
    """
    found = chapter(course, name)
    if not found:
        raise LookupError(f"there is no chapter {name!r}; `course progress` lists them")
    notebook = v4.reads((course.solutions / f"{found}.ipynb").read_text(encoding="utf-8"))
    setup = next(cell for cell in notebook.cells if role(cell) == "setup")
    first = _FUTURE if setup.source.startswith(_FUTURE) else ""
    setup.source = f"{first}{GUARD}{setup.source.removeprefix(first)}"
    path = folder / found / f"{found}.ipynb"
    write_atomically(path, write(notebook))
    return path
