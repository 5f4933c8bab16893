"""A store that one process keeps and the others ask over TCP.

A request is a list of byte strings, beginning with the operation's name, and so is the answer, beginning with what came
of it. Nothing that arrives is executed.
Source: https://pytorch.org/docs/stable/distributed.html#torch.distributed.TCPStore
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from datetime import timedelta

from minitorch.distributed.errors import DistNetworkError, DistStoreError, QueueEmptyError
from minitorch.distributed.store import HashStore, Store, Value, encoded

_LENGTH = struct.Struct("<I")
_GRACE = 5.0  # seconds that an answer may take longer than what it waits for
_WORKERS = "init/"


def send_fields(connection: socket.socket, fields: Sequence[bytes]) -> None:
    """Sends a list of byte strings."""
    connection.sendall(b"".join((_LENGTH.pack(len(fields)), *(_LENGTH.pack(len(each)) + each for each in fields))))


def receive_fields(connection: socket.socket) -> list[bytes]:
    """Receives what `send_fields` sent. Raises ConnectionError where the connection ends."""
    (count,) = _LENGTH.unpack(receive_exactly(connection, _LENGTH.size))
    lengths = (_LENGTH.unpack(receive_exactly(connection, _LENGTH.size)) for _ in range(count))
    return [bytes(receive_exactly(connection, length)) for (length,) in lengths]


def receive_exactly(connection: socket.socket, count: int) -> bytearray:
    """So many bytes. Raises ConnectionError where the connection ends before."""
    data = bytearray(count)
    receive_into(connection, memoryview(data))
    return data


def receive_into(connection: socket.socket, memory: memoryview) -> None:
    """Fills memory. Raises ConnectionError where the connection ends before."""
    while memory:
        received = connection.recv_into(memory, 0, socket.MSG_WAITALL)
        if not received:
            raise ConnectionError("Connection closed by peer")
        memory = memory[received:]


class _Server:
    """The table, a thread that waits for clients, and one for each of them."""

    def __init__(self, listener: socket.socket) -> None:
        self.table = HashStore()
        self.users = 0
        self.port: int = listener.getsockname()[1]
        self._listener = listener
        self._clients: list[socket.socket] = []
        threading.Thread(target=self._accept, name="TCPStore", daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            self._clients.append(client)
            threading.Thread(target=self._serve, args=(client,), name="TCPStore client", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            try:
                while True:
                    operation, timeout, *arguments = receive_fields(client)
                    send_fields(client, self._answer(operation.decode(), float(timeout), arguments))
            except (OSError, ValueError):
                return  # the client has gone, or sends what can't be understood

    def _answer(self, operation: str, timeout: float, arguments: list[bytes]) -> list[bytes]:
        try:
            return [b"ok", *_OPERATIONS[operation](self.table, timedelta(seconds=timeout), *arguments)]
        except QueueEmptyError:
            return [b"empty"]
        except DistStoreError:
            return [b"timeout"]

    def leave(self) -> None:
        """One user less; without any the server ends, and its clients' connections do."""
        self.users -= 1
        if not self.users:
            _servers.pop(self.port, None)
            for each in (self._listener, *self._clients):
                shut(each)


def shut(connection: socket.socket) -> None:
    """Closes a connection, and wakes the thread that waits for it."""
    with contextlib.suppress(OSError):  # where the other side was first
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def _queue_pop(table: HashStore, timeout: timedelta, key: bytes, block: bytes) -> list[bytes]:
    table.set_timeout(timeout)
    return [table.queue_pop(key.decode(), block == b"1")]


def _waited(table: HashStore, timeout: timedelta, *keys: bytes) -> list[bytes]:
    table.wait([key.decode() for key in keys], timeout)
    return []


def _gotten(table: HashStore, timeout: timedelta, *keys: bytes) -> list[bytes]:
    _waited(table, timeout, *keys)
    return table.multi_get([key.decode() for key in keys])


def _done(result: object) -> list[bytes]:
    """The answer to an operation that returns a number or nothing."""
    return [] if result is None else [str(int(result)).encode()]  # type: ignore[call-overload]


_OPERATIONS: dict[str, Callable[..., list[bytes]]] = {
    "set": lambda table, _, key, value: _done(table.set(key.decode(), value)),
    "get": _gotten,
    "add": lambda table, _, key, amount: _done(table.add(key.decode(), int(amount))),
    "compare_set": lambda table, _, key, expected, desired: [table.compare_set(key.decode(), expected, desired)],
    "check": lambda table, _, *keys: _done(table.check([key.decode() for key in keys])),
    "wait": _waited,
    "delete_key": lambda table, _, key: _done(table.delete_key(key.decode())),
    "num_keys": lambda table, _: _done(table.num_keys()),
    "list_keys": lambda table, _: [key.encode() for key in table.list_keys()],
    "append": lambda table, _, key, value: _done(table.append(key.decode(), value)),
    "queue_push": lambda table, _, key, value: _done(table.queue_push(key.decode(), value)),
    "queue_pop": _queue_pop,
    "queue_len": lambda table, _, key: _done(table.queue_len(key.decode())),
}

_servers: dict[int, _Server] = {}
"""The servers of this process, by port: with `multi_tenant`, several stores share one."""


class TCPStore(Store):
    """A store that the process with `is_master` keeps, at a port of `host_name`; port 0 means any that is free.

    The others may come first: they try to connect until `timeout` is over. With a `world_size` and `wait_for_workers`,
    the master waits until so many have come. Raises DistNetworkError where nobody can be reached, DistStoreError where
    a key or the others don't come in time.
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = timedelta(seconds=300),
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        self.set_timeout(timeout)
        self._host = host_name
        self._asking = threading.Lock()
        if is_master:
            server = _servers.get(port) if multi_tenant else None
            server = server or _Server(_listen(host_name, port, master_listen_fd))
            _servers[server.port] = server
            server.users += 1
            weakref.finalize(self, server.leave)
            port = server.port
        self._port = port
        self._connection = _connect(host_name, port, timeout)
        weakref.finalize(self, shut, self._connection)
        if world_size is not None and wait_for_workers:
            self._meet(world_size, is_master)

    def _meet(self, world_size: int, is_master: bool) -> None:
        joined = self.add(_WORKERS, 1)
        end = time.monotonic() + self.timeout.total_seconds()
        while is_master and joined < world_size:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"Timed out after {int(self.timeout.total_seconds()) + 1} seconds waiting for clients. "
                    f"{joined}/{world_size} clients joined."
                )
            time.sleep(0.01)
            joined = self.add(_WORKERS, 0)

    @property
    def host(self) -> str:
        """The name of the machine that keeps the table."""
        return self._host

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._port

    @property
    def local_address(self) -> str:
        """This machine's address, as seen from the one that keeps the table."""
        address: str = self._connection.getsockname()[0]
        return address

    def _ask(self, operation: str, *arguments: bytes, timeout: timedelta | None = None) -> list[bytes]:
        seconds = (self.timeout if timeout is None else timeout).total_seconds()
        with self._asking:
            try:
                self._connection.settimeout(seconds + _GRACE)
                send_fields(self._connection, [operation.encode(), str(seconds).encode(), *arguments])
                outcome, *answer = receive_fields(self._connection)
            except OSError as error:
                raise DistNetworkError(
                    "Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or "
                    "crash?"
                ) from error
        if outcome == b"empty":
            raise QueueEmptyError("queue is empty")
        if outcome == b"timeout":
            keys = arguments[:1] if operation == "queue_pop" else arguments
            names = ", ".join("/" + key.decode() for key in keys)
            raise DistStoreError(f"wait timeout after {round(seconds * 1000)}ms, keys: {names}")
        return answer

    def set(self, key: str, value: Value) -> None:
        self._ask("set", key.encode(), encoded(value))

    def get(self, key: str) -> bytes:
        return self._ask("get", key.encode())[0]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self._ask("get", *map(str.encode, keys))

    def add(self, key: str, amount: int) -> int:
        return int(self._ask("add", key.encode(), str(amount).encode())[0])

    def compare_set(self, key: str, expected_value: Value, desired_value: Value) -> bytes:
        return self._ask("compare_set", key.encode(), encoded(expected_value), encoded(desired_value))[0]

    def check(self, keys: Sequence[str]) -> bool:
        return self._ask("check", *map(str.encode, keys)) == [b"1"]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self._ask("wait", *map(str.encode, keys), timeout=timeout)

    def delete_key(self, key: str) -> bool:
        return self._ask("delete_key", key.encode()) == [b"1"]

    def num_keys(self) -> int:
        return int(self._ask("num_keys")[0])

    def list_keys(self) -> list[str]:
        return list(map(bytes.decode, self._ask("list_keys")))

    def append(self, key: str, value: Value) -> None:
        self._ask("append", key.encode(), encoded(value))

    def queue_push(self, key: str, value: Value) -> None:
        self._ask("queue_push", key.encode(), encoded(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        return self._ask("queue_pop", key.encode(), b"1" if block else b"0")[0]

    def queue_len(self, key: str) -> int:
        return int(self._ask("queue_len", key.encode())[0])

    def clone(self) -> TCPStore:
        return TCPStore(self._host, self._port, timeout=self.timeout)

    def __repr__(self) -> str:
        return f"TCPStore({self._host}:{self._port})"


def _listen(host: str, port: int, descriptor: int | None) -> socket.socket:
    """A listening socket; for this machine only if that is where the others look for it."""
    if descriptor is not None:
        return socket.socket(fileno=descriptor)
    try:
        if host == "localhost" or host.startswith("127."):
            return socket.create_server(("127.0.0.1", port))
        if socket.has_dualstack_ipv6():
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
        return socket.create_server(("", port))
    except OSError as error:
        code = error.errno or 0
        raise DistNetworkError(
            f"The server socket has failed to listen on any local network address. port: {port}, useIpv6: false, "
            f"code: -{code}, name: {errno.errorcode.get(code)}, message: {os.strerror(code).lower()}"
        ) from error


def _connect(host: str, port: int, timeout: timedelta) -> socket.socket:
    """A connection to a server which may not be there yet."""
    end = time.monotonic() + timeout.total_seconds()
    while (left := end - time.monotonic()) > 0:
        try:
            connection = socket.create_connection((host, port), left)
        except OSError:
            time.sleep(min(0.05, left))
        else:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
    raise DistNetworkError(
        f"The client socket has timed out after {round(timeout.total_seconds() * 1000)}ms while trying to connect to "
        f"({host}, {port})."
    )
