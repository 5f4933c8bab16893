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

from minitorch.distributed.store import Store, Value, encoded, integer

_LENGTH = struct.Struct("<q")
_DELETED = -1
_USERS, _GONE = "efcount/", "cleanup/"


class FileStore(Store):
    """A log of all writes, which everybody replays: the last write of a key counts. A lock on the file orders them.

    The file is removed when all of `world_size` users have let go of their stores. A path can't be used twice as long
    as the file of the first time is there. Waiting that takes too long raises RuntimeError.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self._path = file_name
        self._values: dict[str, bytes] = {}
        self._position = 0
        self.add(_USERS, 1)
        if world_size > 0:
            weakref.finalize(self, _leave, file_name, world_size)

    @property
    def path(self) -> str:
        """Where the file is."""
        return self._path

    @contextlib.contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        """The file, for this process alone, with what was written so far replayed."""
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
            yield file

    def _write(self, file: BinaryIO, key: str, value: bytes | None) -> None:
        entry = _LENGTH.pack(len(key.encode())) + key.encode()
        file.write(entry + (_LENGTH.pack(_DELETED) if value is None else _LENGTH.pack(len(value)) + value))

    def set(self, key: str, value: Value) -> None:
        with self._locked() as file:
            self._write(file, key, encoded(value))

    def get(self, key: str) -> bytes:
        if not self._appear([key], self.timeout):
            raise RuntimeError(f"Timeout waiting for key: {key} after {_milliseconds(self.timeout)} ms")
        return self._values[key]

    def add(self, key: str, amount: int) -> int:
        with self._locked() as file:
            total = integer(self._values.get(key, b"0")) + amount
            self._write(file, key, str(total).encode())
        return total

    def compare_set(self, key: str, expected_value: Value, desired_value: Value) -> bytes:
        with self._locked() as file:
            expected, desired = encoded(expected_value), encoded(desired_value)
            present = self._values.get(key)
            if present == expected or (present is None and not expected):
                self._write(file, key, desired)
                return desired
            return expected if present is None else present

    def check(self, keys: Sequence[str]) -> bool:
        with self._locked():
            return all(key in self._values for key in keys)

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

    def delete_key(self, key: str) -> bool:
        with self._locked() as file:
            self._write(file, key, None)
            return key in self._values

    def num_keys(self) -> int:
        return len(self.list_keys())

    def list_keys(self) -> list[str]:
        with self._locked():
            return list(self._values)

    def append(self, key: str, value: Value) -> None:
        with self._locked() as file:
            self._write(file, key, self._values.get(key, b"") + encoded(value))

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
