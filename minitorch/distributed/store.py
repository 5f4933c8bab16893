"""Tables of bytes by name that several processes see: how they find each other.

`Store` says what a store can do; HashStore is one process's own.
Source: https://pytorch.org/docs/stable/distributed.html#distributed-key-value-store
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

from minitorch.distributed.errors import DistStoreError, QueueEmptyError

Value = str | bytes


class Store:
    """Keys and values, which are bytes; text is stored as UTF-8. Waiting ends after `timeout`, with DistStoreError."""

    def __init__(self) -> None:
        self._timeout = timedelta(seconds=300)

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait unless they are told."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Changes `timeout`."""
        self._timeout = timeout

    def _do(self, operation: str, *arguments: Any) -> Any:
        """The method of this name, for a store that does the same for all of them. Values are bytes here."""
        raise NotImplementedError(f"{type(self).__name__}: {operation}")

    def set(self, key: str, value: Value) -> None:
        """Stores a value, in place of the one there may be."""
        self._do("set", key, encoded(value))

    def get(self, key: str) -> bytes:
        """The value of a key; waits until there is one."""
        return self._do("get", key)

    def add(self, key: str, amount: int) -> int:
        """Adds to a number, which is 0 before the first time, and returns the sum."""
        return self._do("add", key, amount)

    def compare_set(self, key: str, expected_value: Value, desired_value: Value) -> bytes:
        """Stores the desired value if the present one is the expected one, or if none is and "" is expected.

        Returns the value that is stored then; where there is none, the expected one.
        """
        return self._do("compare_set", key, encoded(expected_value), encoded(desired_value))

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are set."""
        return self._do("check", list(keys))

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Waits until all keys are set."""
        self._do("wait", list(keys), timeout)

    def delete_key(self, key: str) -> bool:
        """Removes a key; whether there was one."""
        return self._do("delete_key", key)

    def num_keys(self) -> int:
        """The number of keys, those that the store itself uses included."""
        return self._do("num_keys")

    def list_keys(self) -> list[str]:
        """The keys, in no order."""
        return self._do("list_keys")

    def append(self, key: str, value: Value) -> None:
        """Lengthens a value, which is empty before the first time."""
        self._do("append", key, encoded(value))

    def queue_push(self, key: str, value: Value) -> None:
        """Puts a value at the end of a queue."""
        self._do("queue_push", key, encoded(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Takes the first value of a queue; waits for one, or raises QueueEmptyError if `block` is false."""
        return self._do("queue_pop", key, block)

    def queue_len(self, key: str) -> int:
        """The number of values in a queue."""
        return self._do("queue_len", key)

    def clone(self) -> Store:
        """The same table, for the use of another thread."""
        return self._do("clone")

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[Value]) -> None:
        """Stores several values."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Whether there are `append`, `multi_get` and `multi_set`: in all stores."""
        return True


def encoded(value: Value) -> bytes:
    """A value as bytes. Raises TypeError for what is neither text nor bytes."""
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, bytes):
        raise TypeError(f"a store's values are str or bytes, not {type(value).__name__}")
    return value


class Table(Store):
    """A store whose values are in `_values` inside of `_locked`, where only this one may change them, by `_write`."""

    _values: dict[str, bytes]

    def _locked(self) -> AbstractContextManager[Any]:
        raise NotImplementedError

    def _write(self, key: str, value: bytes | None) -> None:
        """Stores a value, or with None removes the key."""
        raise NotImplementedError

    def set(self, key: str, value: Value) -> None:
        with self._locked():
            self._write(key, encoded(value))

    def add(self, key: str, amount: int) -> int:
        with self._locked():
            total = int(self._values.get(key, b"0")) + amount
            self._write(key, str(total).encode())
        return total

    def compare_set(self, key: str, expected_value: Value, desired_value: Value) -> bytes:
        expected, desired = encoded(expected_value), encoded(desired_value)
        with self._locked():
            present = self._values.get(key)
            if present == expected or (present is None and not expected):
                self._write(key, desired)
                return desired
            return expected if present is None else present

    def check(self, keys: Sequence[str]) -> bool:
        with self._locked():
            return all(key in self._values for key in keys)

    def delete_key(self, key: str) -> bool:
        with self._locked():
            is_there = key in self._values
            self._write(key, None)
            return is_there

    def num_keys(self) -> int:
        return len(self.list_keys())

    def list_keys(self) -> list[str]:
        with self._locked():
            return list(self._values)

    def append(self, key: str, value: Value) -> None:
        with self._locked():
            self._write(key, self._values.get(key, b"") + encoded(value))


class HashStore(Table):
    """A table in this process's memory, which several of its threads may use."""

    def __init__(self) -> None:
        super().__init__()
        self._values = {}
        self._queues: dict[str, deque[bytes]] = {}
        self._changed = threading.Condition()

    def _locked(self) -> threading.Condition:
        return self._changed

    def _write(self, key: str, value: bytes | None) -> None:
        if value is None:
            self._values.pop(key, None)
        else:
            self._values[key] = value
        self._changed.notify_all()

    def get(self, key: str) -> bytes:
        return self.multi_get([key])[0]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        with self._changed:
            self.wait(keys)
            return [self._values[key] for key in keys]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self._wait_until(lambda: all(key in self._values for key in keys), timeout)

    def _wait_until(self, condition: Callable[[], bool], timeout: timedelta | None = None) -> None:
        with self._changed:
            if not self._changed.wait_for(condition, (self.timeout if timeout is None else timeout).total_seconds()):
                raise DistStoreError("Wait timeout")

    def queue_push(self, key: str, value: Value) -> None:
        with self._changed:
            self._queues.setdefault(key, deque()).append(encoded(value))
            self._changed.notify_all()

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        with self._changed:
            if not block and not self._queues.get(key):
                raise QueueEmptyError("queue is empty")
            self._wait_until(lambda: bool(self._queues.get(key)))
            return self._queues[key].popleft()

    def queue_len(self, key: str) -> int:
        return len(self._queues.get(key, ()))

    def clone(self) -> HashStore:
        return self


class PrefixStore(Store):
    """A part of another store: it puts a prefix and a slash before each key."""

    def __init__(self, prefix: str, store: Store) -> None:
        self._prefix = prefix
        self._store = store

    @property
    def underlying_store(self) -> Store:
        """The store that has the keys."""
        return self._store

    @property
    def timeout(self) -> timedelta:
        return self._store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        self._store.set_timeout(timeout)

    def _full(self, key: str) -> str:
        return f"{self._prefix}/{key}"

    def _do(self, operation: str, *arguments: Any) -> Any:
        """Asks the other store. The first argument of all methods is the key, or the keys."""
        keys, *others = arguments
        full = self._full(keys) if isinstance(keys, str) else list(map(self._full, keys))
        return getattr(self._store, operation)(full, *others)

    def num_keys(self) -> int:
        return self._store.num_keys()

    def list_keys(self) -> list[str]:
        beginning = self._full("")
        return [key.removeprefix(beginning) for key in self._store.list_keys() if key.startswith(beginning)]

    def clone(self) -> PrefixStore:
        return PrefixStore(self._prefix, self._store.clone())
