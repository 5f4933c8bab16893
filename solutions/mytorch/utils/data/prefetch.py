"""Batches that are fetched ahead, by threads, and given in order."""

# 18 · Data
from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

Queue = SimpleQueue[Any]
STOP = None


def work(fetch: Callable[[Any], Any], tasks: Queue, results: Queue) -> None:
    """What a thread does until it finds `STOP`: take a task, fetch its batch, and report it or the error."""
    while (task := tasks.get()) is not STOP:
        number, chosen = task
        try:
            results.put((number, fetch(chosen), None))
        except Exception as error:
            results.put((number, None, error))


class Prefetcher:
    """An iterator over `fetch(chosen)` for each `chosen`. At most `num_workers * prefetch_factor` are ahead."""

    def __init__(
        self, fetch: Callable[[Any], Any], batches: Iterable[Any], num_workers: int, prefetch_factor: int
    ) -> None:
        self.tasks, self.results = Queue(), Queue()
        self.batches, self.asked, self.received, self.given = iter(batches), 0, 0, 0
        self.arrived: dict[int, tuple[Any, Exception | None]] = {}
        self.threads = [
            Thread(target=work, args=(fetch, self.tasks, self.results), daemon=True) for _ in range(num_workers)
        ]
        for each in self.threads:
            each.start()
        for _ in range(num_workers * prefetch_factor):
            self._ask()

    def _ask(self) -> None:
        """Put the next task, with its number, into the queue, if there is one."""
        for chosen in self.batches:
            self.tasks.put((self.asked, chosen))
            self.asked += 1
            return

    def _receive(self) -> None:
        """Wait for a result, and keep it in `arrived`; raises where none can come."""
        while self.received < self.asked:
            with suppress(Empty):
                number, batch, error = self.results.get(timeout=0.1)
                self.arrived[number] = batch, error
                self.received += 1
                return
            if not all(each.is_alive() for each in self.threads):
                raise RuntimeError("DataLoader worker exited unexpectedly")
        raise RuntimeError("no batch is on its way")

    def __iter__(self) -> Prefetcher:
        return self

    def __next__(self) -> Any:
        """The next batch in order; raises what its fetch raised."""
        if self.given == self.asked:
            self.close()
            raise StopIteration
        while self.given not in self.arrived:
            self._receive()
        batch, error = self.arrived.pop(self.given)
        self.given += 1
        self._ask()
        if error is not None:
            raise error
        return batch

    def close(self) -> None:
        """Throw away what nobody has begun, and end the threads."""
        with suppress(Empty):
            while True:
                self.tasks.get_nowait()
        for _ in self.threads:
            self.tasks.put(STOP)

    def __del__(self) -> None:
        self.close()
