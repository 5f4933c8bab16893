"""One submission: its answers run, what is wrong is explained, and parts are tried alone and together."""

import time
from collections.abc import Sequence
from dataclasses import replace

from course.checks import credit
from course.grading.pool import Pool
from course.grading.reference import Reference
from course.grading.report import Result
from course.grading.runner import Outcome, Task
from course.grading.score import score
from course.grading.submission import Submission
from course.grading.together import at_odds
from course.source.kinds import Share

_AFTER_TIMEOUT = 15.0  # seconds for a part of an exercise that ran too long as a whole


class Run:
    """The run of one submission, which has one budget of time for all that it does."""

    def __init__(
        self, result: Result, submission: Submission, reference: Reference, pool: Pool, by_part: bool = True
    ) -> None:
        """
        Args:
            result: is filled in.
            submission: what was answered.
            reference: what is right.
            pool: where answers run.
            by_part: try parts that have points of their own, where the whole does not pass.
        """
        self.by_part = by_part
        self.result, self.submission, self.reference, self.pool = result, submission, reference, pool
        self.outcomes: dict[str, Outcome] = {}
        self.at_odds: set[str] = set()  # `credit.key` of parts that are right alone, and not with each other
        self._used = 0.0

    def grade(self) -> dict[str, int]:
        """Fill in the result; the seed of each exercise that was run.

        Raises:
            ReferenceFailedError, SandboxError: the machine, or the course, has a fault.
        """
        reference = self.reference
        waiting = [name for name in self.submission.answered if not self.submission.untried(name)[0]]
        while waiting:
            reference.prepare(waiting, self.pool)
            self._run([reference.task(name, self.submission.solutions[name]) for name in waiting])
            wrong = [name for name in waiting if not self._passes(name)]
            waiting = reference.explain(wrong, self.pool)
            for name in wrong:
                if name not in waiting:
                    self._explain(name)
        for name in self.submission.answered if self.by_part else ():
            if reference.kits.kinds[name].shares and not self._passes(name):
                self._try_parts(name)
        result = self.result
        result.max_score = sum(about["points"] for about in reference.tasks.values())
        result.reason = "; ".join(self.submission.notes)
        result.seconds, result.status = round(self._used, 2), "graded"
        result.items = score(self.submission, reference, self.outcomes, self.at_odds)
        result.score = sum(item.points for item in result.items)
        return {name: reference.draws[name].seed for name in self.submission.answered if name in reference.draws}

    def _run(self, tasks: list[Task], most_seconds: float = float("inf")) -> None:
        started, limits = time.monotonic(), self.pool.limits
        self.outcomes |= self.pool.run(
            tasks,
            self.reference.expected(tasks),
            min(limits.cell_seconds, most_seconds),
            started + limits.wall_seconds - self._used,
        )
        self._used += time.monotonic() - started

    def _passes(self, key: str) -> bool:
        return key in self.outcomes and self.reference.verdict(key, self.outcomes[key])[0] == "passed"

    def _explain(self, name: str) -> None:
        """Compare wrong values once more, with what known mistakes show."""
        outcome, told = self.outcomes.get(name), self.reference.draws[name].told()
        if outcome and outcome.line and outcome.heard and outcome.heard.wrong and told["mistakes"]:
            self.outcomes[name] = replace(outcome, heard=self.pool.hear(outcome.line, told) or outcome.heard)

    def _try_parts(self, name: str) -> None:
        """Try each part that earns points of its own alone, and those that are right then together."""
        reference, text = self.reference, self.submission.solutions[name]
        shares = [s for s in reference.kits.kinds[name].shares if not self.submission.untried(name, s.parts)[0]]
        if not shares:
            return
        seconds = _AFTER_TIMEOUT if name in self.outcomes and self.outcomes[name].status == "timeout" else float("inf")
        reference.prepare([name], self.pool)  # of an answer that could not run as a whole nothing is known yet
        reference.explain([name], self.pool)
        reference.prepare_alone(name, [share.parts for share in shares], self.pool)
        self._run([reference.task(name, text, share.parts) for share in shares], seconds)

        def works(some: Sequence[Share]) -> bool:
            parts = [part for share in some for part in share.parts]
            if set(parts) == {*reference.kits.kinds[name].parts}:
                return False  # that is the whole, which did not pass
            self._run([reference.task(name, text, parts)], seconds)
            return self._passes(credit.key(name, parts))

        right = [share for share in shares if self._passes(credit.key(name, share.parts))]
        self.at_odds |= {credit.key(name, share.parts) for share in at_odds(right, works)}
