"""What `make setup` does last: it tells Jupyter and git what they need to know about the course.

- `my/mytorch` is written.
- The kernel has this environment's programs on its PATH, so that a cell finds `!course`, however Jupyter was started.
- `git pull` keeps what the learner wrote in a notebook: `course.git_merge`.

What is the same everywhere is in the wheel, from `course/jupyter`: Jupyter leaves a lesson that was only run as it was
built (`course.saving`), JupyterLab shows no news, and a kernel in `exercises` watches its cells
(`course.early`).
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from ipykernel.kernelspec import install

from course.files import Course
from course.learner import package


def kernel(prefix: Path) -> None:
    """Install the kernel `python3` below `prefix`: this interpreter, with its programs on the PATH."""
    programs = str(Path(sys.executable).parent).replace("$", "$$")  # Jupyter puts the variable's value for ${PATH}
    install(prefix=str(prefix), env={"PATH": f"{programs}{os.pathsep}${{PATH}}"})


def git(root: Path) -> None:
    """Tell the clone in `root`, if it is one, how to merge notebooks, and to do so when it pulls over changed ones."""
    if not (root / ".git").exists() or shutil.which("git") is None:
        return
    settings = {
        "merge.course-notebook.name": "the new notebook, with the learner's answers",
        "merge.course-notebook.driver": f"{shlex.quote(Path(sys.executable).as_posix())} -m course.git_merge %O %A %B",
        "merge.autoStash": "true",
        "rebase.autoStash": "true",
    }
    for name, value in settings.items():
        subprocess.run(["git", "config", "--local", name, value], cwd=root, check=True)


if __name__ == "__main__":
    course = Course.find()
    package.write(course)
    kernel(Path(sys.prefix))
    git(course.root)
