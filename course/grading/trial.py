"""What answers of the course's own would earn: they are run and scored as submissions are, many to an exercise."""

import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from course.files import Course
from course.grading.packages import Kits
from course.grading.pool import Pool
from course.grading.reference import Reference
from course.grading.report import Item, Result
from course.grading.run import Run
from course.grading.submission import Submission
from course.notebooks import notebook
from course.sandbox.launch import Limits
from course.source.exercises import Source


@contextmanager
def tried(source: Source, course: Course, seed: int, limits: Limits, jobs: int = 1) -> Iterator["Trial"]:
    """The exercises of a chapter as its source has them, ready to score answers on the inputs of a seed.

    Args:
        source: the chapter.
        course: where mytorch is.
        seed: what inputs are drawn from.
        limits: of each answer.
        jobs: how many run at a time.
    """
    made, stop = notebook.reference(source), threading.Event()
    with (
        tempfile.TemporaryDirectory(prefix="course-") as folder,
        Pool(limits, stop, jobs * 2, jobs, is_trusted=True) as pool,
    ):
        try:
            yield Trial(
                source.chapter, Reference(made, Kits(Path(folder) / "kits", course, made), seed, False), pool, jobs
            )
        finally:
            stop.set()


class Trial:
    """Scores answers to the exercises of one chapter."""

    def __init__(self, chapter: str, reference: Reference, pool: Pool, jobs: int) -> None:
        self.chapter, self.reference, self.pool, self.jobs = chapter, reference, pool, jobs

    def score(self, answers: Sequence[tuple[str, str]], by_part: bool = True) -> list[Item]:
        """The result of each answer, in order.

        Args:
            answers: the exercise, and the text of a solution cell.
            by_part: run each part alone, too, where the parts of an exercise have points of their own.
        """

        def one(answer: tuple[str, str]) -> Item:
            name, text = answer
            result = Result(name)
            Run(result, Submission(self.chapter, {name: text}, [name]), self.reference, self.pool, by_part).grade()
            return next(item for item in result.items if item.grade_id == name)

        with ThreadPoolExecutor(self.jobs) as threads:
            return list(threads.map(one, answers))
