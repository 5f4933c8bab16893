"""cuDNN. Source: https://pytorch.org/docs/stable/backends.html#module-torch.backends.cudnn"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

enabled = True
benchmark = False
benchmark_limit: int | None = None  # 10 where cuDNN is
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether cuDNN is there: False."""
    return False


def version() -> int | None:
    """cuDNN's version: None."""
    return None


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """Sets the switches for the length of a `with` block."""
    given = {
        "enabled": enabled,
        "benchmark": benchmark,
        "benchmark_limit": benchmark_limit,
        "deterministic": deterministic,
        "allow_tf32": allow_tf32,
    }
    before = {name: globals()[name] for name in given}
    globals().update(given)
    try:
        yield
    finally:
        globals().update(before)
