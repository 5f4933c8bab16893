"""Kernels of our own on GPUs, for what would pass over the memory many times if it were composed of CuPy's functions.

A kernel is declared once, as a function that computes with any array library. `on_gpu` names its twin in CUDA C++, a
function of the same name in a file of `kernels/cuda`, which runs in its place where the arrays are on a GPU.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from minitorch.arrays import Array
from minitorch.arrays.gpus import OnGPU

FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "kernels", "cuda")  # pathlib takes 15 ms to import

THREADS = 256
"""The threads of a block: as many as `prelude.cu` says."""

TYPES = {
    "float32": "float", "float64": "double", "int32": "int", "int64": "long long", "uint32": "unsigned int",
}  # fmt: skip
"""What T can be, by the name of a dtype."""

Twin = Callable[..., None]
Plan = Callable[..., tuple[int, tuple[Any, ...]] | None]


class Kernel:
    """A function of an array module and arrays, which it overwrites, and its twin in CUDA C++.

    Args:
        twin: the function; the CUDA function has its name.
        file: where the CUDA function is.
        plan: gets the arguments but for the array module, and says how many blocks run and what the CUDA function gets:
            arrays, None for an array that isn't there, integers, floats. None if it can't do what is asked.
    """

    def __init__(self, twin: Twin, file: str, plan: Plan) -> None:
        self.twin, self.file, self.plan = twin, file, plan
        functools.update_wrapper(self, twin)

    def __call__(self, xp: Any, *args: Any) -> None:
        if type(xp) is OnGPU and xp.runs_kernels:
            planned = self.plan(*args)
            if planned is not None and (kind := type_of(planned[1])) is not None:
                blocks, passed = planned
                if blocks:
                    xp.launch(self.twin.__name__, cuda_source(self.file, kind), blocks, THREADS, passed)
                return
        self.twin(xp, *args)


def on_gpu(file: str, plan: Plan) -> Callable[[Twin], Kernel]:
    """Declares the twin of a function: see `Kernel`."""
    return lambda twin: Kernel(twin, file, plan)


def type_of(passed: tuple[Any, ...]) -> str | None:
    """What T is: the type of the first array. None if the kernel can't take the arrays.

    They have to lie row by row without gaps, and be of that type, or int64 for places.
    """
    arrays: list[Array] = [each for each in passed if hasattr(each, "flags")]
    names = [each.dtype.name for each in arrays]
    fits = all(each.flags.c_contiguous for each in arrays) and {*names} <= {names[0], "int64"}
    return TYPES.get(names[0]) if fits else None


@functools.cache
def cuda_source(file: str, kind: str) -> str:
    """The CUDA C++ of a file for one type of elements."""
    texts = [f"typedef {kind} T;"]
    for name in ("prelude.cu", file):
        with open(os.path.join(FOLDER, name), encoding="utf-8") as text:
            texts.append(text.read())
    return "\n".join(texts)


def threads(count: int) -> int:
    """How many blocks have at least so many threads."""
    return -(-count // THREADS)
