"""Threads that make syntax trees at the same time."""

import gc
import inspect
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import course
from course.parsed import parsed


class Cycle:
    """What the garbage collector ends by running Python, so that another thread may go on meanwhile."""

    def __init__(self) -> None:
        self.own = self

    def __del__(self) -> None:
        time.sleep(0)


@pytest.fixture
def often_collected() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(50)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("often_collected")
def test_texts_are_read_in_threads() -> None:
    text = inspect.getsource(inspect)

    def read(_: int) -> None:
        Cycle()
        assert parsed(text).body

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(read, range(24)))


def test_nothing_else_in_the_course_reads_texts() -> None:
    root = Path(course.__file__).parent
    others = [path.name for path in root.rglob("*.py") if "ast.parse(" in path.read_text(encoding="utf-8")]
    assert others == ["parsed.py"]
