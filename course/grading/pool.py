"""Sandboxes that are started already: the imports and the setup of a chapter are done once for all that runs.

Each exercise runs in a fork that shares nothing with the process that serves, or with another run
(`course.grading.inside`). Where a machine cannot set a fork apart so, each run of a learner's code has a sandbox of
its own, and the course's own answers share one that no learner's code is in.
"""

import functools
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.checks.bundle import Bundle
from course.grading import compare, runner
from course.grading.compare import Heard
from course.grading.judge import Comparer
from course.grading.runner import Outcome, Started, Task
from course.sandbox.launch import Limits


@dataclass
class _Waiting:
    """A started process, and what ends it."""

    process: Started
    end: ExitStack


class Pool:
    """Started sandboxes of one grade, ready for the next run. Close it to end them."""

    def __init__(
        self, limits: Limits, stop: threading.Event, size: int, jobs: int = 1, is_trusted: bool = False
    ) -> None:
        """
        Args:
            limits: what one submission may use.
            stop: set, it ends what runs.
            size: how many wait at most; then the one that has waited longest is ended.
            jobs: how many submissions are graded at a time. Each has its share of the cores, on which exercises that
                need different packages run side by side; none waits for another's, which may take all its time.
            is_trusted: all answers are the course's own, so that no run needs to be set apart from another.
        """
        self.is_trusted = is_trusted
        self.limits, self.stop, self.size = limits, stop, size
        # A sandbox ends with the thread that started it, so these live as long as the pool.
        self._share = max(1, (os.cpu_count() or 1) // jobs)
        self._threads = ThreadPoolExecutor(jobs * self._share)
        self._waiting: OrderedDict[tuple[Path, int], _Waiting] = OrderedDict()
        self._comparers: list[Comparer] = []
        self._lock = threading.Lock()
        self._number = 0

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the sandboxes that wait."""
        self._trim(0)
        while self._comparers:
            self._comparers.pop().close()
        self._threads.shutdown()

    def run(
        self, tasks: list[Task], expected: Mapping[str, Bundle], seconds: float, deadline: float
    ) -> dict[str, Outcome]:
        """Run a learner's answers; see `runner.run`.

        Raises:
            SandboxError: a sandbox could not be started, or the setup raised.
        """

        def some(group: list[Task]) -> dict[str, Outcome]:
            with self._comparer() as comparer:
                start = functools.partial(self._taken, is_trusted=self.is_trusted)
                return runner.run(group, start, seconds, deadline, comparer.hear, expected)

        return self._side_by_side(tasks, some)

    def run_own(self, tasks: list[Task], seconds: float, deadline: float) -> dict[str, Outcome]:
        """Run the course's own answers; what they show is kept.

        Raises:
            SandboxError: a sandbox could not be started, or the setup raised.
        """
        hear = functools.partial(compare.hear, keep=True)
        start = functools.partial(self._taken, is_trusted=True)
        return self._side_by_side(tasks, lambda group: runner.run(group, start, seconds, deadline, hear, {}))

    def hear(self, line: bytes, expected: Bundle) -> Heard | None:
        """Compare once more what an exercise showed."""

        def heard() -> Heard | None:
            with self._comparer() as comparer:
                return comparer.hear(line, expected)

        return self._threads.submit(heard).result()

    def _side_by_side(self, tasks: list[Task], some: Callable[[list[Task]], dict[str, Any]]) -> dict[str, Outcome]:
        """Run those with different packages at the same time, as many as a submission has cores."""
        groups: dict[Path, list[Task]] = {}
        for task in tasks:
            groups.setdefault(task.packages, []).append(task)
        outcomes: dict[str, Outcome] = {}
        rows = [[*groups.values()][first :: self._share] for first in range(self._share)]
        for row in self._threads.map(lambda row: [some(group) for group in row], filter(None, rows)):
            for each in row:
                outcomes |= each
        return outcomes

    @contextmanager
    def _comparer(self) -> Iterator[Comparer]:
        """A process that nobody else uses meanwhile."""
        with self._lock:
            comparer = self._comparers.pop() if self._comparers else Comparer()
        try:
            yield comparer
        finally:
            with self._lock:
                self._comparers.append(comparer)

    @contextmanager
    def _taken(self, task: Task, is_trusted: bool) -> Iterator[Started]:
        waiting = self._take(task.packages, is_trusted) or self._start(task, is_trusted)
        try:
            yield waiting.process
        except BaseException:
            waiting.end.close()
            raise
        if not waiting.process.is_usable:
            waiting.end.close()
            return
        with self._lock:
            self._number += 1
            self._waiting[task.packages, self._number] = waiting
        self._trim(self.size)

    def _take(self, packages: Path, is_trusted: bool) -> _Waiting | None:
        with self._lock:
            for key, waiting in reversed(self._waiting.items()):
                if key[0] == packages and (is_trusted or waiting.process.runs == "apart"):
                    return self._waiting.pop(key)
        return None

    def _start(self, task: Task, is_trusted: bool) -> _Waiting:
        with ExitStack() as stack:
            process = stack.enter_context(runner.started(task, self.limits, self.stop, is_trusted, not self.is_trusted))
            return _Waiting(process, stack.pop_all())

    def _trim(self, size: int) -> None:
        """End what has waited longest, until no more than `size` wait."""
        while True:
            with self._lock:
                if len(self._waiting) <= size:
                    return
                _, longest = self._waiting.popitem(last=False)
            longest.end.close()
