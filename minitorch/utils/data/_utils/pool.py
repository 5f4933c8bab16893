"""The worker processes of a DataLoader, seen from the process that started them."""

from __future__ import annotations

import importlib
import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, NoReturn

from minitorch.utils.data._utils.transfer import receive
from minitorch.utils.data._utils.worker import RESTART, Exhausted, WorkerError, WorkerTask, run_worker

if TYPE_CHECKING:
    from minitorch.utils.data.dataloader import DataLoader


class WorkerPool:
    """Processes that fetch batches. Each has a pipe of its own: there is no lock that a dying process could keep."""

    def __init__(self, loader: DataLoader[Any], base_seed: int) -> None:
        context: Any = loader.multiprocessing_context or multiprocessing.get_context()
        forks = context.get_start_method() == "fork"
        if not forks:  # the dataset is sent: its tensors go through shared memory, rather than a copy to each worker
            importlib.import_module("minitorch.multiprocessing")
        self.timeout = loader.timeout
        self.in_order = loader.in_order
        self.prefetch: int = loader.prefetch_factor or 0
        self.connections: list[Connection] = []
        self.processes: list[Any] = []
        self.alive = True
        self.epoch = 0
        for number in range(loader.num_workers):
            here, there = context.Pipe()
            task = WorkerTask(
                loader.dataset,
                loader.batch_sampler is not None,
                loader.collate_fn,
                loader.drop_last,
                base_seed,
                loader.worker_init_fn,
                number,
                loader.num_workers,
            )
            self.connections.append(here)
            inherited = list(self.connections) if forks else []
            process = context.Process(target=run_worker, args=(task, there, inherited), daemon=True)
            process.start()
            there.close()
            self.processes.append(process)

    def run(self, indices: Iterator[Any], keep: bool) -> Iterator[Any]:
        """The batches of one pass. `keep` leaves the workers running afterwards."""
        self.epoch += 1
        if self.epoch > 1:
            for connection in self.connections:
                connection.send(RESTART)
        first = _Pass(self, indices)
        return self._batches(first, keep)

    def _batches(self, current: _Pass, keep: bool) -> Iterator[Any]:
        try:
            yield from current
        finally:
            if not keep:
                self.close()

    def receive(self) -> list[tuple[int, Any]]:
        """Waits for messages of the workers: (number of the worker, message).

        Raises RuntimeError when one has died or when `timeout` seconds pass.
        """
        sentinels = {process.sentinel: number for number, process in enumerate(self.processes)}
        ready = wait([*self.connections, *sentinels], self.timeout or None)
        if not ready:
            self.close()
            raise RuntimeError(f"DataLoader timed out after {self.timeout} seconds")
        messages = []
        for number, connection in enumerate(self.connections):
            if connection in ready:
                try:
                    messages.append((number, receive(connection)))
                except (EOFError, OSError):
                    self._fail()
        if not messages:
            self._fail()
        return messages

    def _fail(self) -> NoReturn:
        for process in self.processes:
            process.join(0.1)
        dead = [process for process in self.processes if not process.is_alive()]
        cause = RuntimeError(_how_it_ended(dead[0])) if dead else None
        self.close()
        pids = ", ".join(str(process.pid) for process in dead)
        raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly") from cause

    def close(self) -> None:
        """Stops the workers; those that don't stop within a second or so are terminated."""
        if not self.alive:
            return
        self.alive = False
        for connection in self.connections:
            try:
                connection.send(None)
                connection.close()
            except OSError:
                continue  # that worker is gone already
        deadline = time.monotonic() + 1.0
        for process in self.processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.terminate()
                process.join()

    def __del__(self) -> None:
        if "alive" in self.__dict__:
            self.close()


def _how_it_ended(process: Any) -> str:
    who, code = f"DataLoader worker (pid {process.pid})", process.exitcode
    if code >= 0:
        return (
            f"{who} exited unexpectedly with exit code {code}. Details are lost due to multiprocessing. Rerunning with "
            "num_workers=0 may give better error trace."
        )
    hint = (
        "It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory "
        "limit."
    )
    return f"{who} is killed by signal: {signal.strsignal(-code)}. {hint if -code == signal.SIGBUS else ''}"


class _Pass:
    """One pass: hands out indices, worker after worker, and puts the batches into the order in which it did."""

    def __init__(self, pool: WorkerPool, indices: Iterator[Any]) -> None:
        self.pool = pool
        self.indices = indices
        self.number = 0
        self.owners: dict[int, int] = {}
        """Of each batch that was asked for and not yet yielded: which worker fetches it."""
        self.arrived: dict[int, Any] = {}
        self.order: deque[int] = deque()
        self.turns = deque(range(len(pool.processes)))
        """The workers whose dataset hasn't ended; the first is next."""
        for _ in range(pool.prefetch * len(pool.processes)):
            self._ask()

    def _ask(self) -> None:
        if not self.turns:
            return
        index = next(self.indices, self)
        if index is self:
            return
        worker = self.turns[0]
        self.turns.rotate(-1)
        self.pool.connections[worker].send(((self.pool.epoch, self.number), index))
        self.owners[self.number] = worker
        self.order.append(self.number)
        self.number += 1

    def __iter__(self) -> Iterator[Any]:
        while self.order:
            number = self._wait()
            batch = self.arrived.pop(number)
            worker = self.owners.pop(number)
            self.order.remove(number)
            if isinstance(batch, Exhausted):
                if worker in self.turns:
                    self.turns.remove(worker)
                self._ask()
                continue
            self._ask()
            if isinstance(batch, WorkerError):
                batch.reraise()
            yield batch

    def _wait(self) -> int:
        """The number of the next batch, once it is there."""
        while True:
            if self.pool.in_order and self.order[0] in self.arrived:
                return self.order[0]
            if not self.pool.in_order and self.arrived:
                first: int = next(iter(self.arrived))
                return first
            for _, ((epoch, number), batch) in self.pool.receive():
                if epoch == self.pool.epoch:  # else left over from a pass that was given up
                    self.arrived[number] = batch
