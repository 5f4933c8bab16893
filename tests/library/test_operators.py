"""Operators that users define, as `torch.library` has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minitorch
from tests.library.programs import PROGRAMS

torch = pytest.importorskip("torch", reason="torch is not installed: nothing to compare with")


@pytest.mark.turns(4)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_says_what_it_says_with_torch(program: Callable[[Any], list[str]]) -> None:
    theirs, ours = program(torch), program(minitorch)
    assert len(theirs) > 5
    assert ours == theirs
