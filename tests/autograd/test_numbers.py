"""Python's numbers of tensors that require a gradient: which conversions warn that the number has none."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import minitorch

torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")


def without_gradients(x: Any, conversion: Any) -> Any:
    with (minitorch if isinstance(x, minitorch.Tensor) else torch).no_grad():
        return conversion(x)


CONVERSIONS = {
    "float": float,
    "complex": complex,
    "int": int,
    "bool": bool,
    "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(),
    "format": lambda x: f"{x:.1f}",
    "of a detached tensor": lambda x: float(x.detach()),
    "of a result": lambda x: float(x * 2),
    "without gradients": lambda x: without_gradients(x, float),
}


def heard(lib: Any, conversion: Any) -> list[tuple[type, str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        conversion(lib.tensor(2.0, requires_grad=True))
    return [(each.category, str(each.message).partition(" (Triggered")[0]) for each in caught]


def test_numbers_with_a_gradient_warn_as_torchs() -> None:
    torch.set_warn_always(True)
    expected = {name: heard(torch, conversion) for name, conversion in CONVERSIONS.items()}
    torch.set_warn_always(False)
    minitorch.set_warn_always(True)
    found = {name: heard(minitorch, conversion) for name, conversion in CONVERSIONS.items()}
    minitorch.set_warn_always(False)
    assert found == expected
    for lib in (torch, minitorch):
        heard(lib, float)
        assert heard(lib, float) == []  # the second time
