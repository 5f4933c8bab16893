"""Which of its kernels OpenBLAS, the library behind NumPy's products of matrices, is to take.

It looks when it is loaded, and takes its kernels for AVX2 on a processor that it doesn't know: on AMD's newest, half of
what the processor can do. The variable of the environment has to be set before NumPy is imported, which is why this
module, the first that `minitorch` imports, imports nothing. The Makefile runs it as a script, which prints the value.
Source: https://github.com/OpenMathLib/OpenBLAS/blob/develop/driver/others/dynamic.c
"""

from __future__ import annotations

import os
import sys

VARIABLE = "OPENBLAS_CORETYPE"
NEEDED = {"avx512f", "avx512bw", "avx512dq", "avx512vl"}
FIRST_UNKNOWN_FAMILY = 26
"""Of AMD's processors, the first family that OpenBLAS doesn't know."""


def facts(processor: str) -> dict[str, str]:
    """What is said of a processor, as Linux describes it, by its name there."""
    found: dict[str, str] = {}
    for line in processor.splitlines():
        name, _, value = line.partition(":")
        found.setdefault(name.strip(), value.strip())
    return found


def kernels_for(processor: str) -> str | None:
    """The kernels to take on a processor, as Linux describes it; None where OpenBLAS chooses as well by itself."""
    said = facts(processor)
    family = said.get("cpu family", "")
    unknown = said.get("vendor_id") == "AuthenticAMD" and family.isdigit() and int(family) >= FIRST_UNKNOWN_FAMILY
    return "SKYLAKEX" if unknown and set(said.get("flags", "").split()) >= NEEDED else None


def described() -> str:
    """The first processor of this machine as Linux describes it; nothing on other systems."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return file.read(1 << 13)
    except OSError:
        return ""


def chosen() -> str | None:
    """The kernels for this machine, unless the user has named some."""
    return None if VARIABLE in os.environ else kernels_for(described())


def choose() -> None:
    """Sets the variable of the environment, unless NumPy is loaded already."""
    kernels = None if "numpy" in sys.modules else chosen()
    if kernels is not None:
        os.environ[VARIABLE] = kernels


if __name__ == "__main__":
    print(chosen() or "")
else:
    choose()
