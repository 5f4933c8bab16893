"""Settings and the printed form of numbers, beside minitorch's."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.mytorch.compare import ORACLES, same


@pytest.fixture(autouse=True)
def defaults(mytorch: ModuleType) -> Any:
    """Both libraries print and create as usual before and after each test."""
    yield
    for library in [mytorch, *ORACLES]:
        library.set_printoptions(profile="default")
        library.set_default_dtype(library.float32)
        library.set_default_device(None)


@pytest.mark.part("mytorch.checks:refuse")
def test_a_fault_is_refused_in_the_words_given(mytorch: ModuleType) -> None:
    """A RuntimeError, if no other is named. What is false or empty is no fault."""
    for fault, error in ((True, RuntimeError), (1, IndexError), ([0], TypeError)):
        with pytest.raises(error, match=r"^so it is$"):
            mytorch.checks.refuse(fault, "so it is", *([] if error is RuntimeError else [error]))
    for nothing in (False, 0, None, []):
        mytorch.checks.refuse(nothing, "so it is")


@pytest.mark.part("mytorch.settings:parse_device")
@pytest.mark.parametrize(
    "text", ["cpu", "cuda", "cuda:0", "cuda:12", "cpu:3", "cuda:01", "cuda:", "cuda:x", "", "cuda:-1", "cuda:1:2"]
)
def test_texts_of_devices(mytorch: ModuleType, text: str) -> None:
    same(lambda lib: lib.device(text), mytorch)


@pytest.mark.part("mytorch.settings:parse_device")
def test_an_unknown_type_is_refused_with_those_that_are_known(mytorch: ModuleType) -> None:
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda device type at start of device string: gpu"):
        mytorch.device("gpu:1")
    same(lambda lib: lib.device("cuda", -1), mytorch)


def test_the_default_device_is_that_of_new_tensors(mytorch: ModuleType) -> None:
    same(lambda lib: (lib.set_default_device("cpu"), lib.get_default_device(), lib.zeros(1).device), mytorch)


@pytest.mark.part("mytorch.settings:device.__enter__", "mytorch.settings:device.__exit__")
def test_blocks_nest_and_give_back_what_was_there(mytorch: ModuleType) -> None:
    def steps(lib: Any) -> list[str]:
        seen = []
        one = lib.device("cuda:1")
        with one as entered:
            assert entered is one
            with lib.device("cuda:2"), one:
                seen.append(str(lib.get_default_device()))
            seen.append(str(lib.get_default_device()))
        with lib.device("cuda:2"):
            with one:
                pass
            seen.append(str(lib.get_default_device()))
        try:
            with one:
                raise ValueError
        except ValueError:
            seen.append(str(lib.get_default_device()))
        return seen

    same(steps, mytorch)
    assert steps(mytorch) == ["cuda:1", "cuda:1", "cuda:2", "cpu"]


@pytest.mark.part("mytorch.settings:set_default_dtype")
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float64", "int64", "bool", "uint8"])
def test_default_dtype(mytorch: ModuleType, name: str) -> None:
    same(lambda lib: lib.set_default_dtype(getattr(lib, name)), mytorch)
    same(lambda lib: lib.get_default_dtype(), mytorch)
    same(lambda lib: lib.set_default_dtype("float64"), mytorch)


ARRAYS = {
    "whole": [1.0, -20.0, 300.0],
    "whole with nan": [1.0, float("nan"), float("-inf")],
    "fixed": [[0.5, -1.25], [33.333333, 2.0]],
    "ratio of 1000": [1.5, 1500.0],
    "ratio above": [1.5, 1501.5],
    "above 1e8": [2e8, 3e8],
    "just below 1e8": [2e7 + 0.5, 9e7],
    "below 1e-4": [9e-5, 2e-4],
    "just above 1e-4": [1.1e-4, 2e-4],
    "zeros": [0.0, 0.0],
    "zero and small": [0.0, 1e-5],
    "integers": [[1, -20], [300, 4]],
    "booleans": [True, False],
    "number": 0.1,
    "long": list(range(40)),
    "deep": np.arange(24).reshape(2, 3, 4).tolist(),
    "long and deep": np.arange(2000).reshape(2, 10, 100).tolist(),
    "outlier in the middle": [0.5] * 20 + [1e9] + [0.5] * 20,
    "no elements": np.zeros((2, 0)),
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"precision": 2},
    {"threshold": 10, "edgeitems": 2},
    {"threshold": 0, "edgeitems": 1, "linewidth": 30},
    {"sci_mode": True, "precision": 3},
    {"sci_mode": False},
    {"profile": "short"},
    {"profile": "full", "linewidth": 40},
    {"profile": "of nobody"},
]


@pytest.mark.part(
    "mytorch.printing:needs_scientific",
    "mytorch.printing:Formatter.write",
    "mytorch.printing:edges",
    "mytorch.settings:set_printoptions",
)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_arrays_print_as_tensors_do(mytorch: ModuleType, options: dict[str, Any]) -> None:
    for library in [mytorch, *ORACLES]:
        library.set_printoptions(sci_mode=True)
        library.set_printoptions(**options)
    different = {}
    for name, data in ARRAYS.items():
        for dtype in (None, "float16", "float64"):
            with np.errstate(all="ignore"):
                array = np.asarray(data, dtype)
            ours, *theirs = (str(lib.tensor(array)) for lib in (mytorch, *ORACLES))
            if {ours} != set(theirs):
                different[name, dtype] = ours, theirs
    assert not different
