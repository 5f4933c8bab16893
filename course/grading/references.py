"""The references of all chapters, each made when a submission needs it."""

import secrets
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from course.files import Course
from course.grading.packages import Kits
from course.grading.reference import Reference, ReferenceFailedError, stored
from course.grading.report import Redrawn
from course.notebooks.notebook import read_built


class References:
    """The references of one grade."""

    def __init__(
        self,
        sources: Mapping[str, Path],
        course: Course,
        folder: Path,
        seed: int,
        explain: bool = True,
        redrawn: Iterable[Redrawn] = (),
        are_stored: bool = False,
    ) -> None:
        """
        Args:
            sources: by chapter, its notebook.
            course: which course it is.
            folder: for what the exercises can import.
            seed: what inputs are drawn from.
            explain: find out what known mistakes show.
            redrawn: exercises that begin with another seed.
            are_stored: the notebooks are a learner's, and hold what checks should show.
        """
        self.sources, self.seed = sources, seed
        self._course, self._folder, self._explain, self._are_stored = course, folder, explain, are_stored
        self._redrawn = {each.exercise: each for each in redrawn}
        self._made: dict[str, Reference] = {}
        self._locks = {chapter: threading.Lock() for chapter in sources}

    def of(self, chapter: str) -> Reference:
        """The reference of a chapter.

        Raises:
            ReferenceFailedError: it could not be made.
        """
        with self._locks[chapter]:
            if chapter not in self._made:
                try:
                    self._made[chapter] = self._make(chapter)
                except Exception as error:
                    raise ReferenceFailedError(str(error)) from error
            return self._made[chapter]

    def seeds(self, chapter: str) -> dict[str, int]:
        """What the exercises of a chapter are drawn from, as far as that is known."""
        made = self._made.get(chapter)
        return {name: draw.seed for name, draw in made.draws.items()} if made else {}

    def redrawn(self) -> list[Redrawn]:
        """The exercises that were drawn again, in this grade or in the one that it goes on with."""
        found = dict(self._redrawn)
        for made in self._made.values():
            found |= made.redrawn
        return [found[name] for name in sorted(found)]

    def _make(self, chapter: str) -> Reference:
        notebook = read_built(self.sources[chapter])
        kits = Kits(self._folder / chapter, self._course, notebook)
        if self._are_stored:
            return stored(notebook, kits, self.seed)
        return Reference(notebook, kits, self.seed, self._explain, None, self._redrawn.values(), secrets.token_hex())
