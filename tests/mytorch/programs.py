"""Programs that are run on mytorch and on its oracles, and whose results are compared as they are printed."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.mytorch.compare import ORACLES

Program = Callable[[Any], Any]


class Programs:
    """The programs of a file of tests, by what they are about."""

    def __init__(self) -> None:
        self.found: dict[str, list[Program]] = {}

    def about(self, subject: str) -> Callable[[Program], Program]:
        """A program to be run on all packages."""

        def add(function: Program) -> Program:
            self.found.setdefault(subject, []).append(function)
            return function

        return add

    def each(self, subject: str) -> pytest.MarkDecorator:
        """A test for each program of a subject."""
        return pytest.mark.parametrize("run", self.found[subject], ids=lambda run: run.__name__)


def shown(value: Any) -> Any:
    """What is compared of a result: of a tensor its printed form, dtype and strides, of an error its type and text."""
    if isinstance(value, BaseException):
        return type(value).__name__, str(value)
    if isinstance(value, (list, tuple)):
        return [shown(each) for each in value]
    if hasattr(value, "stride"):
        return repr(value), str(value.dtype).rpartition(".")[2], tuple(value.stride())
    return value


def leaf(torch: Any, *numbers: float) -> Any:
    return torch.tensor([float(number) for number in numbers], requires_grad=True)


def same(run: Program, mytorch: ModuleType) -> None:
    for library in ORACLES:
        assert shown(run(mytorch)) == shown(run(library)), library
