"""Our part of `pytest --nbval`: the values that checks show are compared by tolerance."""

import os
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import pytest
from nbformat import NotebookNode
from nbval.plugin import IPyNbCell, IPyNbFile

from course import bundle
from course.files import Course
from course.image import without_pixels
from course.notebook import OURS
from course.package import VARIABLE


class ComparedNotebook(IPyNbFile):  # type: ignore[misc]
    """A lesson or a solution, run and compared as nbval does, but for the values of checks."""

    def collect(self) -> Iterable["ComparedCell"]:
        return [_as_compared(item, self) for item in super().collect()]


class ComparedCell(IPyNbCell):  # type: ignore[misc]
    """A cell whose values, if it shows any, are compared by tolerance, and what it printed beside them is not."""

    def sanitize(self, s: Any) -> Any:
        return without_pixels(super().sanitize(s)) if isinstance(s, str) else s

    def compare_outputs(self, test: list[Any], ref: list[Any], skip_compare: Any = None) -> bool:
        expected, other_expected = _split(ref)
        if not expected:
            return bool(super().compare_outputs(test, ref, skip_compare))
        shown, other_shown = _split(test)
        self.comparison_traceback = []
        if len(shown) != 1:
            self.comparison_traceback = [f"the check showed {len(shown)} bundles of values, not one"]
        elif wrong := bundle.difference(expected[0], shown[0]):
            known = self.cell.metadata[OURS].get("mutants", {}).get(bundle.fingerprint(shown[0]))
            self.comparison_traceback = [wrong] + [known] * bool(known)
        else:
            return bool(super().compare_outputs(other_shown, other_expected, skip_compare))
        return False


def pytest_configure(config: pytest.Config) -> None:
    """Lessons and solutions run on the reference of mytorch, whatever the learner has in `my/`."""
    reference = Course.find(config.rootpath).reference
    os.environ[VARIABLE] = str(reference)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(reference.parent), os.environ.get("PYTHONPATH"))))


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Generator[None, list[Any], list[Any]]:
    collectors = yield
    return [
        ComparedNotebook.from_parent(parent, path=file_path) if type(each) is IPyNbFile else each for each in collectors
    ]


def _as_compared(item: IPyNbCell, parent: IPyNbFile) -> Any:
    return ComparedCell.from_parent(
        parent, name=item.name, cell_num=item.cell_num, cell=item.cell, options=item.options
    )


def _split(outputs: list[NotebookNode]) -> tuple[list[Any], list[NotebookNode]]:
    """The bundles shown, and the other outputs but for what was printed: a leftover `print` costs nothing."""
    bundles = [output.data[bundle.MIME] for output in outputs if bundle.MIME in output.get("data", {})]
    others = [o for o in outputs if bundle.MIME not in o.get("data", {}) and o.output_type != "stream"]
    return bundles, others
