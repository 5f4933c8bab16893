"""Which kernels `import minitorch` has OpenBLAS take, where it is the first to load NumPy."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from minitorch.arrays import openblas

AVX512 = "fpu sse2 avx2 avx512f avx512dq avx512cd avx512bw avx512vl"


def described(vendor: str, family: int, flags: str) -> str:
    """/proc/cpuinfo of a machine with two processors."""
    one = f"vendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: 2\nflags\t\t: {flags}\n\n"
    return f"processor\t: 0\n{one}processor\t: 1\n{one}"


@pytest.mark.parametrize(
    ("processor", "kernels"),
    [
        (described("AuthenticAMD", 26, AVX512), "SKYLAKEX"),
        (described("AuthenticAMD", 26, "fpu sse2 avx2 avx512f"), None),
        (described("AuthenticAMD", 25, AVX512), None),  # which OpenBLAS knows
        (described("GenuineIntel", 6, AVX512), None),
        ("CPU implementer\t: 0x41\nFeatures\t: fp asimd\n", None),
    ],
)
def test_only_processors_that_openblas_does_not_know_get_kernels(processor: str, kernels: str | None) -> None:
    assert openblas.kernels_for(processor) == kernels


def test_minitorch_chooses_before_numpy_is_loaded() -> None:
    script = "import sys, minitorch; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    assert loaded.index("minitorch.arrays.openblas") < loaded.index("numpy")


@pytest.mark.parametrize(
    ("has_numpy", "user", "found"), [(False, None, "SKYLAKEX"), (True, None, None), (False, "Haswell", "Haswell")]
)
def test_neither_the_user_nor_a_loaded_numpy_is_overruled(
    monkeypatch: pytest.MonkeyPatch, has_numpy: bool, user: str | None, found: str | None
) -> None:
    monkeypatch.setattr(openblas, "described", lambda: described("AuthenticAMD", 26, AVX512))
    monkeypatch.setattr(sys, "modules", {"numpy": None} if has_numpy else {})
    monkeypatch.setenv(openblas.VARIABLE, user or "")
    if user is None:
        monkeypatch.delenv(openblas.VARIABLE)
    openblas.choose()
    assert os.environ.get(openblas.VARIABLE) == found
