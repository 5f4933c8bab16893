"""A store in a file that all processes can open.

Source: https://pytorch.org/docs/stable/distributed.html#torch.distributed.FileStore
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import time
import weakref
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import BinaryIO

from minitorch.distributed.store import Table

_LENGTH = struct.Struct("<q")
_DELETED = -1
_USERS, _GONE = "efcount/", "cleanup/"


class FileStore(Table):
    """A log of all writes, which everybody replays: the last write of a key counts. A lock on the file orders them.

    The file is removed when all of `world_size` users have let go of their stores. A path can't be used twice as long
    as the file of the first time is there. Waiting that takes too long raises RuntimeError.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self._path = file_name
        self._values = {}
        self._position = 0
        self.add(_USERS, 1)
        if world_size > 0:
            weakref.finalize(self, _leave, file_name, world_size)

    @property
    def path(self) -> str:
        """Where the file is."""
        return self._path

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """The file is this process's alone, and what was written so far is replayed."""
        with open(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(self._position)
            while (key := _read(file)) is not None:
                value = _read(file)
                if value is None:
                    self._values.pop(key.decode(), None)
                else:
                    self._values[key.decode()] = value
            self._position = file.tell()
            self._file = file
            yield

    def _write(self, key: str, value: bytes | None) -> None:
        entry = _LENGTH.pack(len(key.encode())) + key.encode()
        self._file.write(entry + (_LENGTH.pack(_DELETED) if value is None else _LENGTH.pack(len(value)) + value))

    def get(self, key: str) -> bytes:
        if not self._appear([key], self.timeout):
            raise RuntimeError(f"Timeout waiting for key: {key} after {_milliseconds(self.timeout)} ms")
        return self._values[key]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        if not self._appear(keys, self.timeout if timeout is None else timeout):
            raise RuntimeError("Wait timeout")

    def _appear(self, keys: Sequence[str], timeout: timedelta) -> bool:
        end = time.monotonic() + timeout.total_seconds()
        while not self.check(keys):
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def clone(self) -> FileStore:
        return FileStore(self._path)


def _read(file: BinaryIO) -> bytes | None:
    """The next key or value; None where there is none: at the end, and after a deleted key."""
    length = file.read(_LENGTH.size)
    if not length or _LENGTH.unpack(length)[0] == _DELETED:
        return None
    return file.read(_LENGTH.unpack(length)[0])


def _milliseconds(time: timedelta) -> int:
    return round(time.total_seconds() * 1000)


def _leave(path: str, world_size: int) -> None:
    """Counts one user less; the last of all that there should be removes the file."""
    if os.path.exists(path):
        store = FileStore(path)
        gone, users = store.add(_GONE, 1), store.add(_USERS, -2)
        if users == 0 and gone >= world_size:
            os.remove(path)
