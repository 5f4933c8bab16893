"""The kernels in CUDA C++ on a machine without a GPU: compiled by a C++ compiler, and run on simulated GPUs."""

from __future__ import annotations

import ctypes
import functools
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

HEADER = Path(__file__).with_name("cuda_on_host.h")
FUNCTION = re.compile(r"__global__ void (\w+)\(")


class KernelsOnHost:
    """What a library of GPUs needs to run kernels: `library.launch = KernelsOnHost()`.

    `ran` are the names of those that ran. Where there is a real GPU, its own `launch` runs them.
    """

    def __init__(self, launch: Callable[..., None] | None = None) -> None:
        self.ran: list[str] = []
        self._launch = launch

    def __call__(self, function: str, source: str, blocks: int, threads: int, args: tuple[Any, ...]) -> None:
        assert threads == 256  # as in the header
        self.ran.append(function)
        if self._launch is not None:
            self._launch(function, source, blocks, threads, args)
            return
        library = compiled(source)
        letters = ctypes.c_char_p.in_dll(library, f"letters_{function}").value
        assert letters == "".join(map(letter, args)).encode(), f"{function} takes {letters!r}, not {args}"
        held = [value_of(each) for each in args]
        pointers = (ctypes.c_void_p * len(args))(*(ctypes.cast(ctypes.byref(each), ctypes.c_void_p) for each in held))
        assert library[f"run_{function}"](blocks, pointers), (
            f"{function}: not all threads of a block wait for the others"
        )


def letter(value: Any) -> str:
    return "l" if type(value) is int else "d" if type(value) is float else "P"


def value_of(value: Any) -> Any:
    if type(value) is int:
        return ctypes.c_longlong(value)
    if type(value) is float:
        return ctypes.c_double(value)
    return ctypes.c_void_p(None if value is None else value.data.ptr)


@functools.cache
def compiled(source: str) -> ctypes.CDLL:
    """The shared library of a source, with a function `run_…` for each of its kernels."""
    entries = [
        f'extern "C" bool run_{name}(unsigned int blocks, void** args) {{ return host::run({name}, blocks, args); }}\n'
        f"static const std::string text_{name} = host::letters({name});\n"
        f'extern "C" const char* letters_{name} = text_{name}.c_str();'
        for name in FUNCTION.findall(source)
    ]

    with tempfile.TemporaryDirectory(prefix="minitorch-kernels-") as own:
        text, library = Path(own) / "kernel.cpp", Path(own) / "kernel.so"
        text.write_text("\n".join([f'#include "{HEADER}"', source, *entries]))
        command = ["g++", "-std=c++17", "-O1", "-ffp-contract=off", "-shared", "-fPIC", str(text), "-o", str(library)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        return ctypes.CDLL(str(library))
