"""`python -m minitorch.distributed.run --standalone --nproc-per-node=2 script.py`: a script in several processes.

It is PyTorch's torchrun, for a fixed number of machines. In the script `import torch` means minitorch, and
`init_process_group()` finds the rank and the others in the environment. When one process fails the others are ended, a
report says which it was, and the exit status is 1.
Source: https://pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime
from queue import SimpleQueue
from typing import Any

from minitorch.distributed.tcp_store import TCPStore

_DEFAULT_PORT = 29500
_SECONDS_TO_END = 30.0


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """What the command line says; SystemExit for an option that isn't there."""
    parser = argparse.ArgumentParser("python -m minitorch.distributed.run", description=__doc__)
    parser.add_argument("--standalone", action="store_true", help="one machine, and any port that is free")
    parser.add_argument("--nnodes", type=int, default=1, help="the number of machines")
    parser.add_argument("--node-rank", "--node_rank", type=int, default=0, help="this machine's number")
    parser.add_argument(
        "--nproc-per-node", "--nproc_per_node", default="1", help="processes here: a number, auto or cpu"
    )
    parser.add_argument("--master-addr", "--master_addr", default="127.0.0.1", help="the address of machine 0")
    parser.add_argument("--master-port", "--master_port", type=int, default=_DEFAULT_PORT, help="a free port of it")
    parser.add_argument("--no-python", "--no_python", action="store_true", help="the script is a program of its own")
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    if options.nproc_per_node in ("auto", "cpu"):
        options.nproc_per_node = os.cpu_count()
    elif options.nproc_per_node.isdecimal():
        options.nproc_per_node = int(options.nproc_per_node)
    else:
        raise ValueError(f"Unsupported nproc_per_node value: {options.nproc_per_node}")
    if options.standalone:
        options.nnodes, options.node_rank = 1, 0
        options.master_addr, options.master_port = "localhost", 0
    return options


def _environment(options: argparse.Namespace, local_rank: int, run_id: str) -> dict[str, str]:
    here, ranks = options.nproc_per_node, options.nproc_per_node * options.nnodes
    rank = options.node_rank * here + local_rank
    numbers: dict[str, Any] = {
        "RANK": rank,
        "LOCAL_RANK": local_rank,
        "WORLD_SIZE": ranks,
        "LOCAL_WORLD_SIZE": here,
        "GROUP_RANK": options.node_rank,
        "GROUP_WORLD_SIZE": options.nnodes,
        "ROLE_NAME": "default",
        "ROLE_RANK": rank,
        "ROLE_WORLD_SIZE": ranks,
        "MASTER_ADDR": options.master_addr,
        "MASTER_PORT": options.master_port,
        "TORCHELASTIC_RUN_ID": run_id,
        "TORCHELASTIC_RESTART_COUNT": 0,
        "TORCHELASTIC_MAX_RESTARTS": 0,
        "TORCHELASTIC_USE_AGENT_STORE": True,
    }
    threads = {} if "OMP_NUM_THREADS" in os.environ or here == 1 else {"OMP_NUM_THREADS": "1"}
    return {**os.environ, **threads, **{name: str(value) for name, value in numbers.items()}}


def _failures(workers: Sequence[subprocess.Popen[bytes]]) -> Iterator[int]:
    """The local ranks of those that have ended, and not well."""
    return (number for number, worker in enumerate(workers) if worker.poll() not in (None, 0))


def _first_failure(workers: Sequence[subprocess.Popen[bytes]]) -> int | None:
    """Waits until all have ended, or one has failed: the local rank of that one, whose end may make others fail."""
    ended: SimpleQueue[int] = SimpleQueue()

    def wait_for(number: int) -> None:
        workers[number].wait()
        ended.put(number)

    for number in range(len(workers)):
        threading.Thread(target=wait_for, args=(number,), daemon=True).start()
    in_order = (ended.get() for _ in workers)
    return next((number for number in in_order if workers[number].returncode), None)


def _end(workers: Sequence[subprocess.Popen[bytes]]) -> None:
    """Asks those that still run to end, and ends those that don't."""
    for worker in workers:
        if worker.poll() is None:
            worker.terminate()
    deadline = time.monotonic() + _SECONDS_TO_END
    for worker in workers:
        try:
            worker.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


def _report(options: argparse.Namespace, workers: Sequence[subprocess.Popen[bytes]], first: int) -> str:
    def entry(number: int) -> str:
        worker = workers[number]
        code = worker.returncode
        name = f" ({signal.Signals(-code).name})" if code < 0 else ""
        rank = options.node_rank * options.nproc_per_node + number
        return f"  rank      : {rank} (local_rank: {number})\n  exitcode  : {code} (pid: {worker.pid}){name}"

    others = [entry(number) for number in _failures(workers) if number != first]
    line = "-" * 60
    return "\n".join(
        [
            f"{options.training_script} FAILED",
            *([line, "Failures:", *others] if others else []),
            line,
            "Root Cause (first observed failure):",
            f"  time      : {datetime.now():%Y-%m-%d_%H:%M:%S}",
            entry(first),
        ]
    )


def _interrupted(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)


def main(arguments: Sequence[str]) -> int:
    """Starts the processes and waits for them; the exit status."""
    options = parse(arguments)
    store = None
    if options.node_rank == 0:
        store = TCPStore(options.master_addr, options.master_port, is_master=True, wait_for_workers=False)
        options.master_port = store.port
    command = [options.training_script, *options.training_script_args]
    if not options.no_python:
        command = [sys.executable, "-u", "-m", "minitorch", *command]
    run_id = str(uuid.uuid4())
    signal.signal(signal.SIGTERM, _interrupted)
    workers: list[subprocess.Popen[bytes]] = []
    try:
        for local_rank in range(options.nproc_per_node):
            workers.append(subprocess.Popen(command, env=_environment(options, local_rank, run_id)))
        first = _first_failure(workers)
    finally:
        _end(workers)
        del store
    if first is None:
        return 0
    print(_report(options, workers, first), file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
