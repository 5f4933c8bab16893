"""Counts of calls, and tracebacks, are those of programs that have made no tensor of a subclass."""

from __future__ import annotations

import pytest

from minitorch.dispatch import overriding


@pytest.fixture(autouse=True)
def nothing_overrides() -> None:
    overriding.withdraw()
