"""Where a notebook can be opened without an installation: links below its title, and what Google Colab needs to run it.

They are in the notebooks if pyproject.toml says where the repository is, in `[project.urls] Repository`.
"""

import tomllib
from pathlib import Path
from urllib.parse import quote

from nbformat import NotebookNode

from course.notebooks.notebook import HIDDEN, v4
from course.source.cells import text_id

COLAB = "colab"  # the id of the cell
_CELL = """\
# Google Colab needs this cell: it installs the course and goes to its folder. Elsewhere it does nothing.
import os, subprocess, sys
if "google.colab" in sys.modules and not os.path.exists("/content/course"):
    for command in (["pip", "install", "--quiet", "git+{address}"], ["course", "start", "/content/course"]):
        subprocess.run([sys.executable, "-m", *command], check=True)
    os.chdir("/content/course/{folder}")"""


def address(root: Path) -> str:
    """The repository's address; empty if there is none."""
    path = root / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"] if path.exists() else {}
    return str(project.get("urls", {}).get("Repository", "")).removesuffix("/").removesuffix(".git")


def openers(repository: str, notebook: str) -> dict[str, str]:
    """Where each service opens a notebook, by its path in the repository; none if that is not on GitHub."""
    _, is_there, name = repository.partition("https://github.com/")
    if not is_there:
        return {}
    return {
        "Binder": f"https://mybinder.org/v2/gh/{name}/HEAD?urlpath={quote(f'lab/tree/{notebook}', safe='')}",
        "Colab": f"https://colab.research.google.com/github/{name}/blob/HEAD/{notebook}",
        "Codespaces": f"https://codespaces.new/{name}",
    }


def links(repository: str, notebook: str) -> str:
    """A line of Markdown that opens a notebook, by its path in the repository; empty if that is not on GitHub."""
    places = openers(repository, notebook)
    return f"*Open in {' · '.join(f'[{place}]({there})' for place, there in places.items())}*" if places else ""


def add(built: NotebookNode, repository: str, folder: str, chapter: str) -> None:
    """Add to a notebook of `folder` what its repository's address makes possible; its cells have run."""
    if not (line := links(repository, f"{folder}/{chapter}.ipynb")):
        return
    title = built.cells[0]
    title.source += f"\n\n{line}"
    title.id = text_id(title.source)
    source = _CELL.format(address=repository, folder=folder)
    built.cells.insert(1, v4.new_code_cell(source, id=COLAB, metadata=dict(HIDDEN), execution_count=0))
