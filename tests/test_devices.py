"""Devices in all their spellings, against torch."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import minitorch

torch = pytest.importorskip("torch", reason="the expected values are torch's")

SPELLINGS: list[tuple[Any, ...]] = [
    ("cpu",),
    ("cpu", 0),
    ("cpu:0",),
    ("cuda",),
    ("cuda", 1),
    ("cuda:1",),
    ("mps",),
    ("meta",),
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings(spelling: tuple[Any, ...]) -> None:
    ours, theirs = minitorch.device(*spelling), torch.device(*spelling)
    assert (repr(ours), str(ours), ours.type, ours.index) == (repr(theirs), str(theirs), theirs.type, theirs.index)
    assert pickle.loads(pickle.dumps(ours)) is ours and copy.deepcopy(ours) is ours


def test_equality_is_that_of_type_and_index() -> None:
    for one in SPELLINGS:
        for other in SPELLINGS:
            expected = torch.device(*one) == torch.device(*other)
            assert (minitorch.device(*one) == minitorch.device(*other)) is expected


@pytest.mark.parametrize("spelling", [("cuda:x",), ("cpu", -1), ("cuda:1", 2), ("cuda:01",)])
def test_errors(spelling: tuple[Any, ...]) -> None:
    with pytest.raises(RuntimeError) as expected:
        torch.device(*spelling)
    with pytest.raises(RuntimeError) as actual:
        minitorch.device(*spelling)
    assert str(actual.value) == str(expected.value)


def test_unknown_types_are_refused_with_the_known_ones() -> None:
    with pytest.raises(RuntimeError, match=r"Expected one of cpu, cuda, .* device type at start of device string: foo"):
        minitorch.device("foo")
    with pytest.raises(TypeError, match=r"device\(\) received an invalid combination of arguments - got \(float\)"):
        minitorch.device(3.0)


def test_a_bare_number_is_a_gpu() -> None:
    assert repr(minitorch.device(1)) == "device(type='cuda', index=1)"


def test_the_context_manager_nests_and_restores() -> None:
    for module in (torch, minitorch):
        with module.device("cpu"), module.device("cpu"):
            assert module.get_default_device() == module.device("cpu")
        assert module.get_default_device() == module.device("cpu")


def test_a_gpu_that_is_not_there() -> None:
    for module in (torch, minitorch):
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            module.ones(2, device="cuda")
