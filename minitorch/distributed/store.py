"""Tables of bytes by name that several processes see: how they find each other.

`Store` says what a store can do; HashStore is one process's own.
Source: https://pytorch.org/docs/stable/distributed.html#distributed-key-value-store
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from datetime import timedelta

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

    def set(self, key: str, value: Value) -> None:
        """Stores a value, in place of the one there may be."""
        raise NotImplementedError(f"{type(self).__name__}: set")

    def get(self, key: str) -> bytes:
        """The value of a key; waits until there is one."""
        raise NotImplementedError(f"{type(self).__name__}: get")

    def add(self, key: str, amount: int) -> int:
        """Adds to a number, which is 0 before the first time, and returns the sum."""
        raise NotImplementedError(f"{type(self).__name__}: add")

    def compare_set(self, key: str, expected_value: Value, desired_value: Value) -> bytes:
        """Stores the desired value if the present one is the expected one, or if none is and "" is expected.

        Returns the value that is stored then; where there is none, the expected one.
        """
        raise NotImplementedError(f"{type(self).__name__}: compare_set")

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are set."""
        raise NotImplementedError(f"{type(self).__name__}: check")

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Waits until all keys are set."""
        raise NotImplementedError(f"{type(self).__name__}: wait")

    def delete_key(self, key: str) -> bool:
        """Removes a key; whether there was one."""
        raise NotImplementedError(f"{type(self).__name__}: delete_key")

    def num_keys(self) -> int:
        """The number of keys, those that the store itself uses included."""
        raise NotImplementedError(f"{type(self).__name__}: num_keys")

    def list_keys(self) -> list[str]:
        """The keys, in no order."""
        raise NotImplementedError(f"{type(self).__name__}: list_keys")

    def append(self, key: str, value: Value) -> None:
        """Lengthens a value, which is empty before the first time."""
        raise NotImplementedError(f"{type(self).__name__}: append")

    def queue_push(self, key: str, value: Value) -> None:
        """Puts a value at the end of a queue."""
        raise NotImplementedError(f"{type(self).__name__}: queue_push")

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Takes the first value of a queue; waits for one, or raises QueueEmptyError if `block` is false."""
        raise NotImplementedError(f"{type(self).__name__}: queue_pop")

    def queue_len(self, key: str) -> int:
        """The number of values in a queue."""
        raise NotImplementedError(f"{type(self).__name__}: queue_len")

    def clone(self) -> Store:
        """The same table, for the use of another thread."""
        raise NotImplementedError(f"{type(self).__name__}: clone")

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


def integer(value: bytes) -> int:
    """The number that was stored as its digits. Raises ValueError, with the words of C++, for anything else."""
    try:
        return int(value)
    except ValueError:
        raise ValueError("stoll") from None


class HashStore(Store):
    """A table in this process's memory, which several of its threads may use."""

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, bytes] = {}
        self._queues: dict[str, deque[bytes]] = {}
        self._changed = threading.Condition()

    def set(self, key: str, value: Value) -> None:
        with self._changed:
            self._values[key] = encoded(value)
            self._changed.notify_all()

    def get(self, key: str) -> bytes:
        with self._changed:
            self.wait([key])
            return self._values[key]

    def add(self, key: str, amount: int) -> int:
        with self._changed:
            total = integer(self._values.get(key, b"0")) + amount
            self.set(key, str(total))
            return total

    def compare_set(self, key: str, expected_value: Value, desired_value: Value) -> bytes:
        with self._changed:
            expected = encoded(expected_value)
            present = self._values.get(key)
            if present == expected or (present is None and not expected):
                self.set(key, desired_value)
                return self._values[key]
            return expected if present is None else present

    def check(self, keys: Sequence[str]) -> bool:
        with self._changed:
            return all(key in self._values for key in keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        with self._changed:
            seconds = (self.timeout if timeout is None else timeout).total_seconds()
            if not self._changed.wait_for(lambda: all(key in self._values for key in keys), seconds):
                raise DistStoreError("Wait timeout")

    def delete_key(self, key: str) -> bool:
        with self._changed:
            return self._values.pop(key, None) is not None

    def num_keys(self) -> int:
        return len(self._values)

    def list_keys(self) -> list[str]:
        with self._changed:
            return list(self._values)

    def append(self, key: str, value: Value) -> None:
        with self._changed:
            self.set(key, self._values.get(key, b"") + encoded(value))

    def queue_push(self, key: str, value: Value) -> None:
        with self._changed:
            self._queues.setdefault(key, deque()).append(encoded(value))
            self._changed.notify_all()

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        with self._changed:
            if not block and not self._queues.get(key):
                raise QueueEmptyError("queue is empty")
            if not self._changed.wait_for(lambda: bool(self._queues.get(key)), self.timeout.total_seconds()):
                raise DistStoreError("Wait timeout")
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

    def set(self, key: str, value: Value) -> None:
        self._store.set(self._full(key), value)

    def get(self, key: str) -> bytes:
        return self._store.get(self._full(key))

    def add(self, key: str, amount: int) -> int:
        return self._store.add(self._full(key), amount)

    def compare_set(self, key: str, expected_value: Value, desired_value: Value) -> bytes:
        return self._store.compare_set(self._full(key), expected_value, desired_value)

    def check(self, keys: Sequence[str]) -> bool:
        return self._store.check([self._full(key) for key in keys])

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self._store.wait([self._full(key) for key in keys], timeout)

    def delete_key(self, key: str) -> bool:
        return self._store.delete_key(self._full(key))

    def num_keys(self) -> int:
        return self._store.num_keys()

    def list_keys(self) -> list[str]:
        beginning = self._full("")
        return [key[len(beginning) :] for key in self._store.list_keys() if key.startswith(beginning)]

    def append(self, key: str, value: Value) -> None:
        self._store.append(self._full(key), value)

    def queue_push(self, key: str, value: Value) -> None:
        self._store.queue_push(self._full(key), value)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        return self._store.queue_pop(self._full(key), block)

    def queue_len(self, key: str) -> int:
        return self._store.queue_len(self._full(key))

    def clone(self) -> PrefixStore:
        return PrefixStore(self._prefix, self._store.clone())
