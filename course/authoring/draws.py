"""Whether the inputs that a check draws tell the known mistakes from a right answer, whatever the seed.

    python -m course.authoring.draws 06 18_data --seeds 200

It reads the sources of the exercises, so nothing has to be built before. Only checks that draw their inputs are run.
"""

import ast
import json
import re
import secrets
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click
from nbformat import NotebookNode

from course import variables
from course.authoring import jitter
from course.chapters import key
from course.checks import bundle
from course.files import Course
from course.grading.packages import Kits
from course.grading.pool import Pool
from course.grading.reference import Reference
from course.grading.runner import Task
from course.notebooks.notebook import checks, exercise_of, role
from course.notebooks.notebook import reference as reference_notebook
from course.parsed import parsed
from course.sandbox.launch import Limits
from course.source.exercises import read_exercises
from course.source.parts import short

_DRAWS = re.compile(r"\bcheck\.(rng|seed)\(")
_SECONDS = 600.0  # for all seeds of one message
_AT_A_TIME = 20  # seeds for one message
_MARGIN = 10  # tolerances by which a mistake has to miss the reference's values
_ON_EACH_SEED = """
import json, os, signal, sys
from course import check

sys.setprofile(None)

def on(seed, reading, writing):
    if os.fork():
        os.close(writing)
        with os.fdopen(reading) as pipe:
            said = pipe.read()
        os.wait()
        return json.loads(said or '"the process ended"')
    signal.alarm(60)
    shown = []
    os.environ[{variable!r}], check.deliver = str(seed), shown.append
    try:
        exec({check!r}, dict(globals()))
        said = shown[0]
    except BaseException as error:
        said = f"{{type(error).__name__}}: {{error}}"
    with os.fdopen(writing, "w") as pipe:
        json.dump(said, pipe)
    os._exit(0)

check.deliver([on(seed, *os.pipe()) for seed in {seeds}])
"""
"""A check that runs another one with each of some seeds, in a fork, so that nothing of it meets the next."""

Said = bundle.Bundle | str
"""The values that a check shows, or why it shows none."""


class WeakDraw(NamedTuple):
    """What is wrong with the inputs that an exercise's check draws from a seed."""

    exercise: str
    what: str
    seed: int
    details: str


def exercises(path: Path) -> list[str]:
    """The exercises of a source whose check draws its inputs."""
    return [name for name, cell in checks(_read(path)).items() if _DRAWS.search(cell.source)]


def faults(
    course: Course, path: Path, chosen: Iterable[str], seeds: Sequence[int], twins: bool = False
) -> Iterator[WeakDraw]:
    """Run the reference and the known mistakes of the chosen exercises of a source, on each of these seeds.

    The reference has to show values, and the same ones with only some of its parts and on a machine that rounds
    differently. A mistake has to show others, by a margin, also with only the parts that it spoils. With `twins`,
    values that are equal to each other in all of these runs are found, too: one of them could go, or no mistake tells
    them apart.
    """
    notebook = _read(path)
    with (
        tempfile.TemporaryDirectory(prefix="course-") as folder,
        Pool(Limits(wall_seconds=3600), threading.Event(), size=8, is_trusted=True) as pool,
    ):
        reference = Reference(notebook, Kits(Path(folder) / path.parent.name, course, notebook), 0)
        for name in chosen:
            right, wrong = _right(reference, name), _wrong(reference, name)
            said = {what: _said(task, seeds, pool) for what, task in {**right, **wrong}.items()}
            for place, seed in enumerate(seeds):
                of_seed = {what: each[place] for what, each in said.items()}
                for what, details in _compared(of_seed, list(right), list(wrong)):
                    yield WeakDraw(name, what, seed, details)
            for names in _twins(said.values()) if twins else ():
                yield WeakDraw(name, f"{names} are equal in every run", seeds[0], "")


def _read(path: Path) -> NotebookNode:
    return reference_notebook(read_exercises(path))


def _right(reference: Reference, name: str) -> dict[str, Task]:
    """The runs of the reference, which have to show the same; the first is the plain one."""
    cells = reference.notebook.cells
    solution = next(cell.source for cell in cells if role(cell) == "solution" and exercise_of(cell) == name)
    plain = reference.own(name, solution, 0)
    alone = {
        f"the reference with {_names(share.parts)} alone": reference.own(name, solution, 0, only=share.parts)
        for share in reference.kits.kinds[name].shares
    }
    elsewhere = replace(plain, check=f"{jitter.SETUP.format(0)}\n{plain.check}")
    return {"the reference": plain, **alone, "the reference on another machine": elsewhere}


def _wrong(reference: Reference, name: str) -> dict[str, Task]:
    """The runs of the known mistakes."""
    runs = {}
    for mutant in reference.tasks[name]["mutants"]:
        runs[f"mutant {mutant['name']!r}"] = reference.own(name, mutant["source"], 0)
        for share in reference.kits.kinds[name].shares:
            if {*map(short, share.parts)} & {*mutant["spoils"]}:
                alone = reference.own(name, mutant["source"], 0, only=share.parts)
                runs[f"mutant {mutant['name']!r} with {_names(share.parts)} alone"] = alone
    return runs


def _names(parts: Iterable[str]) -> str:
    return " and ".join(map(short, parts))


def _said(task: Task, seeds: Sequence[int], pool: Pool) -> list[Said]:
    """What the check of a task says with each seed. The package with the answer is loaded once for all of them."""
    load, rest = _at_the_load(task.check) if task.parts else ("", task.check)
    said: list[Said] = []
    for begin in range(0, len(seeds), _AT_A_TIME):
        some = seeds[begin : begin + _AT_A_TIME]
        check = load + _ON_EACH_SEED.format(variable=variables.SEED, check=rest, seeds=some)
        ran = pool.run_own([replace(task, check=check)], _SECONDS, time.monotonic() + _SECONDS)
        outcome = ran[task.exercise]
        said += outcome.heard.shown[0] if outcome.heard else [outcome.message] * len(some)
    return said


def _at_the_load(check: str) -> tuple[str, str]:
    """A core exercise's check up to the call that loads the package, and what follows."""
    end = next(each.end_lineno for each in parsed(check).body if isinstance(each, ast.Assign))
    lines = check.split("\n")
    return "\n".join(lines[:end]), "\n".join(lines[end:])


def _compared(said: dict[str, Said], right: list[str], wrong: list[str]) -> Iterator[tuple[str, str]]:
    """What is wrong with what is said on one seed, and its details."""
    expected: Any = said[right[0]]
    if isinstance(expected, str):
        yield f"{right[0]} shows nothing", expected
        return
    for what in right[1:]:
        if different := _difference(expected, said[what]):
            yield f"{what} differs", different
    about = {**expected, **{name: _MARGIN * expected[name] for name in ("rtol", "atol")}}
    for what in wrong:
        if not _difference(expected, said[what]):
            yield f"{what} passes", ""
        elif not _difference(about, said[what]):
            yield f"{what} fails by less than {_MARGIN} tolerances", _difference(expected, said[what])


def _twins(said: Iterable[list[Said]]) -> Iterator[str]:
    """The names of values that are equal to each other wherever they are shown; those of every run alone."""
    shown: list[bundle.Bundle] = [
        each["plain" if "plain" in each else "values"] for run in said for each in run if not isinstance(each, str)
    ]
    alike: dict[str, list[str]] = defaultdict(list)
    for name in [each for each in shown[0] if all(each in values for values in shown)] if shown else ():
        alike[json.dumps([values[name] for values in shown], sort_keys=True)].append(name)
    return (" and ".join(map(repr, sorted(names))) for names in alike.values() if len(names) > 1)


def _difference(expected: bundle.Bundle, said: Said) -> str:
    return said if isinstance(said, str) else bundle.difference(expected, said)


@click.command()
@click.argument("chapters", nargs=-1)
@click.option("--seeds", "count", type=click.IntRange(min=1), default=200, show_default=True, help="How many.")
@click.option("--seed", type=click.IntRange(min=0), help="This one, in place of fresh ones.")
@click.option("--exercise", "only", multiple=True, metavar="NAME", help="Only these exercises.")
@click.option("--twins", is_flag=True, help="Also list values that no mistake tells apart.")
def main(chapters: tuple[str, ...], count: int, seed: int | None, only: tuple[str, ...], twins: bool) -> None:
    """Run the exercises of CHAPTERS, or of all, on many seeds, and list the inputs that are no good."""
    course = Course.find()
    wanted = {key(chapter) for chapter in chapters}
    seeds = [secrets.randbelow(2**31) for _ in range(count)] if seed is None else [seed]
    for path in sorted(course.chapters.glob("*/exercises.py")):
        if wanted and key(path.parent.name) not in wanted:
            continue
        chosen = [name for name in exercises(path) if not only or name in only]
        found: dict[tuple[str, str], list[WeakDraw]] = defaultdict(list)
        for fault in faults(course, path, chosen, seeds, twins):
            found[fault.exercise, fault.what].append(fault)
        click.echo(f"{path.parent.name}: {len(chosen)} exercises, {len(seeds)} seeds, {len(found)} faults")
        for (exercise, what), on in found.items():
            click.echo(f"  {exercise}: {what} (on {len(on)} seeds, such as {on[0].seed}) {on[0].details}".rstrip())


if __name__ == "__main__":
    main()
