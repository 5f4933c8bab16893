"""Files whose tensors go to another device when they are read, with GPUs."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest

import minitorch
from minitorch.cuda import simulate


@pytest.fixture(autouse=True)
def two_gpus() -> Iterator[None]:
    simulate(2)
    yield
    simulate(0)


def file_of(value: Any) -> io.BytesIO:
    file = io.BytesIO()
    minitorch.save(value, file)
    file.seek(0)
    return file


def read(value: Any, map_location: Any = None) -> Any:
    return minitorch.load(file_of(value), map_location=map_location)


ONE, TWO = "cuda:0", "cuda:1"
PLACES: list[tuple[str, Any, str]] = [
    ("cpu", None, "cpu"),
    (TWO, None, TWO),
    ("cpu", "cuda", ONE),
    ("cpu", TWO, TWO),
    ("cpu", minitorch.device(TWO), TWO),
    ("cpu", b"cuda:1", TWO),
    (TWO, "cpu", "cpu"),
    (TWO, minitorch.device("cpu"), "cpu"),
    (TWO, "meta", "meta"),
    (TWO, {TWO: ONE}, ONE),
    (TWO, {ONE: "cpu"}, TWO),
    ("cpu", {"cpu": TWO}, TWO),
    (TWO, lambda storage, location: None, TWO),
    (TWO, lambda storage, location: storage, "cpu"),
    ("cpu", lambda storage, location: storage.cuda(1), TWO),
    ("cpu", lambda storage, location: storage.cuda(), ONE),
    (TWO, lambda storage, location: storage.to(device=ONE) if location == TWO else None, ONE),
]


@pytest.mark.parametrize(("where", "map_location", "expected"), PLACES)
def test_where_a_tensor_is_put(where: str, map_location: Any, expected: str) -> None:
    x = minitorch.arange(6.0, device=where).reshape(2, 3).t().requires_grad_()
    y = read(x, map_location)
    assert (str(y.device), y.requires_grad, y.stride()) == (expected, True, x.stride())
    if expected != "meta":
        assert y.tolist() == x.tolist()


def test_a_function_is_told_where_the_tensor_was() -> None:
    seen = []

    def place(storage: Any, location: str) -> Any:
        seen.append((str(storage.device), location, storage.nbytes()))
        return storage

    read([minitorch.ones(2), minitorch.ones(3, device=TWO)], place)
    assert seen == [("cpu", "cpu", 8), ("cpu", TWO, 12)]


def test_views_share_their_memory_there_too() -> None:
    x = minitorch.zeros(2, 3, device=ONE)
    a, b = read([x, x[1]], TWO)
    b.fill_(7)
    assert a.tolist() == [[0.0] * 3, [7.0] * 3]


def test_a_model_trained_on_a_gpu_goes_on_on_the_cpu() -> None:
    nn: Any = minitorch.nn
    model = nn.Linear(2, 3).to(TWO)
    optimizer = minitorch.optim.Adam(model.parameters())
    model(minitorch.ones(1, 2, device=TWO)).sum().backward()
    optimizer.step()
    file = file_of({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    state = minitorch.load(file, map_location="cpu")
    other = nn.Linear(2, 3)
    other.load_state_dict(state["model"])
    again = minitorch.optim.Adam(other.parameters())
    again.load_state_dict(state["optimizer"])
    for network, steps in ((model, optimizer), (other, again)):
        network.zero_grad()
        network(minitorch.ones(1, 2, device=network.weight.device)).sum().backward()
        steps.step()
    assert minitorch.equal(model.weight.cpu(), other.weight)
    assert str(other.weight.device) == "cpu"


def test_a_gpu_that_isnt_there() -> None:
    file = file_of(minitorch.ones(2, device=TWO))
    simulate(1)
    with pytest.raises(RuntimeError) as caught:
        minitorch.load(file)
    assert str(caught.value) == (
        "Attempting to deserialize object on CUDA device 1 but torch.cuda.device_count() is 1. Please use torch.load "
        "with map_location to map your storages to an existing device."
    )
    simulate(0)
    file.seek(0)
    with pytest.raises(RuntimeError, match=r"torch.cuda.is_available\(\) is False"):
        minitorch.load(file)
    file.seek(0)
    assert minitorch.load(file, map_location="cpu").tolist() == [1.0, 1.0]


def test_torch_reads_what_was_on_a_gpu() -> None:
    torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")
    read_there = torch.load(file_of(minitorch.ones(2, device=TWO)), map_location="cpu")
    assert read_there.tolist() == [1.0, 1.0]
    seen = []
    torch.load(
        file_of(minitorch.ones(2, device=TWO)), map_location=lambda storage, place: seen.append(place) or storage
    )
    assert seen == [TWO]
