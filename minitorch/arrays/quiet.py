"""What NumPy says of numbers that are not finite: they are results here, and PyTorch says nothing of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

NOISE = (FloatingPointError, RuntimeWarning)
"""What NumPy raises of them in a program that asks it, or `warnings`, to raise."""


def quiet() -> np.errstate:
    """Inside the block NumPy neither warns nor raises. This takes a microsecond: ops that can run again do so first."""
    return np.errstate(all="ignore")


def quietly(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What a function without side effects returns, which is called again where NumPy has raised."""
    try:
        return function(*args, **options)
    except NOISE:
        with quiet():
            return function(*args, **options)
