"""Stores: each question to PyTorch's and to ours; and what happens when a process or the network fails."""

from __future__ import annotations

import gc
import os
import pickle
import socket
import struct
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import minitorch.distributed as ours
from minitorch.distributed.tcp_store import _Server

SECOND = timedelta(seconds=1)
SOON = timedelta(milliseconds=200)


def hash_store(dist: Any, folder: Path) -> Any:
    return dist.HashStore()


def file_store(dist: Any, folder: Path) -> Any:
    return dist.FileStore(str(folder / dist.__name__), 1)


def tcp_store(dist: Any, folder: Path) -> Any:
    return dist.TCPStore("localhost", 0, None, True, 60 * SECOND, wait_for_workers=False)


def prefix_store(dist: Any, folder: Path) -> Any:
    return dist.PrefixStore("part", tcp_store(dist, folder))


def outcome(question: Callable[[], Any]) -> Any:
    try:
        return question()
    except Exception as error:
        return type(error).__name__, [kind.__name__ for kind in type(error).__mro__[1:-2]], str(error)


def timed_out(store: Any, wait: Callable[[], Any]) -> Any:
    store.set_timeout(SOON)
    return outcome(wait)


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "set and get": lambda s: (s.set("a", "1"), s.get("a"), s.set("a", b"\x00\xff"), s.get("a")),
    "add": lambda s: (s.add("n", 2), s.add("n", -5), s.get("n"), s.set("m", "40"), s.add("m", 2)),
    "compare_set": lambda s: [
        s.compare_set("c", "", "x"), s.compare_set("c", "x", "y"), s.compare_set("c", "z", "w"),
        s.compare_set("q", "r", "s"), s.check(["q"]),
    ],
    "check": lambda s: (s.set("a", "1"), s.check(["a"]), s.check(["a", "b"])),
    "wait": lambda s: (s.set("a", ""), s.wait(["a"]), s.wait(["a"], SECOND)),
    "timeout": lambda s: (s.set_timeout(SECOND), s.timeout),
    "multi": lambda s: (s.multi_set(["a", "b"], ["1", "2"]), s.multi_get(["b", "a"])),
    "text": lambda s: (s.set("ключ", "значение"), s.get("ключ").decode()),
    "long": lambda s: (s.set("a", "x" * 100_000), len(s.get("a"))),
    "a number": lambda s: outcome(lambda: s.set("a", 3))[0],
    "no number": lambda s: (s.set("a", "word"), outcome(lambda: s.add("a", 1))[0])[1],
    "get nothing": lambda s: timed_out(s, lambda: s.get("nothing")),
    "wait for nothing": lambda s: outcome(lambda: s.wait(["nothing", "more"], SOON)),
    "delete_key": lambda s: (s.set("a", "1"), s.delete_key("a"), s.check(["a"])),
    "num_keys": lambda s: (s.set("a", "1"), s.add("n", 1), s.num_keys()),
    "append": lambda s: (s.append("a", "1"), s.append("a", "2")),
    "list_keys": lambda s: (s.set("a", "1"), s.set("b", "1"), sorted(s.list_keys())),
}  # fmt: skip
NOT_IN_FILES: dict[str, Callable[[Any], Any]] = {
    "delete_key twice": lambda s: (s.set("a", "1"), s.delete_key("a"), s.delete_key("a")),
    "append and get": lambda s: (s.append("a", "1"), s.append("a", "2"), s.get("a")),
    "queue": lambda s: (s.queue_push("q", "1"), s.queue_push("q", "2"), s.queue_len("q"), s.queue_pop("q")),
    "empty queue": lambda s: outcome(lambda: s.queue_pop("q", False)),
    "clone": lambda s: (s.set("a", "1"), s.clone().get("a")),
}
STORES = [hash_store, tcp_store, prefix_store]
CASES = [
    *((make, name, ask) for make in [*STORES, file_store] for name, ask in QUESTIONS.items()),
    *((make, name, ask) for make in STORES for name, ask in NOT_IN_FILES.items()),
]


@pytest.mark.needs("torch")
@pytest.mark.parametrize(("make", "name", "ask"), CASES, ids=[f"{make.__name__}-{name}" for make, name, _ in CASES])
def test_like_torch(make: Any, name: str, ask: Callable[[Any], Any], tmp_path: Path) -> None:
    import torch.distributed as theirs

    assert ask(make(ours, tmp_path)) == ask(make(theirs, tmp_path))


def test_a_client_may_come_before_the_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    found: list[bytes] = []
    client = threading.Thread(
        target=lambda: found.append(ours.TCPStore("localhost", port, timeout=10 * SECOND).get("a"))
    )
    client.start()
    time.sleep(0.3)
    server = ours.TCPStore("localhost", port, is_master=True, wait_for_workers=False)
    server.set("a", "here")
    client.join(10)
    assert found == [b"here"]


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(
        ours.DistNetworkError, match=rf"timed out after 200ms while trying to connect to \(localhost, {port}"
    ):
        ours.TCPStore("localhost", port, timeout=SOON)


def test_the_others_dont_come() -> None:
    with pytest.raises(ours.DistStoreError, match=r"waiting for clients\. 1/2 clients joined"):
        ours.TCPStore("localhost", 0, 2, is_master=True, timeout=SOON)


def test_a_port_that_is_taken() -> None:
    store = ours.TCPStore("localhost", 0, is_master=True)
    with pytest.raises(ours.DistNetworkError, match="code: -98, name: EADDRINUSE, message: address already in use"):
        ours.TCPStore("localhost", store.port, is_master=True)
    again = ours.TCPStore("localhost", store.port, is_master=True, multi_tenant=True)
    again.set("a", "shared")
    assert store.get("a") == b"shared"


def test_a_server_that_goes_away() -> None:
    server = ours.TCPStore("localhost", 0, is_master=True)
    client = ours.TCPStore("localhost", server.port)
    del server
    gc.collect()
    with pytest.raises(ours.DistNetworkError, match="Connection was likely closed"):
        client.get("a")


def test_a_client_that_comes_while_the_server_goes() -> None:
    ours_end, theirs = socket.socketpair()
    gone = threading.Event()
    clients = [theirs]

    class Listener:
        """Its only client arrives before the server ends, and is handed over afterwards."""

        def getsockname(self) -> tuple[str, int]:
            return "localhost", 0

        def accept(self) -> tuple[socket.socket, None]:
            gone.wait()
            if not clients:
                raise OSError("closed")
            return clients.pop(), None

        def shutdown(self, how: int) -> None: ...

        def close(self) -> None: ...

    server = _Server(Listener())  # type: ignore[arg-type]
    server.users = 1
    server.leave()
    gone.set()
    ours_end.settimeout(10)
    assert ours_end.recv(1) == b""


class Harmful:
    """Pickled, it is a call."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_nothing_that_arrives_is_executed(tmp_path: Path) -> None:
    server = ours.TCPStore("localhost", 0, is_master=True)
    for data in (
        pickle.dumps(("get", 1.0, [Harmful(tmp_path / "touched")])),
        b"nonsense",
        pickle.dumps(("clone", 1.0, [])),
        pickle.dumps(7),
    ):
        with socket.create_connection(("localhost", server.port), 10) as client:
            client.sendall(struct.pack("<I", len(data)) + data)
            assert client.recv(1) == b""  # the server has closed the connection
    assert not (tmp_path / "touched").exists()
    server.set("a", "1")
    assert server.get("a") == b"1"


def test_a_store_leaves_no_threads_and_no_sockets(tmp_path: Path) -> None:
    def held() -> set[Any]:
        """The threads, and the descriptors but for the one that lists them."""
        links = {(each.name, os.path.realpath(each)) for each in Path("/proc/self/fd").iterdir()}
        return {*threading.enumerate(), *(each for each in links if not each[1].endswith("/fd"))}

    gc.collect()
    before = held()  # of tests before, some of which end meanwhile
    for _ in range(5):
        server = ours.TCPStore("localhost", 0, is_master=True)
        client = server.clone()
        client.set("a", "1")
        del server, client
    gc.collect()
    end = time.monotonic() + 10
    while held() - before and time.monotonic() < end:
        time.sleep(0.01)
    assert held() - before == set()


def test_the_last_user_removes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "store"
    first, second = ours.FileStore(str(path), 2), ours.FileStore(str(path), 2)
    first.set("a", "1")
    assert second.get("a") == b"1"
    del first
    gc.collect()
    assert path.exists()
    del second
    gc.collect()
    assert not path.exists()


@pytest.mark.needs("torch")
@pytest.mark.parametrize(
    "arguments",
    [
        ("tcp://localhost:0?rank=0&world_size=1",),
        ("tcp://localhost:0", 0, 1),
        ("tcp://localhost:0",),
        ("tcp://localhost?rank=0&world_size=1",),
        ("tcp://localhost:0?rank=0", 0, 1),
        ("file://", 0, 1),
        ("file:///tmp/nothing", 0),
        ("env://",),
        ("unknown://",),
        (3,),
        ("env://", "0"),
        ("env://", 0, "1"),
    ],
    ids=str,
)
def test_rendezvous_like_torch(arguments: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    import torch.distributed as theirs

    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)

    def ask(dist: Any) -> Any:
        return outcome(lambda: next(dist.rendezvous(*arguments, timeout=SECOND))[1:])

    assert ask(ours) == ask(theirs)
