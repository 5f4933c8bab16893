"""Execute notebooks whose code is trusted: lessons, and the reference with its mutants."""

import asyncio
import os
import re
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

from course import variables
from course.checks import bundle
from course.checks.mistakes import Mistake
from course.notebooks.kernel import environment, manager_options
from course.notebooks.notebook import bundles_of, checks, role, tasks, v4

_CELL_SECONDS = 600


class CellError(Exception):
    """A cell of a trusted notebook raised; `index` is its place among the notebook's cells."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


class WeakCheckError(Exception):
    """A check gives a mutant the same values as the reference, or shows no values, or none with any mutant."""

    def __init__(self, exercise: str, message: str) -> None:
        super().__init__(f"{exercise}: {message}")
        self.exercise = exercise


async def execute(
    notebook: NotebookNode, working_folder: Path, path: Path, seed: int, package: Path, reveal: bool = False
) -> None:
    """Run every cell and store its outputs, in a form that is the same on every run.

    Args:
        path: a folder on the import path.
        package: the folder of the package mytorch.
        reveal: have checks show secret values beside their digest.

    Raises:
        CellError: a cell raised that is not tagged `raises-exception`.
    """
    with tempfile.TemporaryDirectory(prefix="course-") as name:
        folder = Path(name)
        client = NotebookClient(
            notebook,
            km=AsyncKernelManager(**manager_options(folder)),
            timeout=_CELL_SECONDS,
            allow_errors=True,
            record_timing=False,
            store_widget_state=False,
            coalesce_streams=True,
        )
        environ = environment(folder, seed, path, package) | ({variables.REVEAL: "1"} if reveal else {})
        await client.async_execute(cwd=str(working_folder), env=environ, cleanup_kc=True)
    notebook.metadata["language_info"] = {"name": "python"}
    for index, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                if "raises-exception" not in cell.metadata.get("tags", []):
                    raise CellError(index, "\n".join(output.traceback))
                output.traceback = [f"{output.ename}: {output.evalue}"]  # frames hold paths of this machine
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)  # its model id is random
            output.pop("transient", None)


async def execute_reference(
    notebook: NotebookNode, working_folder: Path, path: Path, seed: int, package: Path
) -> dict[str, list[Mistake]]:
    """Run the reference and then, in the same kernel, every mutant with its check.

    Returns:
        By exercise, the mistakes of the mutants: the explanation of each, and which values it gets wrong.

    Raises:
        CellError: a cell of the reference raised.
        WeakCheckError: a mutant got the reference's values, a check of the reference did not show one bundle, or a
            check showed values with no mutant.
    """
    reference, check_cells = list(notebook.cells), checks(notebook)
    trials = []
    for exercise, about in tasks(notebook).items():
        before = reference[: reference.index(check_cells[exercise])]
        # Another exercise's check may have made a package anew, with an answer in it.
        notebook.cells += [v4.new_code_cell(cell.source) for cell in before if role(cell) == "setup"]
        for mutant in about["mutants"]:
            cells = [
                v4.new_code_cell(text, metadata={"tags": ["raises-exception"]})
                for text in (mutant["source"], check_cells[exercise].source)
            ]
            notebook.cells += cells
            trials.append((exercise, mutant, *cells))
    await execute(notebook, working_folder, path, seed, package, reveal=True)
    notebook.cells = reference
    expected = {exercise: bundles_of(cell) for exercise, cell in check_cells.items()}
    for exercise, bundles in expected.items():
        if len(bundles) != 1:
            raise WeakCheckError(exercise, f"the check shows {len(bundles)} bundles of values; it should show one")
    known: dict[str, list[tuple[str, bundle.Bundle]]] = {exercise: [] for exercise in check_cells}
    for exercise, mutant, defining, checking in trials:
        for output in (*defining.outputs, *checking.outputs):
            if output.output_type == "error" and output.ename in ("NameError", "SyntaxError", "IndentationError"):
                raise WeakCheckError(
                    exercise, f"mutant {mutant['name']!r} does not run: {output.ename}: {output.evalue}"
                )
        for shown in bundles_of(checking):
            if not bundle.difference(expected[exercise][0], shown):
                raise WeakCheckError(exercise, f"mutant {mutant['name']!r} passes the check")
            known[exercise].append((mutant["says"], shown))
    for exercise, shown_by_mutants in known.items():
        if not shown_by_mutants:
            raise WeakCheckError(exercise, "no mutant gets as far as its values, so nothing shows what they depend on")
    found = {
        exercise: bundle.known_mistakes(bundles[0], known[exercise], str(seed))
        for exercise, bundles in expected.items()
    }
    for bundles in expected.values():
        bundles[0].pop("plain", None)
    return found


def addresses_or_paths(notebook: NotebookNode, root: Path) -> list[tuple[int, str]]:
    """What would differ on another machine in the stored text: (place of the cell, the text)."""
    pattern = re.compile(
        "|".join((r"\b0x[0-9a-f]{6,}", re.escape(str(root) + os.sep), re.escape(tempfile.gettempdir() + os.sep)))
    )
    return [
        (index, match[0])
        for index, cell in enumerate(notebook.cells)
        for output in cell.get("outputs", [])
        for text in (output.get("text", ""), output.get("evalue", ""), output.get("data", {}).get("text/plain", ""))
        if (match := pattern.search(text))
    ]


def run(*notebooks: Any, workers: int) -> list[Any]:
    """Await coroutines, at most `workers` at a time; their results or exceptions, in order.

    They run in a thread of their own, where nbclient takes no signal: Ctrl-C cancels them all, and their kernels end.
    """
    cancel: list[Callable[[], Any]] = []

    async def together() -> list[Any]:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        cancel.append(lambda: loop.call_soon_threadsafe(task.cancel))
        turn = asyncio.Semaphore(workers)

        async def one(coroutine: Any) -> Any:
            async with turn:
                return await coroutine

        return await asyncio.gather(*map(one, notebooks), return_exceptions=True)

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(asyncio.run, together())
        try:
            return future.result()
        except KeyboardInterrupt:
            for each in cancel:
                each()
            raise
