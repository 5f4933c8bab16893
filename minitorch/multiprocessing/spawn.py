"""Starting one function in several processes and waiting for all of them.

Source: https://pytorch.org/docs/stable/multiprocessing.html#spawning-subprocesses
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
import warnings
import weakref
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from typing import Any

_log = logging.getLogger(__name__)


class ProcessException(Exception):  # noqa: N818 - PyTorch's name
    """One of the processes has failed: `error_index` says which, `error_pid` is its id."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The process failed by an exception, whose traceback is in the message."""


class ProcessExitedException(ProcessException):
    """The process was killed by the signal `signal_name`, or ended with another `exit_code` than 0."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _run(fn: Callable[..., Any], index: int, args: Sequence[Any], error_file: str) -> None:
    """Runs in the new process; the traceback of an exception goes into a file."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent has got the signal too
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        self.processes = processes
        self.error_files = error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The ids of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits until one or more have ended, or `timeout` seconds; True once all have.

        If one fails, the others get `grace_period` seconds and are then terminated.
        Raises ProcessRaisedException or ProcessExitedException for the one that failed.
        """
        if not self.sentinels:
            return True
        for sentinel in wait(list(self.sentinels), timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                self._stop(grace_period)
                self._raise(index)
        return not self.sentinels

    def _stop(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._wait_for_all(grace_period)
        for process in self.processes:
            if process.is_alive():
                _log.warning("Terminating process %s via signal SIGTERM", process.pid)
                process.terminate()
        self._wait_for_all(30 if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                _log.warning("Unable to shutdown process %s via SIGTERM , forcefully exiting via SIGKILL", process.pid)
                process.kill()
            process.join()

    def _wait_for_all(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0, end - time.monotonic()))

    def _raise(self, index: int) -> None:
        process = self.processes[index]
        if os.access(self.error_files[index], os.R_OK):
            with open(self.error_files[index], "rb") as file:
                trace = pickle.load(file)
            message = f"\n\n-- Process {index} terminated with the following error:\n{trace}"
            raise ProcessRaisedException(message, index, process.pid)
        code, name = process.exitcode, None
        how = f"exit code {code}"
        if code < 0:
            name = _signal_name(-code)
            how = f"signal {name}"
        raise ProcessExitedException(f"process {index} terminated with {how}", index, process.pid, code, name)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"<Unknown signal {number}>"


def start_processes(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Runs `fn(i, *args)` in `nprocs` processes, i = 0 … nprocs − 1.

    Waits for them, and returns None; or, without `join`, returns their ProcessContext. Raises as its `join` does.
    """
    context = multiprocessing.get_context(start_method)
    folder = tempfile.TemporaryDirectory(prefix="minitorch-errors-")
    error_files = [os.path.join(folder.name, f"{index}.pickle") for index in range(nprocs)]
    processes = []
    for index in range(nprocs):
        process = context.Process(target=_run, args=(fn, index, args, error_files[index]), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        processes.append(process)
    started = ProcessContext(processes, error_files)
    weakref.finalize(started, folder.cleanup)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """`start_processes` with fresh interpreters.

    Source: https://pytorch.org/docs/stable/multiprocessing.html#torch.multiprocessing.spawn.spawn
    """
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\n"
            "To use a different start_method use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
