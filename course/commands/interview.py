"""The command that holds mock interviews."""

from pathlib import Path
from typing import Any

import click

from course.commands import FILE, main
from course.files import Course


@main.command()
@click.option(
    "--round",
    "rounds",
    multiple=True,
    metavar="NAME",
    help="rapid, explain, predict, estimate, whiteboard, design or debug. Repeat the option for several; "
    "the default is all.",
)
@click.option(
    "--profile",
    metavar="NAME",
    default="",
    help="The job to interview for: pytorch, language-models, systems or classics.",
)
@click.option(
    "--chapter",
    "chapters",
    multiple=True,
    metavar="NUMBER",
    help="Ask about this chapter only. Repeat the option for several.",
)
@click.option("--topic", "topics", multiple=True, metavar="WORDS", help="Ask only about these words, such as DPO.")
@click.option(
    "--screen", is_flag=True, help="A phone screen of an hour: questions about one concept, and the whiteboard."
)
@click.option("--minutes", type=click.FloatRange(min=1), help="The length; the default is 45, or 60 for a screen.")
@click.option("--seed", type=click.IntRange(min=0), help="Repeat the draw of this seed.")
@click.option("--no-clock", is_flag=True, help="Set no time limits and show no clock.")
@click.option("--new", is_flag=True, help="Begin a new interview even if one was interrupted.")
@click.option(
    "--history", "is_record", is_flag=True, help="Show which problems you solved in which time, and hold no interview."
)
@click.option(
    "--export",
    "target",
    type=FILE,
    metavar="FILE",
    help="Write all questions to a file: .txt for Anki, .html for printing.",
)
@click.pass_obj
def interview(
    course: Course,
    /,
    new: bool,
    target: Path | None,
    no_clock: bool,
    is_record: bool,
    **wanted: Any,
) -> None:
    """Hold a mock interview, or continue an interrupted one."""
    from rich.console import Console

    from course.interview import terminal
    from course.interview.bank import Bank
    from course.interview.export import export
    from course.interview.rounds import ROUNDS
    from course.interview.scope import Plan

    if is_record:
        if target or new or no_clock or any(wanted.values()):
            raise click.UsageError("--history shows your record and can't be combined with another option")
        terminal.show_record(course, Console())
        return
    if target is not None:
        if new or no_clock or any(wanted.values()):
            raise click.UsageError("--export writes all questions and can't be combined with another option")
        try:
            click.echo(f"{target}: {export(Bank(course), target)} cards")
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        return
    plan = Plan(timed=not no_clock, **wanted)
    if unknown := [name for name in plan.rounds if name not in ROUNDS]:
        raise click.UsageError(f"there is no round {unknown[0]!r}; the rounds are {', '.join(ROUNDS)}")
    if plan.screen and plan.rounds:
        raise click.UsageError("--screen has rounds of its own and can't be combined with --round")
    try:
        terminal.hold(course, Console(), plan, new)
    except LookupError as error:
        raise click.UsageError(str(error)) from error
