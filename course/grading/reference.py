"""What the checks of a chapter should show: from runs of the reference, or from what the build stored.

It is found out when an answer needs it, for each exercise alone: the reference's values before the first answer is
run, the values of known mistakes when an answer is wrong, and a part's alone when a part is tried alone.
"""

import hashlib
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from nbformat import NotebookNode

from course.checks import bundle, credit
from course.checks.bundle import Bundle
from course.checks.mistakes import Mistake
from course.grading.packages import Kits
from course.grading.pool import Pool
from course.grading.report import Redrawn
from course.grading.runner import Outcome, Task
from course.notebooks.notebook import OURS, checks, exercise_of, expected_bundle, role, tasks
from course.variants import keyed

_DRAWS = 5
_SECONDS, _WALL_SECONDS = 600, 3600  # for the course's own answers


class ReferenceFailedError(Exception):
    """The reference raised, whatever was drawn, which is no learner's fault."""


@dataclass
class Draw:
    """An exercise on one draw of its inputs: the seed, and what its check should show.

    `calls` holds the exercise if its check calls what the learner writes, and `credit.key` of its parts where it does
    with these alone. `needed` is what an answer can reach (`course.grading.reach`), or None if that is not limited.
    `mistakes` is None until it was found out what known mistakes show.
    """

    seed: int
    expected: Bundle
    calls: set[str] = field(default_factory=set)
    mistakes: list[Mistake] | None = None
    needed: tuple[str, ...] | None = None
    shares: set[str] = field(default_factory=set)  # `credit.key` of the parts that the reference was run with alone

    def told(self) -> Bundle:
        """What its check should show, with what can be said about other values."""
        return {**self.expected, "mistakes": self.mistakes or []}


class Reference:
    """A chapter's exercises, and what their checks should show."""

    def __init__(
        self,
        notebook: NotebookNode,
        kits: Kits,
        seed: int,
        explain: bool = True,
        draws: Mapping[str, Draw] | None = None,
        redrawn: Iterable[Redrawn] = (),
        key: str = "",
    ) -> None:
        """
        Args:
            notebook: with the solutions; or as the learner has it, if all draws are given.
            kits: what the exercises can import.
            seed: what the inputs of all exercises are drawn from at first.
            explain: find out what known mistakes show.
            draws: by exercise, what is known already.
            redrawn: exercises that begin with another seed, as in an earlier grade.
            key: of what counts work (`course.work`), which no answer may know.
        """
        self.key = key
        self.notebook, self.kits, self.seed, self.explains = notebook, kits, seed, explain
        self.draws = dict(draws or {})
        self.tasks = tasks(notebook)
        self.says = {name: [mutant["says"] for mutant in about["mutants"]] for name, about in self.tasks.items()}
        self.redrawn = {each.exercise: each for each in redrawn if each.exercise in self.tasks}
        self._solutions = {exercise_of(cell): cell.source for cell in notebook.cells if role(cell) == "solution"}
        self._locks = {name: threading.RLock() for name in self.tasks}

    def prepare(self, exercises: Iterable[str], pool: Pool) -> None:
        """Find out what the checks of these exercises should show.

        Raises:
            ReferenceFailedError: the reference fails, whatever is drawn.
            SandboxError: it could not be run.
        """
        with ExitStack() as held:
            for name in sorted(exercises):
                held.enter_context(self._locks[name])
            new = [name for name in exercises if name not in self.draws]
            runs = [self._recorded(name, self._seed(name)) for name in new]
            outcomes = self._run(runs, pool)
            for name in new:
                if trouble := _trouble(outcomes[name]):
                    self._draw_again(name, f"the reference failed: {trouble}", pool)
                else:
                    self._keep(name, self._seed(name), outcomes[name])

    def explain(self, exercises: Iterable[str], pool: Pool) -> list[str]:
        """Find out what known mistakes in these exercises show. Where one shows the right values, draw again.

        Returns:
            The exercises whose inputs were drawn again: answers to them have to run again.

        Raises:
            ReferenceFailedError: the reference fails on all that was drawn again.
            SandboxError: it could not be run.
        """
        again = []
        for name in exercises if self.explains else ():
            with self._locks[name]:
                if self.draws[name].mistakes is not None:
                    continue
                for left in reversed(range(_DRAWS)):
                    passing = self._explain(name, pool, is_last=not left)
                    if not passing:
                        break
                    again.append(name)
                    self._draw_again(name, f"the known mistake {passing!r} shows the right values", pool)
        return list(dict.fromkeys(again))

    def prepare_alone(self, exercise: str, chosen: Iterable[Sequence[str]], pool: Pool) -> None:
        """Find out whether the check calls these parts of an exercise, each of them tried alone.

        Raises:
            ReferenceFailedError: with the reference's own part alone it shows other values.
        """
        with self._locks[exercise]:
            draw, text = self.draws[exercise], self._solutions[exercise]
            keys = {credit.key(exercise, list(parts)): parts for parts in chosen}
            runs = [
                self.own(exercise, text, draw.seed, key, parts) for key, parts in keys.items() if key not in draw.shares
            ]
            for key, outcome in (self._run(runs, pool) if runs else {}).items():
                heard = outcome.heard
                if heard is None or [bundle.difference(draw.expected, shown) for shown in heard.shown] != [""]:
                    raise ReferenceFailedError(f"{key}: the reference's values are others with these parts alone")
                draw.shares.add(key)
                draw.calls |= {key} if heard.called else set()

    def task(self, exercise: str, solution: str, only: Sequence[str] = ()) -> Task:
        """What runs for an answer, in which `only` some parts are the learner's if it names some."""
        key = credit.key(exercise, list(only)) if only else exercise
        draw = self.draws[exercise]
        return replace(self._task(exercise, solution, draw.seed, key, only), needed=draw.needed)

    def expected(self, runs: Iterable[Task]) -> dict[str, Bundle]:
        """What the checks of these runs should show."""
        return {run.exercise: self.draws[run.exercise.split(" ")[0]].told() for run in runs}

    def verdict(self, key: str, outcome: Outcome) -> tuple[str, str]:
        """The status of a run, and why.

        It passes if its check called the learner's function and showed one bundle, of the expected values.
        """
        exercise = key.split(" ")[0]
        if outcome.status != "shown":
            return outcome.status, outcome.message
        if outcome.heard is None or outcome.heard.wrong is None:
            return "error", outcome.solution or "the check did not run"
        if not outcome.heard.wrong:
            if key in self.draws[exercise].calls and outcome.heard.called is False:
                return "failed", "the values are right, but the check did not call your function"
            return "passed", ""
        if outcome.solution and self.kits.kinds[exercise].must_run:
            return "error", outcome.solution
        return "failed", outcome.heard.wrong

    def share(self, exercise: str, outcome: Outcome) -> float:
        """The share of an exercise's points that a run earns which did not pass."""
        heard = outcome.heard
        is_called = heard is not None and (exercise not in self.draws[exercise].calls or heard.called is not False)
        return heard.share if heard and is_called and not outcome.solution else 0.0

    def _seed(self, name: str) -> int:
        return self.redrawn[name].seed if name in self.redrawn else self.seed

    def _draw_again(self, name: str, reason: str, pool: Pool) -> None:
        """Give an exercise other inputs, on which the reference does not fail."""
        trouble = reason
        for _ in range(_DRAWS):
            seed = int.from_bytes(hashlib.sha256(f"{self._seed(name)} {name}".encode()).digest()[:4], "big") >> 1
            self.redrawn[name] = Redrawn(name, seed, reason)
            outcome = self._run([self._recorded(name, seed)], pool)[name]
            if not (trouble := _trouble(outcome)):
                self._keep(name, seed, outcome)
                return
        raise ReferenceFailedError(f"{name}: {trouble}")

    def _keep(self, name: str, seed: int, outcome: Outcome) -> None:
        """Keep what the reference showed, and what it used."""
        heard = outcome.heard
        assert heard is not None
        needed = heard.used if self.kits.kinds[name].closed else None
        self.draws[name] = Draw(seed, heard.shown[0], {name} if heard.called else set(), needed=needed)

    def _explain(self, name: str, pool: Pool, is_last: bool) -> str:
        """Find out what the known mistakes of an exercise show; the name of one that shows the right values.

        The last draw serves all the same: a mistake is not recognised then, which is better than no grade.
        """
        draw, mutants = self.draws[name], self.tasks[name]["mutants"]
        runs = {f"{name} {place}": mutant for place, mutant in enumerate(mutants)}
        outcomes = self._run([self.own(name, it["source"], draw.seed, key) for key, it in runs.items()], pool)
        known: list[tuple[str, Bundle]] = []
        for key, mutant in runs.items():
            heard = outcomes[key].heard
            for shown in heard.shown if heard else ():
                if bundle.difference(draw.expected, shown):
                    known.append((mutant["says"], shown))
                elif not is_last:
                    return str(mutant["name"])
        draw.mistakes = bundle.known_mistakes(draw.expected, known, str(draw.seed))
        return ""

    def _run(self, runs: list[Task], pool: Pool) -> dict[str, Outcome]:
        stopped = {run.exercise: Outcome("error", "stopped") for run in runs}
        return stopped | ({} if pool.stop.is_set() else pool.run_own(runs, _SECONDS, time.monotonic() + _WALL_SECONDS))

    def _recorded(self, name: str, seed: int) -> Task:
        """The run of the reference that tells what it shows, and what it uses."""
        return replace(self.own(name, self._solutions[name], seed), record=True)

    def own(self, name: str, text: str, seed: int, key: str = "", only: Sequence[str] = ()) -> Task:
        """The run of one of the course's own answers."""
        return replace(self._task(name, text, seed, key or name, only), reveal=True)

    def _task(self, exercise: str, solution: str, seed: int, key: str, only: Sequence[str]) -> Task:
        kind = self.kits.kinds[exercise]
        try:
            packages = self.kits.packages(exercise)
        except (LookupError, OSError) as error:
            raise ReferenceFailedError(str(error)) from error
        setup = [cell for cell in self.notebook.cells if role(cell) == "setup"]
        return Task(
            key,
            solution,
            checks(self.notebook)[exercise].source,
            kind.watched,
            tuple(kind.parts),
            tuple(only),
            packages,
            tuple(cell.source for cell in setup if kind.sets_up(cell.metadata[OURS].get("core", False))),
            self.kits.shared(exercise),
            self.kits.own(exercise, only),
            seed,
            tuple(keyed(text, self.key) for text in self._shuffled(self.tasks[exercise].get("variants", ()))),
        )

    def _shuffled(self, texts: Iterable[str]) -> list[str]:
        """Variants in an order of this grade's: what an earlier grade told about the fifth says nothing about this."""
        return sorted(texts, key=lambda text: hashlib.sha256(f"{self.key} {text}".encode()).digest())


def stored(notebook: NotebookNode, kits: Kits, seed: int) -> Reference:
    """The reference of a learner's notebook, whose checks hold the values of the practice seed."""
    known = {name: about["mutants"] for name, about in tasks(notebook).items()}
    alone = {name: {credit.key(name, share.parts) for share in kits.kinds[name].shares} for name in known}
    draws = {
        name: Draw(seed, expected_bundle(cell), mistakes=known[name], shares=alone[name])
        for name, cell in checks(notebook).items()
    }
    return Reference(notebook, kits, seed, explain=False, draws=draws)


def _trouble(outcome: Outcome) -> str:
    """Why a run of the reference tells nothing."""
    if outcome.heard is None or outcome.solution:
        return outcome.solution or outcome.message
    return "" if len(outcome.heard.shown) == 1 else "the check should show one bundle of values"
