"""Page-locked memory: what pins it, what is pinned, and what happens without a GPU."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import minitorch
from minitorch.cuda import simulate
from minitorch.utils.data import DataLoader
from tests.same import errors, exactly_the_same


class Pair(NamedTuple):
    image: Any
    label: Any


@pytest.fixture
def gpu() -> Iterator[None]:
    simulate(1)
    yield
    simulate(0)


@exactly_the_same
def test_without_a_gpu_nothing_can_be_pinned(lib: Any) -> Any:
    refused = errors(
        lambda: lib.ones(2).pin_memory(),
        lambda: lib.ones(2).untyped_storage().pin_memory(),
        lambda: lib.empty(2, pin_memory=True),
        lambda: lib.rand(2, pin_memory=True),
        lambda: lib.empty(2, device="meta").pin_memory(),
    )
    pinned = lib.ones(2).is_pinned(), lib.ones(2).untyped_storage().is_pinned()
    return refused, pinned, lib.empty(2, device="meta", pin_memory=True).is_meta


@exactly_the_same
def test_a_loader_without_a_gpu_warns(lib: Any) -> Any:
    with pytest.warns(UserWarning, match="pin_memory") as caught:
        (batch,) = lib.utils.data.DataLoader(lib.arange(4), 4, pin_memory=True)
    assert not batch.is_pinned()
    return [str(each.message) for each in caught]


@pytest.mark.usefixtures("gpu")
def test_a_pinned_tensor_is_a_copy_that_knows_it() -> None:
    x = minitorch.arange(6.0).reshape(2, 3).t()
    pinned = x.pin_memory()
    assert pinned.is_pinned()
    assert not x.is_pinned()
    assert (pinned.stride(), pinned.tolist()) == (x.stride(), x.tolist())
    assert pinned.pin_memory() is pinned
    assert pinned[1:, :1].is_pinned()
    assert not pinned.clone().is_pinned()
    assert not pinned.to("cuda").is_pinned()
    assert pinned.to("cuda", non_blocking=True).tolist() == x.tolist()
    assert x.untyped_storage().pin_memory().is_pinned()
    assert minitorch.empty(0).pin_memory().is_pinned()


@pytest.mark.usefixtures("gpu")
def test_pinned_tensors_are_made_and_keep_their_history() -> None:
    assert minitorch.zeros(2, 3, pin_memory=True).tolist() == [[0.0] * 3] * 2
    assert minitorch.zeros(2, 3, pin_memory=True).is_pinned()
    assert minitorch.randn(2, pin_memory=True).is_pinned()
    assert minitorch.tensor([1, 2], pin_memory=True).is_pinned()
    x = minitorch.ones(2, requires_grad=True)
    (x.pin_memory() * 3).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 3.0]
    for run in (lambda: minitorch.ones(2, device="cuda", pin_memory=True), lambda: x.detach().cuda().pin_memory()):
        with pytest.raises(RuntimeError, match="dense CPU tensors can be pinned"):
            run()


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_pins_its_batches(workers: int) -> None:
    samples = [({"a": minitorch.tensor(float(n)), "name": "x"}, Pair(minitorch.ones(2) * n, n)) for n in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batches = list(DataLoader(samples, 2, pin_memory=True, num_workers=workers))
    assert len(batches) == 2
    for first, second in batches:
        assert first["a"].is_pinned()
        assert first["name"] == ["x", "x"]
        assert isinstance(second, Pair)
        assert second.image.is_pinned()
        assert second.label.is_pinned()
    assert batches[1][1].label.tolist() == [2, 3]
