"""Shared memory takes several processes to test."""

from __future__ import annotations

from tests.ops.case import UNTESTED

for _name in ("share_memory_", "is_shared"):
    UNTESTED[f"Tensor.{_name}"] = "tests/multiprocessing/test_sharing.py"
