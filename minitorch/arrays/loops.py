"""When a kernel on the CPU runs as a loop that Numba compiled.

A kernel is declared once, as a function that computes with any array library. `on_cpu` names the file of
`kernels/loops` in which a function of the same name computes the same bits in one pass over the memory. The loop takes
the kernel's place where Numba is installed and the work is worth its start, which takes about 0.6 s: less than plain
kernels need for START elements. So short programs don't import Numba at all, and longer ones lose little. Since the
bits are equal, no result depends on which of the two ran.

`MINITORCH_LOOPS=0` in the environment switches the loops off, `MINITORCH_LOOPS=1` has them run from the first call on.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from minitorch.arrays import Array

FOLDER: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "kernels", "loops")

START: Final = 2**29
"""How many elements plain kernels compute before Numba is imported for them."""
LOAD: Final = 2**24
"""How many of them a kernel computes itself before its loop is compiled, or read from the cache."""
COMPILE: Final = 2**31
"""How many of its elements generated code computes before Numba is asked to compile a loop for it (`_inductor`)."""
CALL: Final = 2**12
"""The elements that are computed in the time that a kernel saves in a call, however few elements it gets."""

FLOATS: Final = np.dtype(np.float32), np.dtype(np.float64)

Plain = Callable[..., None]
Loop = Callable[..., bool]

mode = os.environ.get("MINITORCH_LOOPS", "")

_computed = 0  # elements, by plain kernels that have a loop


def on_cpu(file: str) -> Callable[[Plain], Plain]:
    """Declares that a kernel `plain(xp, *arguments)` has a loop of its name in a file of `kernels/loops`."""

    def decorate(plain: Plain) -> Plain:
        loop: Loop | None = None
        computed = 0

        @functools.wraps(plain)
        def run(xp: Any, *arguments: Any) -> None:
            nonlocal loop, computed
            if mode != "0":
                if loop is None:
                    work = CALL + max([getattr(each, "size", 0) for each in arguments])
                    computed += work
                    if pay(work, computed, LOAD):
                        loop = _loop(file, plain.__name__)
                if loop is not None and loop(*arguments):
                    return
            plain(xp, *arguments)

        return run

    return decorate


def pay(work: int, computed: int, least: int) -> bool:
    """Whether a loop pays for what has computed so many elements, the last `work` of them in this call."""
    global _computed
    _computed += work
    return mode == "1" or (computed >= least and (_computed >= START or "numba" in sys.modules))


def _loop(file: str, name: str) -> Loop:
    """The loop of that name; one that takes no arrays where loops can't run."""
    if why_off() is None:
        try:
            found: Loop = getattr(importlib.import_module(f"minitorch.kernels.loops.{file}"), name)
            return found
        except ImportError:  # a Numba that doesn't know this NumPy, or this Python
            pass
    return _takes_nothing


def _takes_nothing(*arguments: Any) -> bool:
    return False


def why_off() -> str | None:
    """Why no loop runs in this process; None where they may."""
    if mode == "0":
        return "MINITORCH_LOOPS is 0"
    if importlib.util.find_spec("numba") is None:
        return "Numba is not installed"
    try:
        os.makedirs(cache_folder(), exist_ok=True)
    except OSError as error:
        return f"compiled loops can't be kept: {error}"
    return None if os.access(cache_folder(), os.W_OK) else f"compiled loops can't be kept in {cache_folder()}"


@functools.cache
def cache_folder() -> str:
    """Where compiled loops are kept: of this version of their source, in the user's folder for such things."""
    source = hashlib.sha256()
    for name in sorted(os.listdir(FOLDER)):
        if name.endswith(".py"):
            with open(os.path.join(FOLDER, name), "rb") as text:
                source.update(text.read())
    cache = os.path.expanduser(os.environ.get("XDG_CACHE_HOME", "~/.cache"))
    return os.path.join(cache, "minitorch", f"loops-{source.hexdigest()[:16]}")


def are_contiguous(*arrays: Array) -> bool:
    """Whether all lie in host memory without gaps, in rows, and may be written to."""
    return all(each.__class__ is np.ndarray and each.flags.carray for each in arrays)


def have_rows(*arrays: Array) -> bool:
    """Whether all are matrices of float32, or of float64, without gaps, and with at least one element."""
    kind = arrays[0].dtype
    if kind not in FLOATS or not arrays[0].size:
        return False
    for each in arrays:  # `all` of a generator takes twice the time
        if each.__class__ is not np.ndarray or each.dtype is not kind or each.ndim != 2 or not each.flags.carray:
            return False
    return True


def flat(*arrays: Array) -> list[Array] | None:
    """The arrays with one dimension. None unless all are of one shape, float32, or float64, without gaps, not empty."""
    first = arrays[0]
    kind, shape = first.dtype, first.shape
    if kind not in FLOATS or not first.size:
        return None
    for each in arrays:
        if each.__class__ is not np.ndarray or each.dtype is not kind or each.shape != shape or not each.flags.carray:
            return None
    return list(arrays) if first.ndim == 1 else [each.reshape(-1) for each in arrays]


def are_numbers(*values: Any) -> bool:
    """Whether all are Python's numbers, which NumPy rounds to an array's type before it computes with them."""
    return all(each.__class__ is float or each.__class__ is int for each in values)
