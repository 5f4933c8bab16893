"""How processes find the store that they share: by a URL.

Source: https://pytorch.org/docs/stable/distributed.html#initialization
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import ParseResult, urlparse

from minitorch.distributed.constants import default_pg_timeout
from minitorch.distributed.file_store import FileStore
from minitorch.distributed.store import Store
from minitorch.distributed.tcp_store import TCPStore

__all__ = ["register_rendezvous_handler", "rendezvous"]

Meeting = Iterator[tuple[Store, int, int]]

_handlers: dict[str, Callable[..., Meeting]] = {}


def register_rendezvous_handler(scheme: str, handler: Callable[..., Meeting]) -> None:
    """Has `rendezvous` call `handler(url, **options)` for URLs of this scheme; it yields store, rank and world size."""
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **options: Any) -> Meeting:
    """Yields the store that the URL stands for, this process's rank, and the number of processes.

    `tcp://host:port` (rank 0 keeps the store), `file:///path` (each process opens the file), `env://` (as tcp, with
    MASTER_ADDR, MASTER_PORT, and, unless they are given, RANK and WORLD_SIZE of the environment). Rank and size may
    also stand in the URL: `?rank=0&world_size=2`. Raises ValueError where something is missing.
    """
    if not isinstance(url, (str, bytes)):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    if not isinstance(rank, numbers.Integral):
        raise RuntimeError(f"`rank` must be an integer. {rank}")
    if not isinstance(world_size, numbers.Integral):
        raise RuntimeError(f"`world_size` must be an integer. {world_size}")
    parsed = urlparse(url)
    given = {"rank": rank, "world_size": world_size}
    if rank != -1 or world_size != -1:
        query = _query(parsed)
        if "rank" in query or "world_size" in query:
            raise AssertionError(f"The url: {url} has node-specific arguments(rank, world_size) already.")
        query |= {name: str(value) for name, value in given.items() if value != -1}
        url = parsed._replace(query="&".join(f"{name}={value}" for name, value in query.items())).geturl()
    if parsed.scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {parsed.scheme}://")
    return _handlers[parsed.scheme](url, **options)


def _query(parsed: ParseResult) -> dict[str, str]:
    pairs = (pair.split("=") for pair in parsed.query.split("&") if pair)
    return {pair[0]: pair[1] for pair in pairs}


def _error(scheme: str, message: str) -> ValueError:
    return ValueError(f"Error initializing torch.distributed using {scheme}:// rendezvous: {message}")


def _rank_and_size(parsed: ParseResult) -> tuple[int, int]:
    query = _query(parsed)
    for name, words in (("rank", "rank"), ("world_size", "world size")):
        if name not in query:
            raise _error(parsed.scheme, f"{words} parameter missing")
    return int(query["rank"]), int(query["world_size"])


def _meet_in_file(url: str, **options: Any) -> Meeting:
    parsed = urlparse(url)
    if not parsed.path:
        raise _error("file", "path missing")
    rank, world_size = _rank_and_size(parsed)
    yield FileStore(parsed.path, world_size), rank, world_size
    raise RuntimeError("Unable to perform rerendezvous using file:// method")


def _meet_at_port(url: str, timeout: timedelta = default_pg_timeout, **options: Any) -> Meeting:
    parsed = urlparse(url)
    if parsed.port is None:
        raise _error("tcp", "port number missing")
    rank, world_size = _rank_and_size(parsed)
    if parsed.hostname is None:
        raise AssertionError("hostname cannot be None")
    yield _store(parsed.hostname, parsed.port, rank, world_size, timeout), rank, world_size
    raise RuntimeError("Unable to perform re-rendezvous using tcp:// method")


def _meet_by_environment(url: str, timeout: timedelta = default_pg_timeout, **options: Any) -> Meeting:
    query = _query(urlparse(url))

    def variable(name: str) -> str:
        value = os.environ.get(name)
        if not value:
            raise _error("env", f"environment variable {name} expected, but not set")
        return value

    rank = int(query["rank"] if "rank" in query else variable("RANK"))
    world_size = int(query["world_size"] if "world_size" in query else variable("WORLD_SIZE"))
    host, port = variable("MASTER_ADDR"), int(variable("MASTER_PORT"))
    yield _store(host, port, rank, world_size, timeout), rank, world_size
    raise RuntimeError("Unable to perform re-rendezvous using env:// method")


def _store(host: str, port: int, rank: int, world_size: int, timeout: timedelta) -> TCPStore:
    """The store that rank 0 keeps, or, under `torch.distributed.run`, who started the processes."""
    if not 0 <= port < 1 << 16:
        raise ValueError(f"port must have value from 0 to 65535 but was {port}.")
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        return TCPStore(host, port, world_size, is_master=False, timeout=timeout, wait_for_workers=False)
    return TCPStore(host, port, world_size, is_master=rank == 0, timeout=timeout, multi_tenant=True)


register_rendezvous_handler("tcp", _meet_at_port)
register_rendezvous_handler("env", _meet_by_environment)
register_rendezvous_handler("file", _meet_in_file)
