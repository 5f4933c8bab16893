"""While a learner's version is installed, no way leads to the original; afterwards it is what it was."""

import functools
import gc
import importlib
import importlib.util
import runpy
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from course import check

SOURCE = """
import functools

def recorded(function):
    @functools.wraps(function)
    def run(*arguments):
        return function(*arguments)
    return run

def bare(function):
    def run(*arguments):
        return function(*arguments)
    return run

def double(x, y=0):
    return 2 * x + y

def user(x):
    return double(x)

def other(x):
    return 100 * x

class Shape:
    sides = 4

    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side ** 2

    @staticmethod
    def corners():
        return 4

    @classmethod
    def named(cls):
        return cls.__name__

    @property
    def half(self):
        return self.side / 2

    @recorded
    def step(self):
        return self.side + 1

    @recorded
    def back(self):
        return self.side - 1

    @bare
    def stretch(self):
        return self.side * 2

triple = functools.lru_cache(lambda x: 3 * x)
"""
LOCKED = "parts:{}: the original is locked while yours is installed"


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "parts.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("parts")
    sys.modules.pop("parts", None)


def loaded_again(module: ModuleType) -> Any:
    """A second module of the same file, under another name."""
    assert module.__file__
    spec = importlib.util.spec_from_file_location("again", module.__file__)
    assert spec is not None and spec.loader is not None
    again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(again)
    return again


def with_code_of(code: Any) -> Any:
    def taken(x: Any) -> Any: ...

    taken.__code__ = code
    return taken(1)


def anything(*_: Any, **__: Any) -> str:
    return "mine"


def test_what_was_taken_before_is_locked(parts: Any) -> None:
    double = parts.double
    copy = FunctionType(double.__code__, vars(parts))
    again = loaded_again(parts)
    ways: dict[str, Callable[[], Any]] = {
        "a name": lambda: double(1),
        "a default": lambda it=double: it(1, y=2),
        "a partial": functools.partial(double, 1),
        "a copy": lambda: copy(1, 0),
        "a second import": lambda: again.double(1),
        "a module that uses the second": lambda: again.user(1),
        "the list of all objects": lambda: [
            each(1)
            for each in gc.get_objects()
            if isinstance(each, FunctionType) and (each.__module__, each.__qualname__) == (parts.__name__, "double")
        ],
    }
    with check.install(anything, "parts:double"):
        for name, way in ways.items():
            with pytest.raises(RuntimeError, match=LOCKED.format("double")):
                pytest.fail(f"{name}: {way()}")
        assert (parts.user(1), parts.other(1)) == ("mine", 100)
    assert [double(1), double(1, y=2), copy(1, 0), again.double(1), parts.user(1)] == [2, 4, 2, 2, 2]


def test_the_code_cannot_be_run_again_meanwhile(parts: Any) -> None:
    double, code = parts.double, parts.double.__code__
    ways: dict[str, Callable[[], Any]] = {
        "reload": lambda: importlib.reload(parts).double(1),
        "a second import": lambda: loaded_again(parts).double(1),
        "an import anew": lambda: sys.modules.pop("parts") and importlib.import_module("parts").double(1),
        "runpy": lambda: runpy.run_path(parts.__file__)["double"](1),
        "a function of the code": lambda: FunctionType(code, {})(1, 0),
        "a function that takes the code": lambda: with_code_of(code),
        "the code put back": lambda: setattr(double, "__code__", code),
        "a changed code put back": lambda: setattr(double, "__code__", code.replace(co_name="changed")),
    }
    with check.install(anything, "parts:double"):
        for name, way in ways.items():
            with pytest.raises(RuntimeError, match=LOCKED.format("double")):
                pytest.fail(f"{name}: {way()}")
    sys.modules["parts"] = parts
    assert [double(1), parts.double(1), FunctionType(code, {})(1, 0)] == [2, 2, 2]
    assert importlib.reload(parts).double(1) == 2


@pytest.mark.parametrize(
    ("path", "way", "value"),
    [
        ("Shape.area", lambda kind, it: kind.area(it), 9),
        ("Shape.corners", lambda kind, it: kind.corners(), 4),
        ("Shape.named", lambda kind, it: kind.named(), "Shape"),
        ("Shape.half", lambda kind, it: kind.half.fget(it), 1.5),
        ("Shape.step", lambda kind, it: kind.step(it), 4),
        ("Shape.step", lambda kind, it: kind.step.__wrapped__(it), 4),
        ("Shape.stretch", lambda kind, it: kind.stretch.__closure__[0].cell_contents(it), 6),
        ("Shape", lambda kind, it: kind(3).side, 3),
        ("Shape", lambda kind, it: it.area(), 9),
    ],
)
def test_methods_and_classes(parts: Any, path: str, way: Callable[[Any, Any], Any], value: Any) -> None:
    kind = parts.Shape
    whole = path == "Shape"
    # Another class that holds the same functions: what is put in their place in the first does not reach it.
    held = {name: value for name, value in vars(kind).items() if not name.startswith("__")}
    taken = kind if whole else type("Shape", (), held)
    it = kind(3)
    with check.install(anything, f"parts:{path}"):
        with pytest.raises(RuntimeError, match=LOCKED.format(path)) as raised:
            way(taken, it)
        frames = [frame.f_locals for frame, _ in traceback.walk_tb(raised.tb)]  # as IPython reads them
        assert len(frames) == 3
        assert whole or it.back() == 2  # of the same decorator as `step`
    assert way(kind, it) == value


def test_a_cached_function(parts: Any) -> None:
    triple = parts.triple
    with (
        check.install(anything, "parts:triple"),
        pytest.raises(RuntimeError, match=LOCKED.format("triple")),
    ):
        triple(5)
    assert triple(5) == 15


def test_two_parts_at_once_and_one_part_twice(parts: Any) -> None:
    double, other = parts.double, parts.other
    first, second = check.install(anything, "parts:double"), check.install(anything, "parts:other")
    with ExitStack() as both:
        both.enter_context(first)
        with second:
            for original in (double, other):
                with pytest.raises(RuntimeError, match="locked"):
                    original(1)
        assert other(1) == 100
        with pytest.raises(RuntimeError, match="locked"):
            double(1)
        with check.install(lambda x: "another", "parts:double"):
            assert parts.user(1) == "another"
            with pytest.raises(RuntimeError, match="locked"):
                double(1)
        assert parts.user(1) == "mine"
        with pytest.raises(RuntimeError, match="locked"):
            double(1)
    assert (double(1), parts.user(1)) == (2, 2)


def test_one_lock_in_two_threads(parts: Any) -> None:
    from course.learner.lock import locked

    double = parts.double
    entered, leave, left = threading.Event(), threading.Event(), threading.Event()

    def hold() -> None:
        with locked(double, "parts:double"):
            entered.set()
            leave.wait(300)
        left.set()

    thread = threading.Thread(target=hold)
    thread.start()
    assert entered.wait(300)
    with locked(double, "parts:double"):
        leave.set()
        assert left.wait(300)
        with pytest.raises(RuntimeError, match="locked"):  # the thread that came first is gone, this one is not
            double(1)
    thread.join()
    assert double(1) == 2


def test_the_original_comes_back_after_an_exception(parts: Any) -> None:
    double = parts.double
    with pytest.raises(ZeroDivisionError), check.install(anything, "parts:double"):
        1 / 0  # noqa: B018
    assert (parts.double, double(2, y=1)) == (double, 5)


def test_a_name_for_the_original_is_no_version_of_ones_own(parts: Any) -> None:
    with (
        check.install(parts.double, "parts:double"),
        pytest.raises(RuntimeError, match=LOCKED.format("double")),
    ):
        parts.user(1)
    assert parts.user(1) == 2


def test_without_a_lock_the_original_can_be_called(parts: Any) -> None:
    double = parts.double
    with check.install(lambda x: double(x) + 1, "parts:double", lock=False):
        assert parts.user(1) == 3
