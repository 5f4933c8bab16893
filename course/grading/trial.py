"""What answers of the course's own would earn: they are run and scored as submissions are, many to an exercise."""

import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from course.authoring import notebook
from course.authoring.source import Source
from course.files import Course
from course.grading import compare, runner
from course.grading.kit import Kits
from course.grading.reference import Reference
from course.grading.reference import run as run_reference
from course.grading.report import Item
from course.grading.runner import Outcome, Task
from course.grading.score import score
from course.grading.submission import Submission
from course.sandbox.outside import Limits


@contextmanager
def tried(source: Source, course: Course, seed: int) -> Iterator["Trial"]:
    """The exercises of a chapter as its source has them, ready to score answers on the inputs of a seed."""
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        made = notebook.reference(source)
        stop = threading.Event()
        try:
            reference = run_reference(made, Kits(Path(folder), course, made), seed, explain=False, stop=stop)
            yield Trial(source.chapter, reference, seed, stop)
        finally:
            stop.set()


class Trial:
    """Scores answers to the exercises of one chapter."""

    def __init__(self, chapter: str, reference: Reference, seed: int, stop: threading.Event) -> None:
        self.chapter, self.reference, self.seed, self.stop = chapter, reference, seed, stop

    def score(
        self, answers: Sequence[tuple[str, str]], limits: Limits, jobs: int = 1, by_part: bool = True
    ) -> list[Item]:
        """The result of each answer, in order.

        Args:
            answers: the exercise, and the text of a solution cell.
            limits: of each of them.
            jobs: how many run at a time.
            by_part: run each part alone, too, where the parts of an exercise have points of their own.
        """
        submissions = [Submission(self.chapter, {name: text}, [name]) for name, text in answers]
        found: list[dict[str, Outcome]] = [{} for _ in submissions]
        self._run([self.reference.tasks(each) for each in submissions], found, limits, jobs)
        if by_part:
            alone = [
                self.reference.tasks_alone(each, outcomes) for each, outcomes in zip(submissions, found, strict=True)
            ]
            self._run(alone, found, limits, jobs)
        items = [score(each, self.reference, outcomes) for each, outcomes in zip(submissions, found, strict=True)]
        return [
            next(item for item in every if item.grade_id == name)
            for every, (name, _) in zip(items, answers, strict=True)
        ]

    def _run(self, tasks: list[list[Task]], found: list[dict[str, Outcome]], limits: Limits, jobs: int) -> None:
        """Run the tasks of each submission, and enter what came of them: in one sandbox there are many of a name."""
        numbered = [(f"{place} {task.exercise}", place, task) for place, some in enumerate(tasks) for task in some]
        expected = {key: self.reference.expected[task.exercise] for key, _, task in numbered}
        named = [replace(task, exercise=key) for key, _, task in numbered]

        def run(some: list[Task]) -> dict[str, Outcome]:
            return runner.run(some, self.seed, limits, self.stop, compare.hear, expected)

        with ThreadPoolExecutor(jobs) as pool:
            outcomes = {
                key: each for part in pool.map(run, [named[n::jobs] for n in range(jobs)]) for key, each in part.items()
            }
        for key, place, task in numbered:
            found[place][task.exercise] = outcomes[key]
