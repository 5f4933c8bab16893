"""The worker processes of a DataLoader, seen from the process that started them."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import multiprocessing
import os
import pickle
import signal
import time
import warnings
from collections import deque
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, NoReturn

from minitorch.utils.data._utils.transfer import receive
from minitorch.utils.data._utils.worker import RESTART, WorkerTask, run_worker

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
        self.connections: list[Connection] = []
        self.processes: list[Any] = []
        self.messages: deque[tuple[tuple[int, int], Any]] = deque()
        self.alive = True
        self.owner = os.getpid()
        self.epoch = 0
        for number in range(loader.num_workers):
            here, there = context.Pipe()
            task = WorkerTask(
                loader.dataset,
                loader._auto_collation,
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
            _start(process)
            there.close()
            self.processes.append(process)

    def begin_pass(self) -> None:
        """Forgets what was asked for until now, and has all workers start again with the dataset."""
        self.epoch += 1
        self.messages.clear()
        if self.epoch > 1:
            for worker in range(len(self.connections)):
                self._send(worker, RESTART)

    def send(self, worker: int, number: int, index: Any) -> None:
        """Asks a worker for a batch."""
        self._send(worker, ((self.epoch, number), index))

    def _send(self, worker: int, message: Any) -> None:
        # Of a worker that has died `receive` tells when its batch is wanted.
        with contextlib.suppress(BrokenPipeError):
            self.connections[worker].send(message)

    def receive(self, active: list[bool]) -> tuple[int, Any]:
        """Waits for the next batch of this pass, with its number.

        Raises RuntimeError when `timeout` seconds pass, and when active workers have died, which are active no more.
        """
        while True:
            while not self.messages:
                self._wait(active)
            (epoch, number), batch = self.messages.popleft()
            if epoch == self.epoch:  # else left over from a pass that was given up
                return number, batch

    def _wait(self, active: list[bool]) -> None:
        connections = list(itertools.compress(self.connections, active))
        sentinels = {self.processes[worker].sentinel: worker for worker, is_active in enumerate(active) if is_active}
        ready = wait([*connections, *sentinels], self.timeout or None)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {self.timeout} seconds")
        for connection in connections:
            if connection in ready:
                with contextlib.suppress(EOFError, OSError):
                    self.messages.append(receive(connection))
        if not self.messages:  # some are dead, or about to be
            self._tell_who_died([sentinels[each] for each in wait(sentinels)], active)

    def _tell_who_died(self, dead: list[int], active: list[bool]) -> NoReturn:
        for worker in dead:
            active[worker] = False
            self.processes[worker].join()
        pids = ", ".join(str(self.processes[worker].pid) for worker in dead)
        cause = RuntimeError(_how_it_ended(self.processes[dead[0]]))
        raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly") from cause

    def close(self) -> None:
        """Stops the workers; those that don't stop within a second or so are terminated.

        In a forked process, which inherits this object, they are another process's: then nothing happens.
        """
        if not self.alive or os.getpid() != self.owner:
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


def _start(process: Any) -> None:
    try:
        process.start()
    except (TypeError, AttributeError, pickle.PicklingError):
        warnings.warn(
            "Got pickle error when attempting to start a worker Process. This might be because the worker Process "
            "arguments are not picklable. Python 3.14+ changed the multiprocessing start method in non-Mac POSIX "
            "platforms to 'forkserver', which requires the worker Process arguments to be picklable. You can also try "
            "multiprocessing.set_start_method('fork').",
            stacklevel=7,
        )
        raise


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
