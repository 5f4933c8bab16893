"""Whether a learner's function is called is seen, however it is made."""

import sys
import threading
from types import ModuleType
from typing import Any

import pytest

from course.authoring.assemble import load
from course.grading.witness import Witness

CELLS = {
    "function": "def f(x):\n    return 2 * x",
    "lambda": "f = lambda x: 2 * x",
    "recursive": "def f(x):\n    return x and 2 + f(x - 1)",
    "two names": "def f(x):\n    return 2 * x\ng, f = f, f",
    "decorated": "import functools\ndef twice(g):\n    @functools.wraps(g)\n    def h(x):\n        return g(x)\n"
    "    return h\n@twice\ndef f(x):\n    return 2 * x",
    "decorated without a trace": "def twice(g):\n    return lambda x: g(x)\n@twice\ndef f(x):\n    return 2 * x",
    "remembered": "import functools\n@functools.cache\ndef f(x):\n    return 2 * x",
    "by its type": "import functools\n@functools.singledispatch\ndef f(x): ...\n@f.register\n"
    "def _(x: int):\n    return 2 * x",
    "partial": "import functools\ndef g(a, x):\n    return a * x\nf = functools.partial(g, 2)",
    "partial of what is not Python": "import functools, operator\nf = functools.partial(operator.mul, 2)",
    "not Python": "import numpy\nf = numpy.arange(0, 20, 2).item",
    "a ufunc": "import numpy\nf = numpy.frompyfunc(lambda x: 2 * x, 1, 1)",
    "another package's": "import copy\nf = copy.copy",
    "an instance": "class F:\n    def __call__(self, x):\n        return 2 * x\nf = F()",
    "an instance of a subclass": "class F:\n    def __call__(self, x):\n        return 2 * x\nclass G(F): ...\nf = G()",
    "a method": "class F:\n    def g(self, x):\n        return 2 * x\nf = F().g",
    "a class": "class f(int):\n    def __new__(cls, x):\n        return int.__new__(cls, 2 * x)",
    "a dataclass": "import dataclasses\n@dataclasses.dataclass\nclass f:\n    x: int",
    "composed": "def compose(*all):\n    def h(x):\n        for g in all: x = g(x)\n        return x\n    return h\n"
    "f = compose(lambda x: 2 * x)",
    "in a table": "class Table(dict):\n    __call__ = dict.__getitem__\nf = Table({3: 6})\nf.made = lambda x: x",
    "executed": "space = {}\nexec('def f(x): return 2 * x', space)\nf = space['f']",
    "of a global": "def f(x):\n    global g\n    return 2 * x",
    "in a thread": "import threading\ndef f(x):\n    worker = threading.Thread(target=print)\n    worker.start()\n"
    "    worker.join()\n    return 2 * x",
    "profiling itself": "import sys\ndef f(x):\n    sys.setprofile(None)\n    return 2 * x",
}
UNSEEN = {"in a table"}  # called, but no code of the cell's runs


def watched(text: str) -> tuple[Witness, Any]:
    module = sys.modules["cell"] = ModuleType("cell")
    exec(compile(text, "<cell>", "exec"), vars(module))
    witness = Witness()
    return witness, witness.watch(module.f, vars(module))


@pytest.mark.parametrize("name", CELLS)
def test_a_call_is_seen_and_nothing_else(name: str) -> None:
    before = sys.getprofile()
    witness, f = watched(CELLS[name])
    with witness.watching():
        sorted([2, 1], key=lambda x: x)
    assert witness.called is False
    with witness.watching():
        f(3)
    assert witness.called is (name not in UNSEEN)
    assert sys.getprofile() is before is None


def test_a_call_is_seen_in_another_thread() -> None:
    witness, f = watched(CELLS["function"])
    with witness.watching():
        worker = threading.Thread(target=f, args=(3,))
        worker.start()
        worker.join()
    assert witness.called is True


@pytest.mark.parametrize("value", ["3", "[1]", "None", "int", "range(3)"])
def test_what_is_no_function_is_given_as_it_is(value: str) -> None:
    witness, f = watched(f"f = {value}")
    assert (f, witness.called) == (eval(value), False)


def test_a_part_of_a_package() -> None:
    files = {
        "__init__.py": "from mytorch import one",
        "one.py": "def near(x): return x\ndef far(x): return x\nborrowed = len\n"
        "class Shape:\n    def area(self): return 1\n    def rim(self): return 2\n",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "meta_path", list(sys.meta_path))
        mytorch = load(files)
        for part, call, called in (
            ("near", lambda: mytorch.one.far(1), False),
            ("near", lambda: mytorch.one.near(1), True),
            ("Shape", lambda: mytorch.one.Shape(), False),
            ("Shape", lambda: mytorch.one.Shape().rim(), True),
            ("Shape.area", lambda: mytorch.one.Shape().rim(), False),
            ("Shape.area", lambda: mytorch.one.Shape().area(), True),
            ("borrowed", lambda: mytorch.one.borrowed("x"), None),  # nothing of Python to be watched
            ("derivative.mul", lambda: None, None),
        ):
            witness = Witness()
            witness.watch_part(f"mytorch.one:{part}")
            with witness.watching():
                call()
            assert witness.called is called, part
        for name in [name for name in sys.modules if name.partition(".")[0] == "mytorch"]:
            del sys.modules[name]
