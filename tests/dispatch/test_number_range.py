"""Numbers that a dtype can't hold: PyTorch refuses some, wraps others around, and makes infinities of the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.same import attempt, exactly_the_same, same

Call = Callable[[Any, Any, Any], Any]
"""Calls a function of a library with a dtype and a number."""

NUMBERS = [300, -1, -300, 255.5, -0.5, 70000.0, 1e39, math.inf, math.nan, 2**63, 2**64, -(2**63) - 1]
DTYPES = ["uint8", "int8", "int64", "bool", "float16", "bfloat16", "float32", "float64"]


def _vector(lib: Any, dtype: Any) -> Any:
    return lib.tensor([1, 0, 1], dtype=dtype)


def _assigned(index: Any) -> Call:
    def call(lib: Any, dtype: Any, number: Any) -> Any:
        vector = _vector(lib, dtype)
        vector[index(lib)] = number
        return vector

    return call


CALLS: dict[str, Call] = {
    "full": lambda lib, dtype, number: lib.full((2,), number, dtype=dtype),
    "full of one element": lambda lib, dtype, number: lib.full((1,), number, dtype=dtype),
    "full_like": lambda lib, dtype, number: lib.full_like(_vector(lib, dtype), number),
    "tensor": lambda lib, dtype, number: lib.tensor([number], dtype=dtype),
    "fill_": lambda lib, dtype, number: _vector(lib, dtype).fill_(number),
    "x[0] =": _assigned(lambda lib: 0),
    "x[mask] =": _assigned(lambda lib: lib.tensor([True, False, True])),
    "masked_fill": lambda lib, dtype, number: _vector(lib, dtype).masked_fill(lib.tensor([True, False, True]), number),
    "index_fill": lambda lib, dtype, number: _vector(lib, dtype).index_fill(0, lib.tensor([0]), number),
    "index_add": lambda lib, dtype, number: lib.index_add(
        _vector(lib, dtype), 0, lib.tensor([0]), lib.ones(1, dtype=dtype), alpha=number
    ),
    "scatter": lambda lib, dtype, number: _vector(lib, dtype).scatter(0, lib.tensor([0]), number),
    "arange": lambda lib, dtype, number: lib.arange(0, number, abs(number), dtype=dtype),
    "linspace": lambda lib, dtype, number: lib.linspace(0, number, 2, dtype=dtype),
}
OPERANDS: dict[str, Call] = {
    "add of alpha": lambda lib, dtype, number: lib.add(_vector(lib, dtype), _vector(lib, dtype), alpha=number),
    "addcmul": lambda lib, dtype, number: lib.addcmul(*[_vector(lib, dtype)] * 3, value=number),
    "clamp": lambda lib, dtype, number: _vector(lib, dtype).clamp(min=number),
    "clamp_max": lambda lib, dtype, number: lib.clamp_max(_vector(lib, dtype), number),
    "where": lambda lib, dtype, number: lib.where(lib.tensor([True, False, True]), _vector(lib, dtype), number),
    "lerp": lambda lib, dtype, number: lib.lerp(_vector(lib, dtype), _vector(lib, dtype), number),
    "pow": lambda lib, dtype, number: _vector(lib, dtype) ** number,
    "elu": lambda lib, dtype, number: lib.nn.functional.elu(_vector(lib, dtype), number),
    "leaky_relu": lambda lib, dtype, number: lib.nn.functional.leaky_relu(_vector(lib, dtype), number),
    "hardshrink": lambda lib, dtype, number: lib.nn.functional.hardshrink(_vector(lib, dtype), number),
    "hardtanh": lambda lib, dtype, number: lib.nn.functional.hardtanh(_vector(lib, dtype), -1, number),
    "pad": lambda lib, dtype, number: lib.nn.functional.pad(_vector(lib, dtype), (1, 1), value=number),
    "softshrink": lambda lib, dtype, number: lib.nn.functional.softshrink(_vector(lib, dtype), number),
    "threshold": lambda lib, dtype, number: lib.nn.functional.threshold(_vector(lib, dtype), 0.5, number),
}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", CALLS)
@exactly_the_same
def test_numbers_out_of_range(torch: Any, name: str, number: Any) -> Any:
    return {dtype: attempt(CALLS[name], torch, getattr(torch, dtype), number) for dtype in DTYPES}


@pytest.mark.parametrize("number", [-300, 70000.0, 1e39, math.inf])
@pytest.mark.parametrize("name", OPERANDS)
@same
def test_numbers_out_of_the_range_of_floats(torch: Any, name: str, number: Any) -> Any:
    return {each: attempt(OPERANDS[name], torch, getattr(torch, each), number) for each in ("float32", "float64")}


@pytest.mark.parametrize("name", ["add of alpha", "addcmul", "clamp", "clamp_max", "where", "pad"])
@exactly_the_same
def test_numbers_out_of_the_range_of_integers(torch: Any, name: str) -> Any:
    kinds = torch.uint8, torch.int8
    return [attempt(OPERANDS[name], torch, kind, number) for kind in kinds for number in (300, -1, -300)]


@exactly_the_same
def test_isin_compares_a_number_without_rounding_it(torch: Any) -> Any:
    whole = torch.tensor([1, 2, 44], dtype=torch.uint8)
    options = [(whole, 2.5), (whole, 300), (whole, -1), (whole, 2), (2.5, whole), (2, whole), (2, torch.tensor([2.0]))]
    return [torch.isin(*each, invert=invert) for each in options for invert in (False, True)]
