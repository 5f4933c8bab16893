"""Tensors in shared memory: what two processes see of each other's writes, and what is left behind."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import minitorch
import minitorch.multiprocessing as mp
from minitorch.arrays.shared import shared_memory_of
from tests.same import exactly_the_same

METHODS = ["fork", "spawn"]


@exactly_the_same
def test_moving_to_shared_memory(library: Any) -> Any:
    base = library.arange(12.0).reshape(3, 4)
    view, turned = base[1:, 1], base.t()
    before = [base.is_shared(), view.is_shared(), base.untyped_storage().is_shared()]
    version = base._version
    assert turned.share_memory_() is turned
    base[1, 1] = 50.0
    storage = view.untyped_storage()
    assert storage.share_memory_() is storage
    after = [
        storage.is_shared(),
        base.is_shared(),
        view.is_shared(),
        (base + 1).is_shared(),
        base.clone().is_shared(),
    ]
    offsets = [view.storage_offset(), view.stride(), turned.stride(), base._version - version]
    one_memory = base.data_ptr() == turned.data_ptr() == base.untyped_storage().data_ptr()
    return [before, after, view.tolist(), turned.tolist(), offsets, one_memory]


def test_moving_twice_keeps_the_memory() -> None:
    tensor = minitorch.ones(3).share_memory_()
    address = tensor.data_ptr()
    assert tensor.share_memory_().data_ptr() == address
    assert tensor[1:].share_memory_().data_ptr() == address + 4


@pytest.fixture
def frozen() -> Iterator[Callable[[], None]]:
    """What a program does before it forks, so that collections write to no page that the processes share."""
    yield gc.freeze
    gc.unfreeze()


def test_tensors_that_the_collector_has_frozen_move_along(frozen: Callable[[], None]) -> None:
    module, tensor = minitorch.nn.Linear(2, 2), minitorch.arange(4.0)
    view, alias, other = tensor[1:3], tensor.detach(), minitorch.zeros(4)
    other.data = tensor
    loaded = pickle.loads(pickle.dumps(tensor[2:]))
    looking = minitorch.zeros(0).set_(loaded.untyped_storage())
    frozen()
    module.share_memory()
    assert all(shared_memory_of(each._array) is not None for each in module.parameters())
    tensor.resize_(8)[1] = 50.0
    assert [view.tolist(), alias.tolist(), other.tolist()] == [
        [50.0, 2.0],
        [0.0, 50.0, 2.0, 3.0],
        [0.0, 50.0, 2.0, 3.0],
    ]
    assert tensor.data_ptr() == tensor.untyped_storage().data_ptr()
    loaded.untyped_storage().share_memory_()
    loaded.fill_(7.0)
    assert looking[-2:].tolist() == [7.0, 7.0]


def test_a_storage_forgets_tensors_that_are_gone_or_have_left() -> None:
    tensor, other = minitorch.zeros(4), minitorch.ones(4)
    for _ in range(100):
        tensor[1:].detach()
    storage = tensor.untyped_storage()
    assert len(storage._tensors) == 1
    for _ in range(100):
        tensor.data = other
        tensor.data = other.clone()
    assert len(other.untyped_storage()._tensors) == 2
    address = tensor.data_ptr()
    other.share_memory_()
    assert tensor.data_ptr() == address


@pytest.mark.parametrize("dtype", ["bool", "int64", "float16", "bfloat16", "complex64"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_every_dtype_and_shape(dtype: str, shape: tuple[int, ...]) -> None:
    tensor = minitorch.ones(shape, dtype=getattr(minitorch, dtype))
    assert tensor.share_memory_().tolist() == minitorch.ones(shape, dtype=tensor.dtype).tolist()
    assert tensor.shape == shape


@exactly_the_same
def test_a_module_and_its_gradients(library: Any) -> Any:
    library.manual_seed(0)
    module = library.nn.Linear(2, 2)
    module(library.ones(1, 2)).sum().backward()
    names = [id(parameter) for parameter in module.parameters()]
    module.share_memory()
    return [
        [parameter.is_shared() for parameter in module.parameters()],
        [parameter.grad.is_shared() for parameter in module.parameters()],
        names == [id(parameter) for parameter in module.parameters()],
    ]


def receive_and_answer(requests: Any, answers: Any, known: Any, done: Any) -> None:
    received = requests.get()
    received.add_(100)
    known.mul_(2)
    answers.put([received.is_shared(), known.is_shared(), received.stride(), received.requires_grad])
    parameter = minitorch.nn.Parameter(minitorch.ones(2, dtype=minitorch.bfloat16))
    answers.put((parameter, minitorch.zeros(0, 2), [minitorch.arange(3), "text"]))
    done.wait(60)


@pytest.mark.parametrize("method", METHODS)
def test_queues_share_memory(method: str) -> None:
    context = mp.get_context(method)
    requests, answers, done = context.Queue(), context.Queue(), context.Event()
    base, known = minitorch.arange(6.0).reshape(2, 3), minitorch.ones(3)
    known.share_memory_()
    process = context.Process(target=receive_and_answer, args=(requests, answers, known, done))
    process.start()
    requests.put(base[:, 1:].t())
    assert answers.get(timeout=60) == [True, True, (1, 3), False]
    parameter, empty, (numbers, text) = answers.get(timeout=60)
    done.set()
    process.join(60)
    assert process.exitcode == 0
    assert base.tolist() == [[0, 101, 102], [3, 104, 105]]
    assert known.tolist() == [2, 2, 2]
    assert type(parameter) is minitorch.nn.Parameter and parameter.requires_grad and parameter.tolist() == [1, 1]
    assert parameter.is_shared() and parameter.dtype is minitorch.bfloat16
    assert (tuple(empty.shape), numbers.tolist(), text) == ((0, 2), [0, 1, 2], "text")


def test_tensors_sent_together_stay_together() -> None:
    here, there = mp.Pipe()
    base = minitorch.zeros(4)
    here.send([base, base[2:]])
    first, second = there.recv()
    second.fill_(7)
    assert first.tolist() == base.tolist() == [0, 0, 7, 7]


@exactly_the_same
def test_what_has_a_history_is_not_sent(library: Any) -> Any:
    module = __import__(f"{library.__name__}.multiprocessing", fromlist=["Pipe"])
    here, _ = module.Pipe()
    with pytest.raises(RuntimeError) as caught:
        here.send(library.ones(2, requires_grad=True) * 2)
    return type(caught.value).__name__, str(caught.value)


def open_memory() -> int:
    """How many descriptors of shared memory this process holds."""
    gc.collect()
    links = [os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()]
    return sum("minitorch" in link for link in links)


@pytest.mark.turns(8)
@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="only Linux lists memory among the open files")
def test_nothing_is_left_behind() -> None:
    before = open_memory()
    shared = [minitorch.ones(1000).share_memory_() for _ in range(20)]
    views = [each[1:] for each in shared]
    assert open_memory() > before
    del shared
    assert open_memory() > before and views[3].tolist() == [1] * 999
    del views
    assert open_memory() == before
    assert not any("minitorch" in each.name for each in Path("/dev/shm").iterdir())


def test_strategies() -> None:
    assert mp.get_sharing_strategy() == "file_descriptor"
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(NotImplementedError, match="file_system"):
        mp.set_sharing_strategy("file_system")
    with pytest.raises(AssertionError, match="invalid sharing strategy 'other'"):
        mp.set_sharing_strategy("other")


def fill(index: int, tensor: Any, how: str) -> None:
    tensor[index] = index + 1
    if index == 1 and how == "raise":
        raise ValueError("something")
    if index == 1 and how == "exit":
        os._exit(3)
    if index == 1 and how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if index == 0 and how != "return":
        time.sleep(60)


@pytest.mark.turns(8)
def test_spawn() -> None:
    tensor = minitorch.zeros(2).share_memory_()
    assert mp.spawn(fill, (tensor, "return"), nprocs=2) is None
    assert tensor.tolist() == [1, 2]


@pytest.mark.parametrize(
    "how, kind, words",
    [
        ("raise", mp.ProcessRaisedException, r"\n\n-- Process 1 terminated with the following error:\nTraceback .*"),
        ("exit", mp.ProcessExitedException, "process 1 terminated with exit code 3"),
        ("kill", mp.ProcessExitedException, "process 1 terminated with signal SIGKILL"),
    ],
)
def test_one_failing_process_ends_all(how: str, kind: type[Exception], words: str) -> None:
    context = mp.start_processes(fill, (minitorch.zeros(2).share_memory_(), how), 2, join=False, start_method="fork")
    assert context is not None and len(context.pids()) == 2
    with pytest.raises(kind, match=words) as caught:
        while not context.join():
            pass
    assert caught.value.error_index == 1  # type: ignore[attr-defined]
    assert caught.value.error_pid == context.pids()[1]  # type: ignore[attr-defined]
    assert context.processes[0].exitcode == -signal.SIGTERM


def test_spawn_with_another_method_warns() -> None:
    with pytest.warns(FutureWarning, match="This method only supports start_method=spawn"):
        mp.spawn(fill, (minitorch.zeros(1).share_memory_(), "return"), start_method="fork")
