"""A TCP connection between each two processes of a group, and the messages on them.

A message belongs to a channel and has a tag. Who wants it posts a `Receive`; a message that nobody has posted for waits
in memory. One thread for each connection reads what comes, so that nobody who sends waits for somebody who computes.
A process that ends, or that doesn't answer in time, closes its connections, and all who wait for it get an error.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from minitorch.distributed.store import PrefixStore, Store
from minitorch.distributed.tcp_store import TCPStore, receive_exactly, receive_into, shut
from minitorch.futures import Future

COLLECTIVE, POINT_TO_POINT, MONITOR = b"c", b"p", b"m"
"""The channels: messages of one are never taken for those of another."""

Key = tuple[bytes, int]

_HEADER = struct.Struct("<cqQ")  # channel, tag, length
_HELLO = struct.Struct("<8sI")  # who connects: these letters, and its rank
_LETTERS = b"mini-c10"
_SMALL = 1 << 16
_ADVICE = "Check the logs of the remote worker before reporting an error."


class Receive:
    """Memory that waits for a message; the future is that of the sender's rank."""

    __slots__ = ("exact", "future", "memory", "mesh", "source")

    def __init__(self, mesh: Mesh, source: int | None, memory: memoryview, exact: bool) -> None:
        self.mesh = mesh
        self.source = source
        self.memory = memory
        self.exact = exact
        self.future: Future[int] = Future()

    def fits(self, length: int) -> bool:
        return length == len(self.memory) if self.exact else length <= len(self.memory)

    def take(self, data: bytearray, source: int) -> None:
        """Gets the message, whose sender is `source`, in one piece."""
        if self.fits(len(data)):
            self.memory[: len(data)] = data
            self.future.set_result(source)
        else:
            self.future.set_exception(
                RuntimeError(
                    f"op.preamble.length <= op.nbytes. {len(data)} vs {len(self.memory)}. Received data size doesn't "
                    "match expected size. Is there a distributed collective mismatch in your code?"
                )
            )

    def wait(self, timeout: float) -> int:
        """Waits for the message; the sender's rank. A sender who doesn't come in time is not waited for again."""
        if not self.future.done_within(timeout):
            self.mesh.give_up(self)
            raise RuntimeError(f"Timed out waiting {round(timeout * 1000)}ms for recv operation to complete")
        return self.future.value()


class _Peer:
    """The connection to another process."""

    def __init__(self, rank: int, connection: socket.socket) -> None:
        self.rank = rank
        self.connection = connection
        self.address = "[{}]:{}".format(*connection.getpeername()[:2])
        self.sending = threading.Lock()
        self.arrived: dict[Key, deque[bytearray]] = {}
        self.error: str | None = None


class Mesh:
    """The connections of process `rank` to the `size - 1` others. They find each other through the store."""

    def __init__(self, store: Store, rank: int, size: int, timeout: float) -> None:
        self.rank = rank
        self.size = size
        self._changing = threading.Lock()
        self._posted: dict[tuple[int | None, Key], deque[Receive]] = {}
        self._peers = {peer.rank: peer for peer in _meet(store, rank, size, timeout)}
        self._readers = [
            threading.Thread(target=self._read, args=(peer,), name=f"from rank {peer.rank}", daemon=True)
            for peer in self._peers.values()
        ]
        for reader in self._readers:
            reader.start()

    def send(self, destination: int, key: Key, memory: memoryview, timeout: float) -> None:
        """Sends a message: it is on its way when this returns, and the memory is free again."""
        peer = self._peer(destination)
        header = _HEADER.pack(*key, len(memory))
        with peer.sending:
            if peer.error is not None:
                raise RuntimeError(peer.error)
            seconds, fraction = divmod(timeout, 1)
            limit = struct.pack("ll", int(seconds), int(fraction * 1e6))
            try:
                peer.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
                if len(memory) < _SMALL:
                    peer.connection.sendall(header + memory)
                else:
                    peer.connection.sendall(header)
                    peer.connection.sendall(memory)
            except BlockingIOError:
                self._lose(peer, "Application timeout caused pair closure")
                message = f"Timed out waiting {round(timeout * 1000)}ms for send operation to complete"
                raise RuntimeError(message) from None
            except OSError as error:
                self._lose(peer, f"Connection closed by peer {peer.address}: {error.strerror}. {_ADVICE}")
                raise RuntimeError(peer.error) from None

    def post(self, source: int | None, key: Key, memory: memoryview, exact: bool) -> Receive:
        """Says where the next message of a sender (None: of any) with this key should go.

        With `exact` it has to fill the memory, otherwise it may be shorter.
        """
        receive = Receive(self, source, memory, exact)
        peers: Iterable[_Peer] = self._peers.values() if source is None else [self._peer(source)]
        with self._changing:
            for peer in peers:
                if messages := peer.arrived.get(key):
                    receive.take(messages.popleft(), peer.rank)
                    return receive
            errors = [peer.error for peer in peers]
            if errors and None not in errors:
                receive.future.set_exception(RuntimeError(errors[0]))
            else:
                self._posted.setdefault((source, key), deque()).append(receive)
        return receive

    def give_up(self, receive: Receive) -> None:
        """Closes the connection to a sender who was waited for in vain: what comes later must not be written."""
        if receive.source is None:
            with self._changing:
                for queue in self._posted.values():
                    if receive in queue:
                        queue.remove(receive)
        else:
            self._lose(self._peers[receive.source], "Application timeout caused pair closure")

    def close(self) -> None:
        """Closes all connections, and ends the threads."""
        for peer in self._peers.values():
            self._lose(peer, "The process group has been destroyed")
        for reader in self._readers:
            reader.join()

    def _peer(self, rank: int) -> _Peer:
        if rank not in self._peers:
            raise RuntimeError(
                f"Pair is not connected: rank {self.rank} of {self.size} can't send to or receive from {rank}"
            )
        return self._peers[rank]

    def _claim(self, rank: int, key: Key) -> Receive | None:
        """The receive that was posted first for such a message. The caller has the lock."""
        for place in ((rank, key), (None, key)):
            queue = self._posted.get(place)
            if queue:
                receive = queue.popleft()
                if not queue:
                    del self._posted[place]
                return receive
        return None

    def _read(self, peer: _Peer) -> None:
        """Takes what comes from one peer, until it comes no more."""
        receive = None
        try:
            while True:
                channel, tag, length = _HEADER.unpack(receive_exactly(peer.connection, _HEADER.size))
                with self._changing:
                    receive = self._claim(peer.rank, (channel, tag))
                if receive is not None and receive.fits(length):
                    receive_into(peer.connection, receive.memory[:length])
                    receive.future.set_result(peer.rank)
                else:
                    self._deliver(peer, (channel, tag), receive, receive_exactly(peer.connection, length))
                receive = None
        except OSError as error:
            self._lose(peer, f"Connection closed by peer {peer.address}: {error}. {_ADVICE}")
            if receive is not None:
                receive.future.set_exception(RuntimeError(peer.error))

    def _deliver(self, peer: _Peer, key: Key, receive: Receive | None, data: bytearray) -> None:
        with self._changing:
            receive = receive or self._claim(peer.rank, key)
            if receive is None:
                peer.arrived.setdefault(key, deque()).append(data)
                return
        receive.take(data, peer.rank)

    def _lose(self, peer: _Peer, error: str) -> None:
        """Notes why there is no connection any more, and tells all who wait for that peer."""
        with self._changing:
            if peer.error is not None:
                return
            peer.error = error
            alone = all(each.error is not None for each in self._peers.values())
            lost = [place for place in self._posted if place[0] == peer.rank or (alone and place[0] is None)]
            receives = [receive for place in lost for receive in self._posted.pop(place)]
        shut(peer.connection)
        for receive in receives:
            receive.future.set_exception(RuntimeError(error))


def _meet(store: Store, rank: int, size: int, timeout: float) -> list[_Peer]:
    """Connects to the processes below, and waits for those above to connect."""
    end = time.monotonic() + timeout
    # Who comes here for the second time finds the addresses of the first: each time has names of its own.
    store = PrefixStore(str((store.add("came", 1) - 1) // size), store)
    with socket.create_server((_own_address(store), 0), backlog=size) as listener:
        store.set(str(rank), "{}:{}".format(*listener.getsockname()[:2]))
        peers = []
        for other in range(rank):
            store.wait([str(other)], timedelta(seconds=max(end - time.monotonic(), 0.001)))
            host, _, port = store.get(str(other)).decode().rpartition(":")
            connection = socket.create_connection((host, int(port)), timeout)
            connection.sendall(_HELLO.pack(_LETTERS, rank))
            peers.append(_Peer(other, connection))
        while len(peers) < size - 1:
            listener.settimeout(max(end - time.monotonic(), 0.001))
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                raise RuntimeError("Wait timeout") from None
            greeting = _greeted(connection)
            if greeting is not None:
                peers.append(_Peer(greeting, connection))
    for peer in peers:
        peer.connection.settimeout(None)
        peer.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return peers


def _greeted(connection: socket.socket) -> int | None:
    """The rank of the process that has connected; None, and no connection, where it is none of the group."""
    connection.settimeout(1)
    try:
        letters, rank = _HELLO.unpack(receive_exactly(connection, _HELLO.size))
    except OSError:
        letters = b""
    if letters == _LETTERS:
        return int(rank)
    connection.close()
    return None


def _own_address(store: Store) -> str:
    """The address under which the others reach this machine.

    GLOO_SOCKET_IFNAME names the interface; otherwise it is the one on which this process reaches the store.
    """
    interface = os.environ.get("GLOO_SOCKET_IFNAME")
    if interface:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            request = struct.pack("256s", interface.partition(",")[0].encode())
            return socket.inet_ntoa(fcntl.ioctl(any_socket, 0x8915, request)[20:24])  # SIOCGIFADDR
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    if isinstance(store, TCPStore):
        return store.local_address
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def memory_of(array: Any) -> memoryview:
    """The bytes of an array without gaps."""
    return memoryview(array.reshape(-1).view("uint8"))
