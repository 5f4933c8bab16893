"""Results that are still being computed: `Future`, and waiting for several.

Source: https://pytorch.org/docs/stable/futures.html
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Generic[T]):
    """A value that somebody will `set_result` (or an exception, with `set_exception`), once.

    Callbacks run in the thread that sets it, or at once where it is set already.
    """

    def __init__(self, *, devices: Any = None) -> None:
        if devices:
            raise NotImplementedError("Future: devices")
        self._complete = threading.Event()
        self._changing = threading.Lock()
        self._callbacks: list[Callable[[Future[T]], Any]] = []
        self._value: Any = None
        self._error: BaseException | None = None

    def done(self) -> bool:
        """Whether there is a value or an exception."""
        return self._complete.is_set()

    def wait(self) -> T:
        """Waits for the value and returns it, or raises the exception that came instead."""
        self._complete.wait()
        return self.value()

    def value(self) -> T:
        """The value, or raises the exception. Raises RuntimeError where there is none yet."""
        if not self.done():
            raise RuntimeError("value() of a Future that is not completed: use wait()")
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value

    def done_within(self, seconds: float | None) -> bool:
        """Waits, but so long at the most (None: without end); whether it is done then."""
        return self._complete.wait(seconds)

    def exception_of(self) -> BaseException | None:
        """The exception that came instead of a value."""
        return self._error

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """The future of `callback(self)`, which is called when this one is done."""
        following: Future[Any] = Future()

        def follow(done: Future[T]) -> None:
            try:
                result = callback(done)
            except Exception as error:
                message = f"Got the following error when running the callback: {type(error).__name__}: {error}"
                failure = RuntimeError(message)
                failure.__cause__ = error
                following.set_exception(failure)
            else:
                following.set_result(result)

        self.add_done_callback(follow)
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Has `callback(self)` called when this is done."""
        with self._changing:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback(self)

    def set_result(self, result: T) -> None:
        """Completes this with a value. Raises RuntimeError where it is complete already."""
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Completes this with an exception, which `wait` and `value` will raise."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _finish(self, value: Any, error: BaseException | None) -> None:
        with self._changing:
            if self.done():
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                    "completed once."
                )
            self._value, self._error = value, error
            self._complete.set()
        for callback in self._callbacks:
            callback(self)
        self._callbacks.clear()


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """The future of the list itself: it is done when all of them are, with or without an exception."""
    together: Future[list[Future[Any]]] = Future()
    missing = [len(futures)]
    counting = threading.Lock()

    def arrived(_: Future[Any]) -> None:
        with counting:
            missing[0] -= 1
            last = missing[0] == 0
        if last:
            together.set_result(list(futures))

    for future in futures:
        future.add_done_callback(arrived)
    if not futures:
        together.set_result([])
    return together


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """The values of all, in their order; raises the exception of the first that has one."""
    return [future.wait() for future in futures]
