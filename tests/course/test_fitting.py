"""Forms in which people write an answer: each part goes into its file, and the rest of the file stays as it is."""

import subprocess
import sys
from typing import Any

import pytest

from course.source.cells import plain, syntax_error
from course.source.parts import PartError, swap, undefined, with_imports

FILE = '''from __future__ import annotations

from numpy import prod

TABLE = {}


def words(x):
    return f"words of {x}"


def registered(function):
    TABLE[function.__name__] = function.__code__.co_varnames[: function.__code__.co_argcount]
    return function


@registered
def flip(x, dim=0, *, both=False):
    """Left to the learner."""


def speak(x):
    return words(x), int(prod([1, x], axis=0)), sum([x]), any(each for each in [0])
'''
HEAD = "def flip(x, dim=0, *, both=False):\n"
FORMS = {
    "percent at the start of a line": f"{HEAD}    return int(\n        '%d%d'\n        % (x, dim)\n    ) // 10",
    "unequal at the start of a line": f"{HEAD}    if (\n        x\n        != dim\n    ):\n        return x",
    "percent in a string": f'{HEAD}    """\n% not IPython\n!nor this\n"""\n    return x',
    "help": f"len?\n{HEAD}    return x\nflip??",
    "a shell's output that nothing needs": f"files = !ls\nlines = len(files)\n{HEAD}    return x",
    "a shell's output inside": f"{HEAD}    out = !echo {{x}}\n    return int(out[0])",
    "a shell's output that it needs": f"three = !echo 3\nvalue = int(three[0])\n{HEAD}    return value",
    "a shell's command inside": f"{HEAD}    !true\n    return x",
    "a timed statement": f"%time SIZE = 3\n{HEAD}    return SIZE",
    "a timed cell": f"\n\n%%time\n{HEAD}    return x",
    "a captured cell": f"%%capture out\n%matplotlib inline\n{HEAD}    return x",
    "a profiled cell": f"%%prun -q\n{HEAD}    return x",
    "a command of several lines": f"!echo \\\n  hi\n{HEAD}    return x",
    "prompts": f">>> {HEAD}...     return x",
    "indented": f"    {HEAD}        return x",
    "carriage returns": f"import math\r{HEAD}    return x".replace("\n", "\r"),
    "a helper's name": f"def words(x):\n    return [x]\n{HEAD}    words_ = words(x)\n    return words_[0]",
    "a constant's name": f"TABLE = {{1: 3}}\n{HEAD}    return TABLE[1]",
    "a constant's name that nothing needs": f"words = 5\n{HEAD}    return x",
    "a builtin's name": f"def sum(x):\n    return x\n{HEAD}    return sum(x)",
    "an import's name": f"from math import prod\n{HEAD}    return prod([x])",
    "math by a star": f"from math import *\n{HEAD}    return int(sqrt(prod([x, x])))",
    "numpy by a star": f"from numpy import *\n{HEAD}    return int(sum(array([x, 0])) + max([0, prod([0])]))",
    "a table that is filled": "KNOWN = {}\nKNOWN['x'] = []\nKNOWN.update(y=2)\nKNOWN['x'].append(1)\n"
    f"{HEAD}    return KNOWN['x'][0] * x * KNOWN['y'] // 2",
    "a table that tries it": f"TRIED = []\n{HEAD}    return x\nTRIED.append(flip(1))\nTRIED.clear()",
    "lambda": "flip = lambda x, dim=0, *, both=False: x",
    "alias": f"{HEAD.replace('flip', 'mine')}    return x\nflip = mine",
    "annotated": f"from typing import Any\n{HEAD.replace('flip', 'mine')}    return x\nflip: Any = mine",
    "partial": f"import functools\n{HEAD.replace('flip(', 'mine(y, ')}    return x\nflip = functools.partial(mine, 1)",
    "a decorator that takes the name": "def logged(f):\n    def inner(*given, **named):\n"
    f"        return f(*given, **named)\n    return inner\n@logged\n{HEAD}    return x",
    "a wrapped helper": f"import functools\n{HEAD.replace('flip', 'mine')}    return x\n@functools.wraps(mine)\n"
    "def flip(*given, **named):\n    return mine(*given, **named)",
    "a cache": f"import functools\n@functools.lru_cache(maxsize=None)\n{HEAD}    return x",
    "attribute": f"class Mine:\n    @staticmethod\n    {HEAD}        return x\nflip = Mine.flip",
    "instance": "class Mine:\n    def __call__(self, x, dim=0, *, both=False):\n        return x\nflip = Mine()",
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_of_an_answer_works_and_changes_nothing_else(name: str) -> None:
    text = swap(FILE, FORMS[name], ["flip"])
    space: dict[str, Any] = {"__name__": "file"}
    exec(compile(text, "<file>", "exec"), space)
    assert (space["flip"](3), space["flip"](3, both=True, dim=0)) == (3, 3)
    assert space["TABLE"] == {"flip": ("x", "dim")}
    assert space["speak"](2) == ("words of 2", 2, 2, False)


@pytest.mark.parametrize(
    "name", ["help", "a shell's output that nothing needs", "a captured cell", "a shell's command inside"]
)
def test_what_no_part_needs_stays_behind(name: str) -> None:
    text = swap(FILE, FORMS[name], ["flip"])
    assert "ipython" not in text and "files" not in text


def test_a_table_that_a_trial_fills_stays_as_it_was() -> None:
    """A trial runs in the cell alone, so what it leaves is no part's either."""
    text = swap(FILE, f"KNOWN = []\n{HEAD}    return len(KNOWN)\nKNOWN.append(flip(1))\nprint(KNOWN)", ["flip"])
    assert "KNOWN = []" in text and "append" not in text and "print" not in text


def test_a_line_of_ipython_works_in_a_script_and_leaves_it_its_main() -> None:
    text = swap(FILE, FORMS["a shell's output inside"], ["flip"])
    script = f"{text}\nimport sys\nmain = sys.modules['__main__']\nprint(flip(4), sys.modules['__main__'] is main)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "4 True\n"


def test_a_name_that_is_used_for_several_things_is_asked_to_change() -> None:
    cell = f"def words(x):\n    return x\n{HEAD}    return (lambda words: words)(words(x))"
    with pytest.raises(PartError, match="`words` is also the name of something else in the file"):
        swap(FILE, cell, ["flip"])


@pytest.mark.parametrize(
    "cell",
    [
        "x = 1\nif True:\n    def flip(x):\n        return x",
        "x = 1\ntry:\n    def flip(x):\n        return x\nfinally:\n    pass",
        "x = 1\n(flip := lambda x: x)",
        "x = 1\nflip, other = (lambda x: x), 1",
    ],
)
def test_a_part_inside_another_statement_is_asked_out(cell: str) -> None:
    assert undefined(cell, ["mytorch.views:flip"]) == (
        "the cell does not define flip; flip is defined inside the statement in line 2: "
        "give it a statement of its own, `def flip(...)` or `flip = ...`, that starts at the left margin"
    )
    assert undefined(f"{cell}\nflip = flip", ["mytorch.views:flip"]) == ""


@pytest.mark.parametrize("name", [name for name, cell in FORMS.items() if "return" in cell])
def test_lines_keep_their_numbers(name: str) -> None:
    cell = FORMS[name].replace("\r", "\n")
    line = 1 + next(i for i, line in enumerate(cell.split("\n")) if "return" in line)
    broken = cell.replace("return", "return ]", 1)
    assert f"(line {line}: `" in syntax_error(broken)
    assert plain(cell).count("\n") == cell.count("\n")


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("x = 1\ndef f(d:\n    pass", "SyntaxError: '(' was never closed (line 2: `def f(d:`)"),
        ("%%time\n\nx = = 1", "SyntaxError: invalid syntax (line 3: `x = = 1`)"),
        ("%%bash\nif [ 1 ; then", ""),
        ("x = 1", ""),
    ],
)
def test_a_syntax_error_is_told_with_its_line(cell: str, told: str) -> None:
    assert syntax_error(cell) == told


@pytest.mark.turns(8)
def test_a_cell_of_many_lines_of_ipython_is_read_in_the_end() -> None:
    assert "!ls" in plain("!ls\n" * 1000)


def test_python_needs_no_ipython() -> None:
    code = "from course.source.cells import defined; defined('x % 2 != 1'); import sys; print('IPython' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


def test_imports_of_the_setup_come_before_an_indented_cell() -> None:
    made = with_imports("    def flip(x):\n        return np.flip(x)", ["import numpy as np"], [])
    assert syntax_error(made) == "" and made.startswith("import numpy as np\n")
