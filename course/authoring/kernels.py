"""Runs all lessons and solutions with the kernels that OpenBLAS and NumPy have for other processors: `make kernels`.

Sums, products and functions differ in their last digits between them; what a notebook stores must not.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from minitorch.arrays.openblas import NEEDED, VARIABLE, described, facts

KERNELS = {"Prescott": {"pni"}, "Haswell": {"avx2", "fma"}, "SkylakeX": NEEDED}
"""Names that OpenBLAS knows, and what a processor must have for them, in Linux's words. `pni` is SSE3."""

NEWER = {"Prescott": "X86_V3 X86_V4 AVX512_ICL", "Haswell": "X86_V4 AVX512_ICL", "SkylakeX": ""}
"""Which of its own kernels NumPy then has to leave out.

Source: https://numpy.org/doc/stable/reference/simd/build-options.html
"""

FOLDERS = ("notebooks", "solutions")


class Configuration(NamedTuple):
    """One of the six, or one with the processor's own kernels: ""."""

    kernels: str
    threads: int

    @property
    def lacking(self) -> set[str]:
        """What this machine's processor would need besides."""
        return KERNELS.get(self.kernels, set()) - set(facts(described()).get("flags", "").split())

    def notebooks(self, workers: int, paths: Sequence[str] = FOLDERS) -> int:
        """Run the notebooks in these places and compare them with what they store; pytest's exit status."""
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(self.threads))
        command = [sys.executable, "-m", "pytest", "-n", str(workers), "--dist", "loadfile", "--nbval"]
        environment = os.environ | threads
        if self.kernels:
            environment |= {VARIABLE: self.kernels, "NPY_DISABLE_CPU_FEATURES": NEWER[self.kernels]}
        return subprocess.run([*command, *paths], env=environment, check=False).returncode

    def __str__(self) -> str:
        return f"{self.kernels or 'its own kernels'} with {self.threads} thread{'s' * (self.threads > 1)}"


RUNS = [Configuration(kernels, threads) for threads in (1, 2) for kernels in KERNELS]


def in_turn(number: int) -> tuple[Configuration, list[str]]:
    """Each run that this processor can do, or one as it is, as `number` grows, and half of the notebooks.

    The lesson of a chapter and its solutions are in different halves. Each run has had both after two rounds.
    """
    possible = [run for run in RUNS if not run.lacking] or [Configuration("", 1)]
    rounds, place = divmod(number, len(possible))
    lessons, solutions = ([str(path) for path in sorted(Path(folder).glob("*.ipynb"))] for folder in FOLDERS)
    return possible[place], [*lessons[rounds % 2 :: 2], *solutions[1 - rounds % 2 :: 2]]


@click.command()
@click.argument("numbers", nargs=-1, type=click.IntRange(1, len(RUNS)))
@click.option("--turn", type=int, help="One run of half of the notebooks, in turn.")
@click.option("--workers", type=int, default=2, show_default=True)
def main(numbers: tuple[int, ...], turn: int | None, workers: int) -> None:
    """Do the runs NUMBERS, or all of them."""
    failed = []
    chosen = [(RUNS[number - 1], FOLDERS) for number in numbers] or [(run, FOLDERS) for run in RUNS]
    for run, paths in [in_turn(turn)] if turn is not None else chosen:
        if run.lacking:
            click.echo(f"{run}: left out, since this processor lacks {' '.join(sorted(run.lacking))}")
            continue
        click.echo(f"{run}:")
        if run.notebooks(workers, paths):
            failed.append(str(run))
    if failed:
        raise click.ClickException(f"other outputs than stored: {', '.join(failed)}")


if __name__ == "__main__":
    main(prog_name="course.authoring.kernels")
