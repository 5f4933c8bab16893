"""What the checks of a chapter should show: from a run of the reference, or from what the build stored."""

import functools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nbformat import NotebookNode

from course.authoring.execute import WeakCheckError, expected_bundle
from course.authoring.notebook import OURS, checks, role, tasks
from course.grading import bundle, compare, credit, runner
from course.grading.bundle import Bundle
from course.grading.kit import Kits
from course.grading.runner import Outcome, Task
from course.grading.submission import Submission
from course.sandbox.outside import Limits

_LIMITS = Limits(cell_seconds=600, wall_seconds=3600)


class ReferenceFailedError(Exception):
    """A cell of the reference raised, which is no learner's fault."""


@dataclass
class Reference:
    """A chapter's exercises, the values that their checks should show, and what known wrong values tell."""

    notebook: NotebookNode
    kits: Kits
    expected: dict[str, Bundle]
    calls: set[str]  # exercises whose check calls what the learner writes
    # Each of them knows an exercise, and the exercise with only some of its parts the learner's (`credit.key`).
    needed: dict[str, tuple[str, ...]]
    """What an answer can reach (`course.grading.reach`), for the exercises for which that is limited."""

    def tasks(self, submission: Submission) -> list[Task]:
        """What runs for a submission: the exercises that it answers."""
        return [
            self._task(name, submission.solutions[name])
            for name in submission.answered
            if not submission.untried(name)[0]
        ]

    def tasks_alone(self, submission: Submission, outcomes: dict[str, Outcome]) -> list[Task]:
        """What runs next: of the exercises that did not pass, each part that earns points of its own."""
        return [
            self._task(name, submission.solutions[name], credit.key(name, share.parts), share.parts)
            for name in submission.answered
            if name not in outcomes or self.verdict(name, outcomes[name])[0] != "passed"
            for share in self.kits.kinds[name].shares
            if not submission.untried(name, share.parts)[0]
        ]

    def _task(self, exercise: str, solution: str, key: str = "", only: Sequence[str] = ()) -> Task:
        made = task(self.notebook, self.kits, exercise, solution, key, only)
        return replace(made, needed=self.needed.get(exercise))

    def verdict(self, exercise: str, outcome: Outcome) -> tuple[str, str]:
        """The status of an exercise, and why.

        It passes if its check called the learner's function and showed one bundle, of the expected values.
        """
        if outcome.status != "shown":
            return outcome.status, outcome.message
        if outcome.heard is None or outcome.heard.wrong is None:
            return "error", outcome.solution or "the check did not run"
        if not outcome.heard.wrong:
            if exercise in self.calls and outcome.heard.called is False:
                return "failed", "the values are right, but the check did not call your function"
            return "passed", ""
        if outcome.solution and self.kits.kinds[exercise.split(" ")[0]].must_run:
            return "error", outcome.solution
        return "failed", outcome.heard.wrong


def task(
    notebook: NotebookNode, kits: Kits, exercise: str, solution: str, key: str = "", only: Sequence[str] = ()
) -> Task:
    """One exercise with one solution, in which `only` some parts are the learner's if it names some.

    `key` is what the task is called, if not as the exercise.
    """
    kind = kits.kinds[exercise]
    setup = [cell for cell in notebook.cells if role(cell) == "setup"]
    return Task(
        key or exercise,
        solution,
        checks(notebook)[exercise].source,
        kind.watched,
        tuple(kind.parts),
        tuple(only),
        kits.packages(exercise),
        tuple(cell.source for cell in setup if kind.sets_up(cell.metadata[OURS].get("core", False))),
        kits.shared(exercise),
        kits.own(exercise, only),
    )


def stored(notebook: NotebookNode, kits: Kits) -> Reference:
    """The reference of a learner's notebook, whose checks hold the values of the practice seed."""
    about = tasks(notebook)
    expected = {
        name: {**expected_bundle(cell), "mistakes": about[name]["mutants"]} for name, cell in checks(notebook).items()
    }
    return Reference(notebook, kits, _with_shares(kits, expected), set(), {})


def _with_shares(kits: Kits, expected: dict[str, Bundle]) -> dict[str, Bundle]:
    """What each exercise should show, and so should it with some of its parts tried alone."""
    keys = {credit.key(name, share.parts): name for name in expected for share in kits.kinds[name].shares}
    return expected | {key: expected[name] for key, name in keys.items()}


def run(
    notebook: NotebookNode,
    kits: Kits,
    seed: int,
    explain: bool,
    stop: threading.Event,
    start: runner.Start | None = None,
) -> Reference:
    """Run the reference, and if `explain` the known wrong answers, as submissions are run.

    Raises:
        ReferenceFailedError: a cell raised.
        WeakCheckError: a known wrong answer got the reference's values, or a check did not show one bundle.
    """
    about = tasks(notebook)
    solutions = {cell.metadata[OURS]["exercise"]: cell.source for cell in notebook.cells if role(cell) == "solution"}
    mutants = {
        f"{name} {number}": (name, mutant)
        for name in about
        for number, mutant in enumerate(about[name]["mutants"] if explain else [])
    }
    shares = {credit.key(name, each.parts): (name, each) for name in about for each in kits.kinds[name].shares}
    every = [replace(task(notebook, kits, name, text), record=True) for name, text in solutions.items()]
    every += [task(notebook, kits, name, solutions[name], key, each.parts) for key, (name, each) in shares.items()]
    every += [task(notebook, kits, name, mutant["source"], key) for key, (name, mutant) in mutants.items()]
    every = [replace(each, reveal=True) for each in every]
    hear = functools.partial(compare.hear, keep=True)
    outcomes = runner.run(every, seed, _LIMITS, stop, hear, {}, start)
    expected: dict[str, Bundle] = {}
    calls: set[str] = set()
    needed: dict[str, tuple[str, ...]] = {}
    for name in solutions:
        outcome = outcomes.get(name, Outcome("error", "stopped"))
        if outcome.heard is None:
            raise ReferenceFailedError(f"{name}: {outcome.message}")
        if len(outcome.heard.shown) != 1:
            raise WeakCheckError(name, "the check should show one bundle of values")
        expected[name] = outcome.heard.shown[0]
        if outcome.heard.called:
            calls.add(name)
        if kits.kinds[name].closed:
            needed[name] = outcome.heard.used
    for key, (name, _) in shares.items():
        heard = outcomes[key].heard if key in outcomes else None
        if heard is None or [bundle.difference(expected[name], shown) for shown in heard.shown] != [""]:
            raise ReferenceFailedError(f"{key}: the reference's values are others with these parts alone")
        if heard.called:
            calls.add(key)
    known: dict[str, list[tuple[str, Bundle]]] = {name: [] for name in about}
    for key, (name, mutant) in mutants.items():
        heard = outcomes[key].heard if key in outcomes else None
        for shown in heard.shown if heard else ():
            if not bundle.difference(expected[name], shown):
                raise WeakCheckError(name, f"mutant {mutant['name']!r} passes the check")
            known[name].append((mutant["says"], shown))
    for name, shown in expected.items():
        shown["mistakes"] = bundle.known_mistakes(shown, known[name], str(seed))
        shown.pop("plain", None)
    return Reference(notebook, kits, _with_shares(kits, expected), calls, needed)
