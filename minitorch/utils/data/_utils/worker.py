"""What runs in a worker process of a DataLoader: it gets indices, and gives batches back."""

from __future__ import annotations

import contextlib
import queue
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from minitorch._utils import ExceptionWrapper
from minitorch.random import manual_seed
from minitorch.utils.data._utils.fetch import Fetcher
from minitorch.utils.data._utils.transfer import send


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What a worker knows of itself: its number, how many there are, its seed, and its copy of the dataset.

    The last two say that it is a process: there are no workers that are threads, with generators of their own.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: None = None
    worker_method: str = "multiprocessing"


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process of a DataLoader, who it is; None elsewhere.

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.get_worker_info
    """
    return _info


class Exhausted:
    """Sent in place of a batch: this worker's copy of an IterableDataset has ended."""


@dataclass
class WorkerTask:
    """What a worker is started with."""

    dataset: Any
    batched: bool
    collate: Callable[[Any], Any]
    drop_last: bool
    base_seed: int
    init: Callable[[int], Any] | None
    number: int
    count: int


RESTART = "restart"


def run_worker(task: WorkerTask, connection: Connection, others: Sequence[Connection]) -> None:
    """Fetches batches until the other end says None or is closed.

    `others` are ends of pipes that a forked process has inherited: as long as they are open here too, nobody notices
    when the main process closes them by dying.
    """
    global _info
    for each in others:
        each.close()
    seed = task.base_seed + task.number
    _seed_all(seed, task)
    _info = WorkerInfo(task.number, task.count, seed, task.dataset)
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, requests), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):  # which reaches the main process too
        _serve(task, connection, requests)


def _serve(task: WorkerTask, connection: Connection, requests: queue.SimpleQueue[Any]) -> None:
    where = f"in DataLoader worker process {task.number}"
    failure: ExceptionWrapper | None = None
    fetch: Any = None
    try:
        if task.init is not None:
            task.init(task.number)
        fetch = _fetcher(task)
    except Exception as error:
        failure = ExceptionWrapper(error, where)
    while (request := requests.get()) is not None:
        if request == RESTART:
            fetch = _fetcher(task)
            continue
        number, index = request
        try:
            batch = failure or fetch(index)
        except Exception as error:
            ended = isinstance(error, StopIteration) and fetch.stream is not None
            batch = Exhausted() if ended else ExceptionWrapper(error, where)
        _send(connection, number, batch, where)


def _fetcher(task: WorkerTask) -> Fetcher:
    return Fetcher(task.dataset, task.batched, task.collate, task.drop_last)


def _receive(connection: Connection, requests: queue.SimpleQueue[Any]) -> None:
    """Takes requests off the pipe at once, so that the main process never waits to get rid of one."""
    request: Any = ()
    while request is not None:
        try:
            request = connection.recv()
        except (EOFError, OSError):
            request = None
        requests.put(request)


def _send(connection: Connection, number: Any, batch: Any, where: str) -> None:
    try:
        send(connection, (number, batch))
    except BrokenPipeError:
        pass  # nobody is there any more; the next request is the end
    except Exception as error:  # what can't be pickled
        send(connection, (number, ExceptionWrapper(error, where)))


def _seed_all(seed: int, task: WorkerTask) -> None:
    """Seeds all generators. NumPy's gets other numbers, derived from the same."""
    import numpy as np

    random.seed(seed)
    manual_seed(seed)
    np.random.seed(_generate_state(task.base_seed, task.number))


def _generate_state(base_seed: int, worker_id: int) -> Any:
    """The four numbers that seed NumPy's generator in a worker, which packages ask for to seed others."""
    import numpy as np

    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(words).generate_state(4)
