"""An extension of Jupyter's server: opening, running and saving a lesson changes nothing in its file."""

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

from ipykernel.ipkernel import IPythonKernel
from nbformat import NotebookNode

from course.files import Course
from course.notebooks.notebook import OURS
from course.notebooks.rebuild import read


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "course.saving"}]


def _load_jupyter_server_extension(server: Any) -> None:
    """Nothing yet: an extension that is loaded later, as jupytext's, puts another contents manager in the place."""


async def _start_jupyter_server_extension(server: Any) -> None:
    """Once all extensions are loaded."""
    manager = server.contents_manager
    manager.register_pre_save_hook(as_built)
    if iscoroutinefunction(manager.get):
        manager.get = knowing_python(manager.get)


def knowing_python(get: Callable[..., Awaitable[dict[str, Any]]]) -> Callable[..., Awaitable[dict[str, Any]]]:
    """A contents manager's `get` that says of each notebook of a course which Python will run it.

    When its kernel starts, JupyterLab writes that into the notebook, which then counts as changed although nobody
    touched it. A file doesn't say it, since each learner's Python is another one.
    """

    async def got(*arguments: Any, **keywords: Any) -> dict[str, Any]:
        model = await get(*arguments, **keywords)
        if model["type"] == "notebook" and model["content"] and OURS in model["content"]["metadata"]:
            model["content"]["metadata"]["language_info"] = dict(IPythonKernel.language_info)
        return model

    return got


def as_built(path: str, model: dict[str, Any], contents_manager: Any) -> None:
    """Before a save: a lesson whose cells have the text that its file has is saved as that file is, outputs and all."""
    file = Path(contents_manager._get_os_path(path))
    if model["type"] != "notebook" or file.parent != Course.find(file.parent).notebooks:
        return
    built = read(file)
    if built is not None and _texts(built) == _texts(model["content"]):
        model["content"] = built


def _texts(notebook: NotebookNode | dict[str, Any]) -> list[tuple[str, str]]:
    return [(cell["cell_type"], cell["source"]) for cell in notebook["cells"]]
