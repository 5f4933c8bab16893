"""The meta device as a user sees it: tensors and modules without memory. The ops are in `test_meta_ops.py`."""

from __future__ import annotations

import copy
import io
import pickle
import time
from collections.abc import Callable
from typing import Any

import pytest

import minitorch
from tests.same import exactly_the_same

nn: Any = minitorch.nn

HUGE = 1 << 20  # a square of so many elements takes 4 TiB

TEXTS: list[Callable[[Any], Any]] = [
    lambda lib: lib.empty(2, 3, device="meta"),
    lambda lib: lib.empty(2, 3, device="meta:1", dtype=lib.int32),
    lambda lib: lib.zeros((), device="meta"),
    lambda lib: lib.empty(0, device="meta", requires_grad=True),
    lambda lib: lib.ones(2, device="meta", requires_grad=True) * 2,
    lambda lib: lib.nn.Parameter(lib.empty(2, device="meta")),
    lambda lib: lib.nn.Linear(2, 3, device="meta").weight,
    lambda lib: lib.empty(2, 3, device="meta").untyped_storage(),
    lambda lib: lib.empty(2, 3, device="meta").type(),
    lambda lib: lib.ones(2, 3).to("meta"),
    lambda lib: lib.ones(2, 3, requires_grad=True).to("meta"),
    lambda lib: lib.empty(2, 3, device="meta").copy_(lib.ones(2, 3)),
    lambda lib: lib.tensor(1.0) + lib.empty(2, device="meta"),
    lambda lib: lib.tensor([[1, 2]], device="meta"),
    lambda lib: lib.rand(2, 3, device="meta"),
    lambda lib: lib.randperm(4, device="meta"),
    lambda lib: lib.empty(2, 3, device="meta").normal_(),
    lambda lib: lib.empty(2, 3, device="meta")[1].storage_offset(),
    lambda lib: lib.empty(2, 3, device="meta").data_ptr(),
    lambda lib: lib.empty(2, 3, device="meta").untyped_storage().data_ptr(),
    lambda lib: lib.empty(2, 3, device="meta").untyped_storage().nbytes(),
    lambda lib: lib.empty(2, 3, device="meta").is_shared(),
    lambda lib: lib.empty(2, 3, device="meta").get_device(),
    lambda lib: lib.empty(2, 3, device="meta").new(4),
    lambda lib: copy.deepcopy(lib.empty(2, 3, device="meta", requires_grad=True)),
    lambda lib: lib.nn.Linear(2, 3, device="meta").to_empty(device="cpu").weight.device,
    lambda lib: lib.nn.Linear(2, 3).to("meta").bias,
    lambda lib: list(lib.empty(2, 3, device="meta")),
]

ERRORS: list[Callable[[Any], Any]] = [
    lambda lib: lib.empty((), device="meta").item(),
    lambda lib: bool(lib.empty((), device="meta")),
    lambda lib: float(lib.empty((), device="meta")),
    lambda lib: 1 in lib.empty(2, device="meta"),
    lambda lib: lib.empty(2, device="meta").tolist(),
    lambda lib: lib.empty(2, device="meta").cpu(),
    lambda lib: lib.ones(2).copy_(lib.empty(2, device="meta")),
    lambda lib: lib.empty(2, device="meta").numpy(),
    lambda lib: lib.ones(2) + lib.empty(2, device="meta"),
    lambda lib: lib.empty(2, device="meta") + lib.ones(2),
    lambda lib: lib.masked_select(*(lib.empty(2, device="meta", dtype=kind) for kind in (lib.int32, lib.bool))),
    lambda lib: lib.empty(2, 3, device="meta").nonzero(),
    lambda lib: lib.argwhere(lib.empty(2, 3, device="meta")),
    lambda lib: lib.where(lib.empty(2, 3, device="meta")),
    lambda lib: lib.empty(2, 3, device="meta")[:, lib.empty(3, device="meta", dtype=lib.bool)],
    lambda lib: lib.empty(2, 3, device="meta").unique(),
    lambda lib: lib.empty(2, 3, device="meta").unique(dim=0),
    lambda lib: lib.empty(2, 3, device="meta").unique_consecutive(dim=0),
    lambda lib: lib.empty(2, 3, device="meta").equal(lib.empty(2, 3, device="meta")),
    lambda lib: lib.empty(2, 3, device="meta").view(4),
    lambda lib: lib.empty(2, device="meta").share_memory_(),
    lambda lib: lib.Tensor(2, 3, device="meta"),
    lambda lib: lib.nn.Linear(2, 3, device="meta").to("cpu"),
]


@pytest.mark.parametrize("number", range(len(TEXTS)))
@exactly_the_same
def test_what_is_printed(lib: Any, number: int) -> Any:
    return repr(TEXTS[number](lib))


@pytest.mark.parametrize("number", range(len(ERRORS)))
@exactly_the_same
def test_what_is_refused(lib: Any, number: int) -> Any:
    with pytest.raises((RuntimeError, TypeError)) as caught:
        ERRORS[number](lib)
    return type(caught.value), str(caught.value)


def test_shapes_that_clash_are_refused_as_on_the_cpu() -> None:
    found = []
    for where in ("cpu", "meta"):
        a, b = minitorch.empty(2, 3, device=where), minitorch.empty(2, device=where)
        for run in (lambda a=a: a @ a, lambda a=a, b=b: a + b, lambda a=a: minitorch.cat([a, a.T])):
            with pytest.raises(RuntimeError) as caught:
                run()
            found.append(str(caught.value))
    assert found[:3] == found[3:]


def test_files_go_both_ways() -> None:
    torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")
    for one, other in ((torch, minitorch), (minitorch, torch), (minitorch, minitorch)):
        file = io.BytesIO()
        one.save(one.empty(2, 3, device="meta", dtype=one.float64).t().requires_grad_(), file)
        file.seek(0)
        read = other.load(file)
        assert (read.shape, read.stride(), str(read.dtype)) == ((3, 2), (1, 3), "torch.float64")
        assert read.is_meta
        assert read.requires_grad
    assert pickle.loads(pickle.dumps(minitorch.empty(2, device="meta"))).is_meta


def test_a_file_is_read_without_its_numbers() -> None:
    file = io.BytesIO()
    minitorch.save(nn.Linear(2, 3).state_dict(), file)
    file.seek(0)
    state = minitorch.load(file, map_location="meta")
    assert [str(each.device) for each in state.values()] == ["meta", "meta"]
    model = nn.Linear(2, 3, device="meta")
    file.seek(0)
    model.load_state_dict(minitorch.load(file), assign=True)
    assert str(model(minitorch.ones(2)).device) == "cpu"


def test_the_size_costs_nothing() -> None:
    start = time.perf_counter()
    a = minitorch.rand(HUGE, HUGE, device="meta", requires_grad=True)
    b = nn.functional.layer_norm((a @ a.T).softmax(1) + a.exp().sum(0), (HUGE,)).transpose(0, 1).reshape(HUGE, -1)
    b[:, 1:].cumsum(0).sort(1).values.mean().backward()
    assert a.grad is not None
    assert (a.grad.shape, a.grad.device.type) == ((HUGE, HUGE), "meta")
    assert minitorch.arange(10**12, device="meta").shape == (10**12,)
    assert time.perf_counter() - start < 10


def test_a_model_is_trained_without_numbers() -> None:
    with minitorch.device("meta"):
        model = nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(10)
        )
        images, labels = minitorch.rand(4, 3, 12, 12), minitorch.empty(4, dtype=minitorch.int64)
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer = minitorch.optim.AdamW(model.parameters())
    loss.backward()
    optimizer.step()
    assert {str(each.grad.device) for each in model.parameters() if each.grad is not None} == {"meta"}
    assert (loss.shape, model[-1].weight.shape) == ((), (10, 200))


def test_views_share_memory_that_isnt_there() -> None:
    x = minitorch.empty(4, 6, device="meta")
    y = x[1:, ::2]
    assert (y.stride(), y.storage_offset(), y._base is x) == ((6, 2), 6, True)
    version = x._version
    y.add_(1)
    assert x._version == version + 1
    assert x.view(24).untyped_storage()._bytes is x.untyped_storage()._bytes
    assert minitorch.empty(2, device="meta").untyped_storage() is not x.untyped_storage()


def test_writes_to_shared_memory_are_refused_without_memory_too() -> None:
    x, y = minitorch.empty(3, 3, device="meta"), minitorch.empty(3, 3, device="meta")
    x.add_(y.t())
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x.add_(x.t())
