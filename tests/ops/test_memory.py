"""Tensors whose elements are as they were found: shape, dtype and strides are torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minitorch

CALLS: dict[str, Callable[[Any], Any]] = {
    "empty(2, 3)": lambda lib: lib.empty(2, 3),
    "empty((), dtype)": lambda lib: lib.empty((), dtype=lib.int16),
    "empty(channels_last)": lambda lib: lib.empty(2, 3, 4, 5, memory_format=lib.channels_last),
    "empty(requires_grad)": lambda lib: lib.empty(size=(0, 2), requires_grad=True),
    "empty(out)": lambda lib: lib.empty(2, 3, out=lib.zeros(4, dtype=lib.float64)),
    "empty_strided": lambda lib: lib.empty_strided((2, 3), (1, 2)),
    "empty_strided(gaps)": lambda lib: lib.empty_strided((2, 3), (10, 2), dtype=lib.int64),
    "empty_strided(0)": lambda lib: lib.empty_strided((2, 3), (0, 1)),
    "empty_like": lambda lib: lib.empty_like(lib.zeros(2, 3)),
    "empty_like(transposed)": lambda lib: lib.empty_like(lib.zeros(2, 3).t()),
    "empty_like(sliced)": lambda lib: lib.empty_like(lib.zeros(4, 6)[::2, ::3]),
    "empty_like(expanded)": lambda lib: lib.empty_like(lib.zeros(3).expand(2, 3)),
    "empty_like(permuted)": lambda lib: lib.empty_like(lib.zeros(2, 3, 4).permute(1, 2, 0), dtype=lib.float64),
    "empty_like(contiguous)": lambda lib: lib.empty_like(lib.zeros(2, 3).t(), memory_format=lib.contiguous_format),
    "new_empty": lambda lib: lib.zeros(1, dtype=lib.int32).new_empty(2, 3),
    "new_empty(dtype)": lambda lib: lib.zeros(1).new_empty((2,), dtype=lib.bool),
    "new_empty_strided": lambda lib: lib.zeros(1, dtype=lib.float64).new_empty_strided((2, 3), (1, 2)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_empty(call: Callable[[Any], Any]) -> None:
    torch = pytest.importorskip("torch", reason="torch is the oracle of the op table: pip install torch==2.13.0")

    def described(lib: Any) -> list[Any]:
        tensor = call(lib)
        return [
            tuple(tensor.shape),
            tensor.stride(),
            str(tensor.dtype),
            tensor.requires_grad,
            tensor.untyped_storage().nbytes(),
        ]

    assert described(minitorch) == described(torch)


@pytest.mark.parametrize("shape", [(2, -1), (2.5,), ("2",)])
def test_impossible_shapes(shape: Any) -> None:
    torch = pytest.importorskip("torch", reason="torch is the oracle of the op table: pip install torch==2.13.0")
    with pytest.raises(Exception) as theirs:
        torch.empty(*shape)
    with pytest.raises(type(theirs.value)):
        minitorch.empty(*shape)
