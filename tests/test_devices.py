"""Devices in all their spellings, against torch."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import minitorch
from tests.same import exactly_the_same

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


@pytest.mark.parametrize(
    "spelling", [("cuda:x",), ("cpu", -1), ("cuda:1", 2), ("cuda:01",), ("cuda", "1"), ("cuda", True)]
)
def test_errors(spelling: tuple[Any, ...]) -> None:
    refused_alike(lambda module: module.device(*spelling))


def test_a_device_has_its_number_already() -> None:
    refused_alike(lambda module: module.device(module.device("cuda"), 1))


def refused_alike(run: Callable[[Any], Any]) -> None:
    """Both libraries raise the same error, whatever they list as expected."""
    with pytest.raises((RuntimeError, TypeError)) as expected:
        run(torch)
    with pytest.raises(type(expected.value)) as actual:
        run(minitorch)
    assert str(actual.value).partition("expected")[0] == str(expected.value).partition("expected")[0]


@exactly_the_same
def test_each_thread_has_its_own_default(module: Any) -> Any:
    with ThreadPoolExecutor() as other, module.device("meta"):
        return str(other.submit(module.get_default_device).result()), str(module.get_default_device())


WRONG_CALLS_OF_TO: list[Callable[[Any, Any], Any]] = [
    lambda x, lib: x.to(x, lib.float64),
    lambda x, lib: x.to(lib.float64, "cpu"),
    lambda x, lib: x.to("cpu", x),
    lambda x, lib: x.to(x, dtype=lib.float64),
    lambda x, lib: x.to(x, device="cpu"),
    lambda x, lib: x.to(lib.float64, dtype=lib.float64),
    lambda x, lib: x.to(lib.float64, True, True, True),
    lambda x, lib: x.to(lib.float64, 1),
    lambda x, lib: x.to(lib.float64, non_blocking=1),
    lambda x, lib: x.to("cpu", True),
    lambda x, lib: x.to([1]),
]


@pytest.mark.parametrize("call", WRONG_CALLS_OF_TO)
def test_to_takes_three_forms(call: Callable[[Any, Any], Any]) -> None:
    refused_alike(lambda module: call(module.zeros(2), module))


@exactly_the_same
def test_the_cpu_by_its_number_is_another_device(module: Any) -> Any:
    x = module.zeros(2)
    moved = [x.to(where) for where in ("cpu", module.device("cpu"), x, "cpu:0")]
    return [(each is x, each.device == x.device, each.data_ptr() == x.data_ptr()) for each in moved]


def test_unknown_types_are_refused_with_the_known_ones() -> None:
    with pytest.raises(RuntimeError, match=r"Expected one of cpu, cuda, .* device type at start of device string: foo"):
        minitorch.device("foo")
    with pytest.raises(TypeError, match=r"device\(\) received an invalid combination of arguments - got \(float\)"):
        minitorch.device(3.0)


def test_a_bare_number_is_a_gpu() -> None:
    assert repr(minitorch.device(1)) == "device(type='cuda', index=1)"


@exactly_the_same
def test_the_context_manager_nests_and_restores(module: Any) -> Any:
    with module.device("meta"):
        with module.device("cpu"):
            inside = str(module.get_default_device())
        between = str(module.get_default_device())
    return inside, between, str(module.get_default_device())


@exactly_the_same
def test_a_default_device_moves_what_tensors_are_made_of(module: Any) -> Any:
    x, array, lengths = module.ones(2), np.ones(2), module.tensor([2, 1])
    with module.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `tensor` recommends clone
        made = [module.as_tensor(x), module.asarray(x), module.tensor(x), module.as_tensor(array), module.as_tensor(1)]
        made += [module.as_tensor(x, device="cpu"), x.new_tensor([1]), module.zeros_like(x), module.from_numpy(array)]
        made += [module.Tensor([1.0]), module.FloatTensor([1.0]), module.FloatTensor(2), module.LongTensor(array)]
        packed = module.nn.utils.rnn.pack_padded_sequence(module.ones(2, 2, device="cpu"), lengths)
        made += [packed.batch_sizes, module.nn.utils.rnn.pad_packed_sequence(packed)[1]]
        return [str(each.device) for each in made]


@exactly_the_same
def test_what_cannot_be_had_without_a_copy(module: Any) -> Any:
    refused = []
    for given in (module.ones(2), np.ones(2), [1.0, 2.0]):
        for options in ({"device": "meta"}, {"dtype": module.int32}, {"device": "meta", "dtype": module.int32}):
            with pytest.raises(ValueError) as error:
                module.asarray(given, copy=False, **options)
            refused.append(str(error.value))
    return refused


@exactly_the_same
def test_a_gpu_that_is_not_there(module: Any) -> Any:
    with pytest.raises(AssertionError) as refused:
        module.ones(2, device="cuda")
    return str(refused.value)
