"""Element types and their promotion, against torch."""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import Any

import pytest

import minitorch
from minitorch import dtypes
from tests.same import attempt, exactly_the_same

pytestmark = pytest.mark.needs("torch")
NAMES = [each.name for each in dtypes.DTYPES]


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="the expected values are torch's")


def test_promotion_of_every_pair(torch) -> None:
    for one, other in itertools.product(NAMES, NAMES):
        expected = torch.promote_types(getattr(torch, one), getattr(torch, other))
        assert repr(minitorch.promote_types(getattr(minitorch, one), getattr(minitorch, other))) == repr(expected)


def test_can_cast_of_every_pair(torch) -> None:
    for one, other in itertools.product(NAMES, NAMES):
        expected = torch.can_cast(getattr(torch, one), getattr(torch, other))
        assert minitorch.can_cast(getattr(minitorch, one), getattr(minitorch, other)) is expected, (one, other)


@pytest.mark.parametrize("name", NAMES)
def test_properties(torch, name: str) -> None:
    ours, theirs = getattr(minitorch, name), getattr(torch, name)
    for attribute in ("is_floating_point", "is_complex", "is_signed", "itemsize"):
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    assert repr(ours) == str(ours) == repr(theirs)
    if theirs.is_complex or name in ("bfloat16", "float32", "float64"):
        assert (repr(ours.to_complex()), repr(ours.to_real())) == (repr(theirs.to_complex()), repr(theirs.to_real()))
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert copy.deepcopy(ours) is ours


@pytest.mark.parametrize("alias", ["float", "double", "half", "long", "int", "short", "bool", "cfloat", "cdouble"])
def test_aliases(torch, alias: str) -> None:
    assert repr(getattr(minitorch, alias)) == repr(getattr(torch, alias))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("info", ["finfo", "iinfo"])
def test_limits(torch, name: str, info: str) -> None:
    try:
        expected = getattr(torch, info)(getattr(torch, name))
    except TypeError as error:
        with pytest.raises(TypeError) as caught:
            getattr(minitorch, info)(getattr(minitorch, name))
        assert str(caught.value) == str(error)
        return
    assert getattr(minitorch, info)(getattr(minitorch, name)) == getattr(minitorch, info)(getattr(minitorch, name))
    actual = getattr(minitorch, info)(getattr(minitorch, name))
    assert repr(actual) == repr(expected)
    for attribute in ("bits", "max", "min", "dtype"):
        assert getattr(actual, attribute) == getattr(expected, attribute), attribute
    if info == "finfo":
        for attribute in ("eps", "tiny", "smallest_normal", "resolution"):
            assert getattr(actual, attribute) == getattr(expected, attribute), attribute


@exactly_the_same
def test_limits_of_pythons_types(library) -> Any:
    floats = [library.finfo(each) for each in (float, complex, library.complex128, library.float32)]
    integers = [library.iinfo(each) for each in (int, library.int64, library.int32)]
    return [one == other for one in (*floats, *integers) for other in (*floats, *integers)]


@exactly_the_same
def test_default_dtype(module) -> Any:
    before = module.get_default_dtype()
    module.set_default_dtype(module.float64)
    try:
        seen = repr(module.get_default_dtype()), repr(module.tensor([1.5])), repr(module.tensor([1]) / 2)
    finally:
        module.set_default_dtype(before)
    return seen, [attempt(module.set_default_dtype, wrong) for wrong in (module.int64, 3)]
