"""GPUs, simulated: what is allowed to mix, where results are, random numbers, memory, and what CuPy doesn't have."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch.arrays import gpus, simulated
from minitorch.arrays.simulated_memory import Device


@pytest.fixture(autouse=True)
def two_gpus() -> Iterator[None]:
    torch.cuda.simulate(2, memory=1 << 24)
    yield
    gc.collect()
    torch.cuda.simulate(0)


def test_only_asgd_keeps_its_numbers_where_the_parameter_is() -> None:
    where = {}
    for name in ("ASGD", "NAdam"):
        parameter = torch.nn.Parameter(torch.ones(2, device="cuda:1"))
        parameter.grad = torch.ones_like(parameter)
        optimizer = getattr(torch.optim, name)([parameter])
        optimizer.step()
        where[name] = {key: str(each.device) for key, each in optimizer.state[parameter].items() if each.ndim == 0}
    assert where == {
        "ASGD": {"step": "cuda:1", "eta": "cuda:1", "mu": "cuda:1"},
        "NAdam": {"step": "cpu", "mu_product": "cpu"},
    }


def printed(tensor: Any) -> list[float]:
    return [round(each, 4) for each in tensor.flatten().tolist()]


def test_each_gpu_has_a_generator_that_can_be_put_back() -> None:
    torch.manual_seed(0)
    one = torch.rand(3, device="cuda:0")
    assert torch.equal(one.cpu(), torch.rand(3, device="cuda:1").cpu())  # each has its own, of the same seed
    state = torch.cuda.get_rng_state()
    assert state.shape == (16,)
    next_numbers = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.rand(3, device="cuda"), next_numbers)
    generator = torch.Generator("cuda").manual_seed(0)
    assert torch.equal(torch.rand(3, device="cuda", generator=generator), one)
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        torch.rand(3, device="cuda", generator=torch.Generator())


def test_results_stay_with_their_inputs_whichever_gpu_is_current() -> None:
    x = torch.ones(2, 2, device="cuda:1", requires_grad=True)
    for context in (torch.cuda.device(0), torch.cuda.device(1), torch.device("cpu")):
        with context:
            y = (x @ x).relu().sum()
            y.backward()
        assert str(y.device) == str(x.grad.device) == "cuda:1"
    assert printed(x.grad) == [12.0] * 4
    with torch.cuda.device(1):
        assert str(torch.zeros(1, device="cuda").device) == "cuda:1"
    with torch.device("cuda:1"):
        assert str(torch.zeros(1).device) == "cuda:1"
    assert torch.cuda.current_device() == 0


def test_to_gives_itself_where_nothing_changes() -> None:
    x = torch.ones(3, device="cuda")
    assert x.to("cuda") is x and x.cuda() is x and x.to("cuda:0") is x
    assert x.to("cuda:0", copy=True) is not x
    moved = x.requires_grad_().to("cuda:1")
    moved.sum().backward()
    assert str(x.grad.device) == "cuda:0"
    target = torch.zeros(3)
    target.copy_(moved.detach())
    assert target.tolist() == [1, 1, 1]


def test_a_thread_has_a_current_gpu_of_its_own() -> None:
    torch.cuda.set_device(1)
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(torch.cuda.current_device()))
    thread.start()
    thread.join()
    torch.cuda.set_device(0)
    assert seen == [0]


def test_threads_compute_on_their_own_gpus_at_the_same_time() -> None:
    together, wrong = threading.Barrier(4), []

    def work(number: int) -> None:
        place = f"cuda:{number % 2}"
        x = torch.full((4, 4), number + 1.0, device=place, requires_grad=True)
        together.wait()
        for step in range(50):
            with torch.cuda.device(step % 2):  # which isn't where the thread computes, every other time
                y = ((x @ x).softmax(1) * x).sum()
                (grad,) = torch.autograd.grad(y, x)
                if (str(y.device), str(grad.device), torch.cuda.current_device()) != (place, place, step % 2):
                    wrong.append((number, step))
            if abs(y.item() - 4 * (number + 1)) > 1e-4 or torch.cuda.current_device() != 0:
                wrong.append((number, step))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == [] and torch.cuda.current_device() == 0


def test_training_gives_its_memory_back_and_equals_the_cpu() -> None:
    def train(device: str) -> list[float]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        data, labels = torch.randn(16, 4).to(device), torch.arange(16).remainder(2).to(device)
        model.to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        losses = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(data), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    assert train("cuda:1") == pytest.approx(train("cpu"), rel=1e-5)
    gc.collect()
    assert torch.cuda.memory_allocated(1) == 0 < torch.cuda.max_memory_allocated(1)


def test_full_memory() -> None:
    held = torch.zeros(1 << 21, device="cuda")  # 8 of 16 MiB
    with pytest.raises(torch.cuda.OutOfMemoryError, match=r"CUDA out of memory. Tried to allocate 8.00 MiB. GPU 0 has"):
        held + (held + 1)
    del held
    gc.collect()
    assert torch.cuda.memory_allocated() == 0


def test_cupys_error_tells_its_sizes() -> None:
    memory = pytest.importorskip("cupy.cuda.memory")
    torch.ones(2, device="cuda")
    error = gpus.out_of_memory(memory.OutOfMemoryError(8 << 20, 0))
    assert str(error).startswith("CUDA out of memory. Tried to allocate 8.00 MiB. GPU 0 has")


@pytest.mark.parametrize(
    ("text", "visible"), [(None, [0, 1, 2]), ("2,0", [2, 0]), ("1,1", []), ("0,7,1", [0]), ("x", []), ("1, -1,0", [1])]
)
def test_visible_gpus(text: str | None, visible: list[int]) -> None:
    assert gpus.visible_devices(text, 3) == visible


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda xp, a: a + np.ones(2), TypeError, "Unsupported type <class 'numpy.ndarray'>"),
        (lambda xp, a: np.asarray(a), TypeError, "Implicit conversion to a NumPy array is not allowed"),
        (lambda xp, a: xp.sum(a, where=a > 0), TypeError, "'where'"),
        (lambda xp, a: xp.add(a, 1, where=a > 0), TypeError, "'where'"),
        (lambda xp, a: xp.maximum.reduce(a), NotImplementedError, "not supported"),
        (lambda xp, a: xp.multiply.at(a, [0], 2), NotImplementedError, "not supported"),
        (lambda xp, a: xp.errstate, AttributeError, "errstate"),
        (lambda xp, a: xp.nditer, AttributeError, "nditer"),
        (lambda xp, a: xp.exp([1.0]), TypeError, "Unsupported type <class 'list'>"),
        (lambda xp, a: xp.asarray(["text"]), ValueError, "Unsupported dtype"),
    ],
)
def test_what_cupy_has_not_is_refused(call: Callable[[Any, Any], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(simulated.xp, simulated.xp.asarray([1.0, 2.0]))


def test_numpys_functions_are_cupys() -> None:
    array = simulated.xp.asarray([1.0, 2.0])
    assert type(np.concatenate([array, array])) is type(np.linalg.norm(array)) is simulated.ndarray
    with pytest.raises(TypeError, match="'where'"):
        np.sum(array, where=True)
    for call in (lambda: np.geomspace(array, 2), lambda: np.concatenate([array, np.ones(2)])):
        with pytest.raises(TypeError, match="no implementation found"):
            call()


def test_what_cupy_does_otherwise() -> None:
    xp = simulated.xp
    array = xp.asarray([1.0, 2.0, 3.0])
    assert type(xp.sum(array)) is type(array[0]) is simulated.ndarray
    assert array[xp.asarray([1, 4])].tolist() == [2.0, 2.0]  # an index that is too large wraps around
    assert xp.asarray([np.inf, np.nan, -1.0]).astype("uint8").tolist() == [255, 0, 0]
    with Device(1), pytest.raises(ValueError, match="Array device must be same as the current device"):
        array + 1


@pytest.mark.needs("cupy")
def test_the_list_of_what_cupy_offers_is_true() -> None:
    from tests.arrays import read_cupy

    found = read_cupy.interface()
    assert {**found, "version": ""} == {**simulated.INTERFACE, "version": ""}
