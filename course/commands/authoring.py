"""Commands on the sources of the course: build, prove and release it."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from course.commands import FILE, main
from course.files import Course


@main.command()
@click.argument("chapters", nargs=-1)
@click.option("--check", is_flag=True, help="Build into a temporary folder and list the files that differ.")
@click.option("--stored", is_flag=True, help="With --check: don't run the cells, whose outputs nbval compares.")
@click.option(
    "--jitter",
    type=click.IntRange(0, 4),
    metavar="MACHINE",
    help="Run them with the rounding of another machine, 0 to 4, and list the cells whose output changes.",
)
@click.pass_obj
def build(course: Course, chapters: tuple[str, ...], check: bool, stored: bool, jitter: int | None) -> None:
    """Build the notebooks of chapters from their sources.

    Without CHAPTERS, all chapters are built.
    """
    from course.authoring.build import build as build_notebooks
    from course.authoring.build import differences, differences_with_jitter
    from course.source.exercises import SourceError

    if stored and not check:
        raise click.UsageError("--stored needs --check")
    if not course.chapters.is_dir():
        raise click.ClickException(f"{course.root} has no folder chapters/ to build notebooks from")
    if jitter is not None and check:
        raise click.UsageError("--jitter can't be combined with --check")
    try:
        if jitter is not None:
            found = differences_with_jitter(course, jitter, chapters)
            click.echo("\n".join(found) if found else "No cell shows the last digits of sums and products.")
            sys.exit(bool(found))
        if check:
            found = differences(course, chapters, stored)
            click.echo("\n".join(found) if found else "Every notebook is what its source makes.")
            sys.exit(bool(found))
        for path in build_notebooks(course, chapters):
            kept = "kept a copy: " if path.is_relative_to(course.mine) else ""
            click.echo(f"{kept}{path.relative_to(course.root)}")
    except SourceError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.argument("archive", type=FILE)
@click.option("--grader", is_flag=True, help="Write the grader's archive instead, which has the solutions.")
@click.option(
    "--graded",
    metavar="06,07",
    default="",
    help="Leave out the reference of what these chapters' core exercises ask for.",
)
@click.pass_obj
def release(course: Course, archive: Path, grader: bool, graded: str) -> None:
    """Write a zip file of the course for students.

    ARCHIVE contains the files that git tracks, without the solved notebooks and their sources.
    """
    from course.authoring.release import release as write_release

    if grader and graded:
        raise click.UsageError("--graded applies to the students' archive; the grader's contains the whole reference")
    try:
        files, needed = write_release(course, archive, grader, filter(None, graded.split(",")))
    except LookupError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{archive}: {len(files)} files")
    for part in needed:
        click.echo(f"the reference of {part} is included all the same, because mytorch can't be imported without it")


@main.command()
@click.argument("chapters", nargs=-1, required=True)
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("source"),
    show_default=True,
    help="The folder for the assignments.",
)
@click.pass_obj
def nbgrader(course: Course, chapters: tuple[str, ...], folder: Path) -> None:
    """Write the source notebooks of nbgrader assignments.

    Each of CHAPTERS gets a folder of its own.
    """
    from course.grading.nbgrader_source import write_source

    try:
        for chapter in chapters:
            click.echo(write_source(course, chapter, folder))
    except LookupError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.argument("names", nargs=-1)
@click.option("--seed", type=click.IntRange(min=0), help="Draw the inputs of this seed.")
@click.option(
    "-j", "jobs", type=click.IntRange(min=1), default=1, show_default=True, help="How many are graded at a time."
)
@click.pass_obj
def answers(course: Course, names: tuple[str, ...], seed: int | None, jobs: int) -> None:
    """Grade the recorded answers and list those that are misjudged.

    NAMES are chapters or exercises; without NAMES, all answers are graded.
    """
    from course.authoring import trials

    _report(lambda drawn: trials.misjudged(course, names, drawn, jobs), "answers", "misjudged", seed)


@main.command()
@click.argument("names", nargs=-1)
@click.option("--seed", type=click.IntRange(min=0), help="Draw the inputs of this seed.")
@click.option(
    "-j", "jobs", type=click.IntRange(min=1), default=1, show_default=True, help="How many are graded at a time."
)
@click.pass_obj
def mutants(course: Course, names: tuple[str, ...], seed: int | None, jobs: int) -> None:
    """Make small changes to the reference and list those that pass, and stale records of equivalent ones.

    NAMES are chapters or exercises; without NAMES, all reference answers are changed.
    """
    from course.authoring import trials

    _report(lambda drawn: trials.survivors(course, names, drawn, jobs), "mutants", "pass", seed)


@main.command()
@click.argument("names", nargs=-1)
@click.option("--seed", type=click.IntRange(min=0), help="Draw the inputs of this seed.")
@click.option(
    "-j", "jobs", type=click.IntRange(min=1), default=1, show_default=True, help="How many are graded at a time."
)
@click.pass_obj
def spoilers(course: Course, names: tuple[str, ...], seed: int | None, jobs: int) -> None:
    """Break a promise around the reference and list the answers that pass.

    NAMES are chapters or exercises; without NAMES, all reference answers are spoiled.
    """
    from course.authoring import trials

    _report(lambda drawn: trials.survivors(course, names, drawn, jobs, trials.spoiled), "spoilers", "pass", seed)


def _report(run: Callable[[int], Iterator[Any]], what: str, wrong: str, seed: int | None) -> None:
    """Print what a trial of answers finds, and exit with 1 if it finds any."""
    import secrets

    from course.grading.reference import ReferenceFailedError
    from course.sandbox.launch import SandboxError
    from course.source.exercises import SourceError

    drawn = secrets.randbelow(2**31) if seed is None else seed
    total = found = stale = 0
    try:
        for chapter in run(drawn):
            total += chapter.total
            found += len(chapter.found)
            stale += len(chapter.stale)
            for each in (*chapter.found, *chapter.stale):
                click.echo(f"{each}\n")
            click.echo(f"{chapter.name}: {len(chapter.found)} of {chapter.total} {what} {wrong}", err=True)
    except (SourceError, ReferenceFailedError, SandboxError) as error:
        raise click.ClickException(str(error)) from error
    records = f"; {stale} of those recorded as equivalent have to be removed" if stale else ""
    click.echo(f"{found} of {total} {what} {wrong}{records} (seed {drawn})")
    sys.exit(bool(found or stale))
