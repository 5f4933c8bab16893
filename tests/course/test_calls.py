"""Whether a learner's function is called is seen, however it is made."""

import sys
import threading
from types import ModuleType
from typing import Any

import pytest

from course.grading.calls import Witness
from course.source.assemble import load

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
    "another package's": "import copy\nf = copy.copy",
    "an instance": "class F:\n    def __call__(self, x):\n        return 2 * x\nf = F()",
    "an instance of a subclass": "class F:\n    def __call__(self, x):\n        return 2 * x\nclass G(F): ...\nf = G()",
    "a method": "class F:\n    def g(self, x):\n        return 2 * x\nf = F().g",
    "a class": "class f(int):\n    def __new__(cls, x):\n        return int.__new__(cls, 2 * x)",
    "a dataclass": "import dataclasses\n@dataclasses.dataclass\nclass f:\n    x: int",
    "composed": "def compose(*all):\n    def h(x):\n        for g in all: x = g(x)\n        return x\n    return h\n"
    "f = compose(lambda x: 2 * x)",
    "executed": "space = {}\nexec('def f(x): return 2 * x', space)\nf = space['f']",
    "of a global": "def f(x):\n    global g\n    return 2 * x",
    "in a thread": "import threading\ndef f(x):\n    worker = threading.Thread(target=print)\n    worker.start()\n"
    "    worker.join()\n    return 2 * x",
    "profiling itself": "import sys\ndef f(x):\n    sys.setprofile(None)\n    return 2 * x",
    "beside many words": "class F:\n    def __init__(self):\n"
    "        self.words = {f'Word{i}': i for i in range(12_000)}\n"
    "    def __call__(self, x):\n        return 2 * x\nf = F()",
    "beside many objects": "class F:\n    def __init__(self):\n"
    "        self.nodes = [[object()] for i in range(12_000)]\n"
    "    def __call__(self, x):\n        return 2 * x\nf = F()",
    "behind many words": "def f(x):\n    return 2 * x\nclass F:\n    pass\nbox, f = F(), f\n"
    "box.words, box.run = [f'Word{i}' for i in range(12_000)], f\nimport functools\nf = functools.partial(box.run)",
    "a dict": "class F(dict):\n    def __call__(self, x):\n        return self[x]\nf = F({3: 6})",
    "in another package's wrapper": "import contextlib\n@contextlib.contextmanager\ndef f(x):\n    yield 2 * x",
    "another package's instance": "import minitorch as torch\nf = torch.nn.Identity()",
    "another package's instance that holds data": "import minitorch as torch\nf = torch.nn.Embedding(4, 2)\n"
    "f.forward = lambda x: 2 * x",
    "another package's class": "from fractions import Fraction as f",
    "inherited": "from fractions import Fraction\nclass f(Fraction):\n    def unused(self): ...",
    "an instance that inherits": "import minitorch as torch\nclass F(torch.nn.Identity):\n    def __init__(self):\n"
    "        super().__init__()\nf = F()",
}
NOT_PYTHON = {  # a call of it runs no Python code
    "partial of what is not Python": "import functools, operator\nf = functools.partial(operator.mul, 2)",
    "a built-in method": "import numpy\nf = numpy.arange(0, 20, 2).item",
    "a ufunc": "import numpy\nf = numpy.sqrt",
    "an instance of a built-in class": "import operator\nf = operator.methodcaller('bit_length')",
    "a built-in class": "f = range",
    "a class without functions": "class f(int): ...",
    "in a table": "class Table(dict):\n    __call__ = dict.__getitem__\nf = Table({3: 6})\nf.made = lambda x: x",
}


def watched(text: str) -> tuple[Witness, Any]:
    module = sys.modules["cell"] = ModuleType("cell")
    exec(compile(text, "<cell>", "exec"), vars(module))
    witness = Witness()
    witness.watch(module.f, vars(module))
    return witness, module.f


@pytest.mark.parametrize("name", CELLS)
def test_a_call_is_seen_and_nothing_else(name: str) -> None:
    before = sys.getprofile()
    witness, f = watched(CELLS[name])
    with witness.watching():
        sorted([2, 1], key=lambda x: x)
    assert not witness.called
    with witness.watching():
        f(3)
    assert witness.called is True
    assert sys.getprofile() is before is None


@pytest.mark.parametrize("name", NOT_PYTHON)
def test_a_call_that_cannot_be_watched_is_not_asked_for(name: str) -> None:
    witness, f = watched(NOT_PYTHON[name])
    with witness.watching():
        f(3)
    assert witness.called is None


def test_a_call_is_seen_in_another_thread() -> None:
    witness, f = watched(CELLS["function"])
    with witness.watching():
        worker = threading.Thread(target=f, args=(3,))
        worker.start()
        worker.join()
    assert witness.called is True


@pytest.mark.parametrize("value", ["3", "[1]", "None", "range(3)", "__import__('fractions').Fraction(3)"])
def test_no_call_is_seen_of_what_is_no_function(value: str) -> None:
    witness, f = watched(f"f = {value}")
    with witness.watching():
        assert f == f
    assert witness.called is False


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
