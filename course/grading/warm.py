"""Sandboxes that are started already: the imports and the setup of a chapter are done once for many submissions.

Each exercise runs in a fork of such a process, which kills all that the exercise started and empties what it could
write, and whose memory no exercise can reach. Yet an exercise may send it signals and lower its limits. So what is no
pass counts only if it comes from a sandbox that no other submission was in.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from course.grading import runner
from course.grading.bundle import Bundle
from course.grading.judge import Comparer
from course.grading.runner import Outcome, Started, Task
from course.sandbox.outside import Limits

_CELL_SECONDS = 10.0  # what takes longer is run again, with all the time that it may take
_NOTHING = Outcome("error")


@dataclass
class _Waiting:
    """A started process, and what ends it."""

    process: Started
    end: ExitStack


class Pool:
    """Started sandboxes of one grade, ready for the next submission. Close it to end them."""

    def __init__(self, seed: int, limits: Limits, stop: threading.Event, size: int) -> None:
        """
        Args:
            seed: of the checks.
            limits: what one exercise may use.
            stop: set, it ends what runs.
            size: how many wait at most; then the one that has waited longest is ended.
        """
        self.seed, self.limits, self.stop, self.size = seed, limits, stop, size
        self._hasty = replace(limits, cell_seconds=min(_CELL_SECONDS, limits.cell_seconds))
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

    def run(
        self, tasks: list[Task], expected: Mapping[str, Bundle], passes: Callable[[str, Outcome], bool]
    ) -> dict[str, Outcome]:
        """Run the tasks of a submission, at first in sandboxes that others were in; what does not pass, in new ones.

        Args:
            tasks: the exercises.
            expected: what their checks should show.
            passes: whether this outcome of this exercise is a pass.

        Raises:
            SandboxError: a sandbox could not be started, or the setup raised.
        """
        used: set[Path] = set()
        with self._comparer() as comparer:
            about = (self.seed, self.limits, self.stop, comparer.hear, expected)
            outcomes = runner.run(tasks, *about, lambda task: self._taken(task, used))
            doubtful = [task for task in tasks if task.packages in used]
            again = [each for each in doubtful if not passes(each.exercise, outcomes.get(each.exercise, _NOTHING))]
            return outcomes | runner.run(again, *about)

    @contextmanager
    def _comparer(self) -> Iterator[Comparer]:
        """A process that no other submission uses meanwhile."""
        with self._lock:
            comparer = self._comparers.pop() if self._comparers else Comparer()
        try:
            yield comparer
        finally:
            with self._lock:
                self._comparers.append(comparer)

    @contextmanager
    def _taken(self, task: Task, used: set[Path]) -> Iterator[Started]:
        waiting = self._take(task.packages)
        if waiting is None:
            waiting = self._start(task)
        else:
            used.add(task.packages)
            waiting.process.limits = self._hasty
        try:
            yield waiting.process
        except BaseException:
            waiting.end.close()
            raise
        if waiting.process.is_usable and waiting.process.process.alone:
            with self._lock:
                self._number += 1
                self._waiting[task.packages, self._number] = waiting
            self._trim(self.size)
        else:
            waiting.end.close()

    def _take(self, packages: Path) -> _Waiting | None:
        with self._lock:
            key = next((key for key in reversed(self._waiting) if key[0] == packages), None)
            return self._waiting.pop(key) if key else None

    def _start(self, task: Task) -> _Waiting:
        with ExitStack() as stack:
            process = stack.enter_context(runner.started(task, self.seed, self.limits, self.stop))
            return _Waiting(process, stack.pop_all())

    def _trim(self, size: int) -> None:
        """End what has waited longest, until no more than `size` wait."""
        while True:
            with self._lock:
                if len(self._waiting) <= size:
                    return
                _, longest = self._waiting.popitem(last=False)
            longest.end.close()
