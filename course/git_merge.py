"""A merge driver of git's for the learner's notebooks: the new build of one, with what the learner wrote.

`make setup` names it in the clone's configuration, .gitattributes for which files. So `git pull` works after answers
were written and lessons run, whether they were committed or not.
"""

import subprocess
import sys
from pathlib import Path

from nbformat import NotebookNode

from course.files import write_atomically
from course.notebooks.notebook import OURS, role, write
from course.notebooks.rebuild import read, with_work


def merge(ancestor: Path, ours: Path, others: Path) -> int:
    """Merge into the file `ours`; git's exit code, 0 where there is no conflict.

    If one of the two is a learner's and the other a build, the result is the build with the learner's work. Else the
    texts are merged, as git does it by itself.
    """
    old, one, other = (read(path) for path in (ancestor, ours, others))
    if old is None or one is None or other is None or _is_learners(one) == _is_learners(other):
        return subprocess.call(["git", "merge-file", str(ours), str(ancestor), str(others)])
    theirs, built = (one, other) if _is_learners(one) else (other, one)
    merged = with_work(built, old, theirs)
    if merged is not built:
        merged.metadata |= {name: about for name, about in theirs.metadata.items() if name != OURS}
    write_atomically(ours, write(merged))
    return 0


def _is_learners(notebook: NotebookNode) -> bool:
    """Whether Jupyter saved it, which writes more about the language than a build, or an answer was run in it."""
    solutions = [cell for cell in notebook.cells if role(cell) == "solution"]
    return len(notebook.metadata.get("language_info", {})) > 1 or any(cell.get("execution_count") for cell in solutions)


if __name__ == "__main__":
    sys.exit(merge(*map(Path, sys.argv[1:4])))
