"""A store that one process keeps and the others ask over TCP.

A request says which method of the table to call, how long to wait, and the arguments; the answer what came of it.
Nothing that arrives is executed.
Source: https://pytorch.org/docs/stable/distributed.html#torch.distributed.TCPStore
"""

from __future__ import annotations

import contextlib
import copy
import errno
import io
import os
import pickle
import socket
import struct
import threading
import time
import weakref
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NoReturn

from minitorch.distributed.errors import DistNetworkError, DistStoreError, QueueEmptyError
from minitorch.distributed.store import HashStore, Store

_LENGTH = struct.Struct("<I")
_GRACE = 5.0  # seconds that an answer may take longer than what it waits for
_WORKERS = "init/"


class _Plain(pickle.Unpickler):
    """Reads numbers, texts, bytes and lists; it refuses whatever would have to be imported."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name}")


def _send(connection: socket.socket, *message: Any) -> None:
    data = pickle.dumps(message)
    connection.sendall(_LENGTH.pack(len(data)) + data)


def _receive(connection: socket.socket) -> tuple[Any, ...]:
    """What `_send` sent. Raises ConnectionError where the connection ends, or something else arrives."""
    (length,) = _LENGTH.unpack(receive_exactly(connection, _LENGTH.size))
    data = receive_exactly(connection, length)
    try:
        message = _Plain(io.BytesIO(data)).load()
    except Exception as error:
        raise ConnectionError("No message of a store") from error
    if not (isinstance(message, tuple) and message and isinstance(message[0], str)):
        raise ConnectionError("No message of a store")
    return message


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
        self._ended = False
        threading.Thread(target=self._accept, name="TCPStore", daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            self._clients.append(client)
            if self._ended:  # `leave` may have looked at the clients before this one was among them
                shut(client)
                return
            threading.Thread(target=self._serve, args=(client,), name="TCPStore client", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        table = copy.copy(self.table)  # the same values, with a timeout of its own
        with client:
            try:
                while True:
                    operation, seconds, arguments = _receive(client)
                    table.set_timeout(timedelta(seconds=seconds))
                    _send(client, *_answer(table, operation, arguments))
            except (OSError, ValueError):
                return  # the client has gone, or sends what can't be understood

    def leave(self) -> None:
        """One user less; without any the server ends, and its clients' connections do."""
        self.users -= 1
        if not self.users:
            _servers.pop(self.port, None)
            self._ended = True
            for each in (self._listener, *self._clients):
                shut(each)


def shut(connection: socket.socket) -> None:
    """Closes a connection, and wakes the thread that waits for it."""
    with contextlib.suppress(OSError):  # where the other side was first
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def _answer(table: HashStore, operation: str, arguments: Sequence[Any]) -> tuple[str, Any]:
    """What came of an operation, and its result."""
    if operation not in _OPERATIONS:
        raise ValueError(f"a store has no operation {operation}")
    try:
        return "ok", getattr(table, operation)(*arguments)
    except QueueEmptyError:
        return "empty", None
    except DistStoreError:
        return "timeout", None


_OPERATIONS = frozenset(
    {
        "add", "append", "check", "compare_set", "delete_key", "get", "list_keys", "multi_get", "num_keys",
        "queue_len", "queue_pop", "queue_push", "set", "wait",
    }
)  # fmt: skip

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

    def _do(self, operation: str, *arguments: Any) -> Any:
        return self._ask(self.timeout, operation, *arguments)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self._ask(self.timeout if timeout is None else timeout, "wait", list(keys))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self._do("multi_get", list(keys))

    def _ask(self, timeout: timedelta, operation: str, *arguments: Any) -> Any:
        seconds = timeout.total_seconds()
        with self._asking:
            try:
                self._connection.settimeout(seconds + _GRACE)
                _send(self._connection, operation, seconds, arguments)
                outcome, result = _receive(self._connection)
            except OSError as error:
                raise DistNetworkError(
                    "Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or "
                    "crash?"
                ) from error
        if outcome == "empty":
            raise QueueEmptyError("queue is empty")
        if outcome == "timeout":
            keys = [arguments[0]] if isinstance(arguments[0], str) else arguments[0]
            names = ", ".join(f"/{key}" for key in keys)
            raise DistStoreError(f"wait timeout after {round(seconds * 1000)}ms, keys: {names}")
        return result

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
