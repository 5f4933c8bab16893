"""What deterministic algorithms include. Source: https://docs.pytorch.org/docs/stable/deterministic.html"""

from __future__ import annotations

import sys
from types import ModuleType

from minitorch import settings


class _Deterministic(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether `empty` and its relatives fill their memory while deterministic algorithms are asked for."""
        return settings.may_fill_memory()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        settings.may_fill_memory(mode)


sys.modules[__name__].__class__ = _Deterministic
