"""How faults are refused: one line says what the fault is, in which of PyTorch's words, and as which error."""

# 01 · Global settings
from __future__ import annotations


def refuse(fault: object, words: str, error: type[Exception] = RuntimeError) -> None:
    """Raise `error(words)` if there is a fault. In PyTorch's C++ it is `TORCH_CHECK`, which says what must hold."""
    if fault:
        raise error(words)
