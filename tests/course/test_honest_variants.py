"""Right answers, written and saved in many ways: each gets full marks, as the notebook says they are right."""

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from course.files import CODE, Course
from course.grading.grade import grade
from course.grading.report import Report, Result
from course.notebooks.notebook import exercise_of, role
from course.source import parts
from course.source.assemble import read
from tests.course.attacks import target
from tests.course.attacks.target import Attack, Target
from tests.turn import in_turn, this_turn

BEFORE = {
    "prints": "print('here', 1, 2)",
    "displays": "display('here')\nfrom IPython.display import HTML\ndisplay(HTML('<b>x</b>'))",
    "draws": "import matplotlib.pyplot as plt\nplt.plot([1, 2]);\nplt.show()",
    "counts_its_way": "for percent in range(100): print(f'\\r{percent} %', end='')",
    "writes_to_standard_error": "import sys\nsys.stderr.write('x' * 100_000)\nsys.stdout.write('y' * 100_000)",
    "warns": "import warnings\nwarnings.warn('careful')",
    "logs": "import logging\nlogging.getLogger('mine').error('oops')",
    "seeds_the_generators": "import random\nimport numpy as np\nrandom.seed(0)\nnp.random.seed(0)",
    "sets_how_numbers_print": "import numpy as np\nnp.set_printoptions(precision=2, suppress=True)",
    "catches_a_trial": "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    print(error)",
    "imports_again": "import math\nimport numpy as np\nfrom course import check",
    "has_magics": "%matplotlib inline\n%config InlineBackend.figure_format = 'retina'",
    "has_a_shell_line": "!echo here",
    "waits_for_a_coroutine": "import asyncio\nawait asyncio.sleep(0)",
    "starts_a_thread": "import threading\nworker = threading.Thread(target=print)\nworker.start()\nworker.join()",
    "starts_a_process": "import subprocess\nsubprocess.run(['true'], check=True)",
    "uses_a_pool": "from concurrent.futures import ThreadPoolExecutor\nlist(ThreadPoolExecutor(2).map(abs, range(3)))",
    "writes_a_file": "with open('mine.txt', 'w') as file:\n    file.write('x')\nassert open('mine.txt').read() == 'x'",
    "uses_temporary_files": "import tempfile\nwith tempfile.TemporaryDirectory() as folder:\n    print(folder)",
    "reads_the_environment": "import os, platform\nos.environ.get('HOME'), platform.platform()",
    "takes_its_time": "import time\ntime.sleep(0.3)",
    "defines_more": "class Helper:\n    x = 1\n\ndef helper(x):\n    return Helper.x\n\nhelper(1)",
    "names_in_greek": "λ, größe = 1, 2",
    "long_comment": "# " + "thinking " * 200,
    "a_docstring_first": '"""My answer.\n\n# not a comment\n"""',
    "remembers_a_cache": "import functools\n@functools.lru_cache\ndef cached(x):\n    return x\ncached(1)",
    "looks_at_the_shell": "get_ipython().run_line_magic('lsmagic', '')",
    "changes_the_folder": "import os\nos.makedirs('inner', exist_ok=True)\nos.chdir('inner')\nos.chdir('..')",
    "seeds_minitorch": "import minitorch as torch\ntorch.manual_seed(0)",
    "sets_how_tensors_print": "import minitorch as torch\ntorch.set_printoptions(precision=2)",
    "imports_everything": "from math import *\nfrom itertools import *",
    "comes_from_the_future": "from __future__ import annotations",
    "has_a_type_alias": "from collections.abc import Sequence\nSizes = Sequence[int] | tuple[int, ...]",
    "has_a_dataclass": "from dataclasses import dataclass, field\n@dataclass(frozen=True)\nclass Box:\n"
    "    content: list = field(default_factory=list)\n\nBOX = Box()",
    "has_a_context_manager": "from contextlib import contextmanager\n@contextmanager\ndef held():\n    yield 1\n\n"
    "with held() as one:\n    print(one)",
    "counts_in_a_global": "COUNT = 0\ndef counted():\n    global COUNT\n    COUNT += 1\n    return COUNT\n\ncounted()",
    "has_a_walrus": "if (many := len('three')) > 3:\n    print(many)",
    "breaks_lines_before_operators": "def checked(x, size):\n    if (\n        x\n        != size\n    ):\n"
    "        raise ValueError(\n            'expected %s, got %s'\n            % (size, x)\n        )",
    "asks_for_help": "import math\nlen?\nmath.floor?",
    "keeps_what_a_command_prints": "files = !ls\nfiles",
    "runs_a_command_in_a_function": "def listed():\n    out = !ls\n    return out",
    "unpacks_two_functions": "first, second = lambda: 1, lambda: 2\nfirst()",
    "keeps_the_last_result": "1 + 1\nprint('no underscore is needed')",
}
AFTER = {
    "ends_with_an_expression": "1 + 1",
    "ends_with_a_trial_that_raises": "1 / 0",
    "ends_with_asserts": "assert True, 'fine'",
    "ends_with_a_comment": "# done\n\n\n",
    "ends_without_a_line_end": "None;",
    "ends_with_a_main_block": "if __name__ == '__main__':\n    print('main')",
}


def annotated(text: str) -> str:
    """Without the marks and docstrings of the reference."""
    return re.sub(r"^ *### (BEGIN|END) SOLUTION\n?", "", text, flags=re.MULTILINE)


TEXTS: dict[str, Callable[[str], str]] = {
    **{name: lambda text, extra=extra: f"{extra}\n\n{text}" for name, extra in BEFORE.items()},
    **{name: lambda text, extra=extra: f"{text}\n\n{extra}" for name, extra in AFTER.items()},
    "without_marks": annotated,
    "with_windows_line_ends": lambda text: text.replace("\n", "\r\n"),
    "with_old_line_ends": lambda text: text.replace("\n", "\r"),
    "with_blank_lines": lambda text: f"\n\n\n{text}\n\n\n\n",
    "written_twice": lambda text: f"{text}\n\n{text}",
    "first_wrong_then_right": lambda text: f"{re.sub('return .*', 'return None', text)}\n\n\n{text}",
}

AROUND = {
    "is_decorated": "import functools\ndef around(f):\n    @functools.wraps(f)\n    def inner(*all, **named):\n"
    "        return f(*all, **named)\n    return inner\nNAME = around(NAME)",
    "is_a_partial_function": "import functools\nNAME = functools.partial(NAME)",
    "is_a_lambda": "mine = NAME\nNAME = lambda *all, **named: mine(*all, **named)",
    "is_an_instance": "class Mine:\n    def __init__(self, f):\n        self.f = f\n"
    "    def __call__(self, *all, **named):\n        return self.f(*all, **named)\nNAME = Mine(NAME)",
    "is_an_instance_with_a_large_table": "class Mine:\n    def __init__(self, f):\n"
    "        self.f = f\n        self.known = {f'word{i}': i for i in range(12_000)}\n"
    "    def __call__(self, *all, **named):\n        return self.f(*all, **named)\nNAME = Mine(NAME)",
    "is_a_method": "class Mine:\n    @staticmethod\n    def run(*all, **named):\n        return mine(*all, **named)\n"
    "mine, NAME = NAME, Mine().run",
    "has_a_wrapped_helper": "import functools\ndef _impl(*all, **named):\n    return mine(*all, **named)\nmine = NAME\n"
    "@functools.wraps(mine)\ndef NAME(*all, **named):\n    return _impl(*all, **named)",
    "has_a_default_from_a_helper": "def helper():\n    return mine\n\nmine = NAME\n"
    "def NAME(*all, inner=helper(), **named):\n    return inner(*all, **named)",
    "is_a_closure": "def closing(over):\n    def inner(*all, **named):\n        return over(*all, **named)\n"
    "    return inner\n\nNAME = closing(NAME)",
    "is_tried": "there = callable(NAME)\nfor trial in range(2):\n    print(trial, NAME)\nif there:\n    print(NAME)\n"
    "with open('out.txt', 'w') as file:\n    print(NAME, file=file)\nassert there",
    "calls_itself": "mine, deep = NAME, []\ndef NAME(*all, **named):\n    if deep:\n"
    "        return mine(*all, **named)\n    deep.append(1)\n    try:\n        return NAME(*all, **named)\n"
    "    finally:\n        deep.pop()",
}
"""Ways to make the function that a check calls."""


def a_part(at: Target) -> bool:
    """An exercise about a function of mytorch that stands in no class, and that no decorator reads the signature of."""
    files = read(Course(CODE).reference)
    return target.a_part(at) and not any(
        "." in path or parts.find(files[parts.file_of(files, part)], path).node.decorator_list  # type: ignore[attr-defined]
        for part, path in [(part, part.partition(":")[2]) for part in at.parts]
    )


def solution_of(notebook: Any, at: Target) -> int:
    return next(i for i, cell in enumerate(notebook.cells) if role(cell) == "solution" and exercise_of(cell) == at.name)


def in_two_cells(notebook: Any, place: int) -> None:
    extra = copy.deepcopy(notebook.cells[place])
    extra.id, extra.source = "another", "x = 1"
    notebook.cells.insert(place, extra)


def after_a_draft_that_raises(notebook: Any, place: int) -> None:
    draft = copy.deepcopy(notebook.cells[place])
    draft.id, draft.source = "draft", f"{draft.source}\n\nraise ValueError('not yet')"
    notebook.cells.insert(place, draft)


def without_the_metadata(notebook: Any, place: int) -> None:
    """As programs save it that keep nothing of a cell but its id."""
    notebook.cells[place].metadata = {}


def moved_to_the_end(notebook: Any, place: int) -> None:
    notebook.cells.append(notebook.cells.pop(place))


def alone(notebook: Any, place: int) -> None:
    notebook.cells = [notebook.cells[place]]


def among_notes(notebook: Any, place: int) -> None:
    notebook.cells.insert(place, new_markdown_cell("My thoughts: **none**"))
    notebook.cells.insert(place, new_code_cell("scratch = undefined_anywhere"))


def with_old_outputs(notebook: Any, place: int) -> None:
    output = nbformat.v4.new_output("stream", text="old\n" * 1000)
    notebook.cells[place].outputs, notebook.cells[place].execution_count = [output], 77


def with_marks_of_other_programs(notebook: Any, place: int) -> None:
    notebook.cells[place].metadata.update({"tags": ["raises-exception"], "vscode": {"languageId": "python"}})
    notebook.metadata["kernelspec"] = {"name": "conda-env", "display_name": "mine", "language": "python"}
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {}}}


def of_an_older_format(notebook: Any, place: int) -> None:
    for cell in notebook.cells:
        del cell["id"]
    notebook.nbformat_minor = 4


NOTEBOOKS: dict[str, Callable[[Any, int], None]] = {
    each.__name__: each
    for each in (
        in_two_cells,
        after_a_draft_that_raises,
        without_the_metadata,
        moved_to_the_end,
        alone,
        among_notes,
        with_old_outputs,
        with_marks_of_other_programs,
        of_an_older_format,
    )
}
ALL = [*TEXTS, *NOTEBOOKS, *AROUND]
NAMES = in_turn(ALL, 8, this_turn())


def solved(name: str, at: Target) -> Any:
    """The learner's notebook with one exercise solved, in a way of this name."""
    notebook = nbformat.read(Course(at.root).pristine / f"{at.chapter}.ipynb", as_version=4)
    place = solution_of(notebook, at)
    notebook.cells[place].source = TEXTS.get(name, annotated)(at.reference)
    if name in AROUND:
        notebook.cells[place].source += "\n\n\n" + AROUND[name].replace("NAME", at.names[0])
    if name in NOTEBOOKS:
        NOTEBOOKS[name](notebook, place)
    return notebook


def targets_of(name: str) -> list[Target]:
    """An exercise about a part of mytorch and another one, others for each name."""
    if name in AROUND:
        return [
            at
            for fits in (target.a_function, a_part)
            for at in target.chosen(Attack(name, "", fits, lambda at: ""), count=2)
        ]
    kinds = (lambda at: bool(at.parts), lambda at: not at.parts)
    return [target.chosen(Attack(name, "", fits, lambda at: ""))[0] for fits in kinds]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("honest")
    for name in NAMES:
        for number, at in enumerate(targets_of(name)):
            text = json.dumps(solved(name, at))
            path = folder / at.chapter / f"{name}-{number}.ipynb"  # in order of the chapters, they share sandboxes
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8-sig" if number else "utf-8")
    return grade([folder], Course(CODE), jobs=2, explain=False)


@pytest.fixture
def result(report: Report) -> Callable[[str], Result]:
    return {Path(each.path).stem: each for each in report.submissions}.__getitem__


def test_there_are_many() -> None:
    assert len(ALL) >= 30


@pytest.mark.parametrize("name", NAMES)
def test_a_right_answer_gets_its_points(result: Callable[[str], Result], name: str) -> None:
    for number, at in enumerate(targets_of(name)):
        given = result(f"{name}-{number}")
        assert given.status == "graded", given.reason
        (item,) = [item for item in given.items if item.grade_id == at.name]
        assert (item.status, item.message, item.points) == ("passed", "", item.max_points), at.name
