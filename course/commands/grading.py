"""Commands on answered notebooks: grade them, or check them on practice inputs."""

import importlib.util
import os
import signal
import sys
from datetime import datetime
from pathlib import Path

import click

from course.commands import FILE, main
from course.files import Course


def moment(context: click.Context, option: click.Parameter, value: str | None) -> datetime | None:
    """A date, which ends with its day, or a date and a time; in this machine's time zone, unless it names another."""
    if value is None:
        return None
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} isn't a date: write 2026-12-01 or 2026-12-01T18:00") from None
    is_day = len(value) <= len("2026-12-01")
    return (read.replace(hour=23, minute=59, second=59) if is_day else read).astimezone(read.tzinfo)


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "json_path", type=FILE, help="Write the report to FILE.")
@click.option("--resume", is_flag=True, help="Continue the report in FILE, and keep the grades that it holds.")
@click.option("--junit", type=FILE, help="Write the report as JUnit XML.")
@click.option("--csv", type=FILE, help="Write a gradebook with nbgrader's columns.")
@click.option("--gradescope", type=FILE, help="Write Gradescope's results.json.")
@click.option("--html", type=click.Path(file_okay=False, path_type=Path), help="Write a page for each learner.")
@click.option("--seed", type=click.IntRange(min=0), help="Repeat the grade that used this seed.")
@click.option(
    "-j", "jobs", type=click.IntRange(min=1), default=1, show_default=True, help="How many are graded at a time."
)
@click.option("--dask", metavar="ADDRESS", help="Grade on the Dask cluster at ADDRESS (tcp://HOST:8786).")
@click.option("--untrusted", is_flag=True, help="Grade in the sandbox, or refuse to grade.")
@click.option("--brief", is_flag=True, help="Quote no text that an answer produced.")
@click.option("--assignment", metavar="CHAPTER", help="Reject notebooks of other chapters.")
@click.option(
    "--attempts",
    type=click.Choice(["best", "last", "first"]),
    default="best",
    show_default=True,
    help="Which of a student's files for one chapter counts.",
)
@click.option(
    "--due",
    callback=moment,
    metavar="DATE",
    help="The deadline: 2026-12-01, for the end of that day, or 2026-12-01T18:00.",
)
@click.option(
    "--late-penalty",
    type=click.FloatRange(0, 100),
    default=0.0,
    metavar="PERCENT",
    help="The share of a file's points that is deducted for each day begun after DATE.",
)
@click.option(
    "--late-cap", type=click.FloatRange(0, 100), default=100.0, metavar="PERCENT", help="The largest deduction."
)
@click.option(
    "--roster", type=FILE, help="The class, a name a line or a gradebook in CSV: who handed in nothing has a row."
)
@click.option("--details", is_flag=True, help="Print the exercises of each notebook, as for a single one.")
@click.pass_obj
def grade(
    course: Course,
    paths: tuple[Path, ...],
    json_path: Path | None,
    resume: bool,
    junit: Path | None,
    csv: Path | None,
    gradescope: Path | None,
    html: Path | None,
    seed: int | None,
    jobs: int,
    dask: str | None,
    untrusted: bool,
    brief: bool,
    assignment: str | None,
    attempts: str,
    due: datetime | None,
    late_penalty: float,
    late_cap: float,
    roster: Path | None,
    details: bool,
) -> None:
    """Grade notebooks on fresh inputs.

    PATHS are notebooks, folders in which notebooks are searched for, or chapters (06: your notebook of it).
    """
    from rich.console import Console

    from course.files import write_atomically
    from course.grading.find import notebooks
    from course.grading.grade import grade as grade_notebooks
    from course.grading.grade import keep_passed
    from course.grading.report import Report
    from course.learner import names
    from course.learner.practice import exercises
    from course.reports.gradebook import Rules
    from course.reports.gradescope import NotGradedError
    from course.reports.roster import read_roster
    from course.reports.table import Targets, print_report, progress, write_reports
    from course.sandbox import launch

    if not any(course.solutions.glob("*.ipynb")):
        raise click.ClickException(
            f"{course.root} has no solutions/*.ipynb, which a grade needs; `course check` works without them"
        )
    paths = tuple(names.notebook(course, path) for path in paths)
    if unknown := [str(path) for path in paths if not (path.suffix or os.path.lexists(path))]:
        every = [exercise.name for exercise in exercises(course)]
        where = "; `course check` checks one exercise" if unknown[0] in every else names.suggestion(unknown[0], every)
        raise click.UsageError(f"no notebook, folder or chapter is called {unknown[0]!r}{where}")
    if untrusted and (trouble := launch.trouble()):
        raise click.UsageError(f"--untrusted needs a sandbox: {trouble}")
    if dask and not importlib.util.find_spec("distributed"):
        raise click.UsageError("--dask needs Dask: pip install distributed")
    if resume and (json_path is None or seed is not None):
        raise click.UsageError(
            "--resume continues the report of --json FILE with its seed: pass --json FILE, and no --seed"
        )
    chapter = names.chapter(course, assignment) if assignment else ""
    if assignment and not chapter:
        raise click.UsageError(f"--assignment: there is no chapter {assignment!r}; `course progress --all` lists them")
    if late_penalty and due is None:
        raise click.UsageError("--late-penalty needs --due DATE")
    if roster and not (csv or html):
        raise click.UsageError("--roster is for the gradebook: pass --csv or --html as well")
    try:
        expected = read_roster(roster) if roster else []
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--roster {roster}: {error}") from error
    before = None
    if resume and json_path is not None and json_path.exists():
        try:
            before = Report.from_json(json_path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise click.ClickException(f"{json_path}: {error}") from error

    if not (resume or notebooks(paths)):
        raise click.UsageError(f"there is no notebook (*.ipynb) in {', '.join(map(str, paths))} or a folder below")
    bar, moved = progress(paths, before)

    def keep(report: Report) -> None:
        if json_path is not None:
            write_atomically(json_path, report.to_json())
        moved(report)

    handlers = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with bar:
            report = grade_notebooks(
                paths, course, seed, jobs, before=before, keep=keep, dask=dask, assignment=chapter, brief=brief
            )
    except KeyboardInterrupt:
        click.echo(
            f"Stopped.{f' `course grade --json {json_path} --resume` continues.' if json_path else ''}", err=True
        )
        sys.exit(130)
    except OSError as error:
        if not dask:
            raise
        raise click.ClickException(f"the cluster at {dask}: {error}") from error
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    keep(report)
    keep_passed(report, course)
    rules = Rules(attempts, due, late_penalty, late_cap, tuple(expected), chapter)
    print_report(report, Console(), rules, details)
    try:
        rows = write_reports(report, course, Targets(junit, csv, gradescope, html), rules)
        for row in rows if csv or html else ():
            if row.others or row.is_namesake or row.folder or not (row.is_listed and row.result.path):
                click.echo(f"{row.student}: {row.note}")
        if written := [str(path) for path in (json_path, junit, csv, gradescope, html and html / "index.html") if path]:
            click.echo(f"written: {', '.join(written)}")
    except NotGradedError as error:
        click.echo(f"{gradescope} was not written, because it could be mistaken for a score: {error}", err=True)
    sys.exit(any(result.status != "graded" for result in report.submissions))


@main.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--allow-unsolved", is_flag=True, help="Exit with 0 unless an answer is wrong.")
@click.pass_obj
def check(course: Course, paths: tuple[Path, ...], allow_unsolved: bool) -> None:
    """Check the answers in PATHS on the practice inputs, cell by cell, in a new kernel.

    \b
    course check               the exercise that `course next` names
    course check NAME          an exercise
    course check 06 ...        your notebooks of these chapters
    course check PATHS ...     notebooks, or the chapters' in folders: `course check exercises` checks all
    """
    from rich.console import Console

    from course.grading.find import of_chapters
    from course.grading.grade import is_open, keep_passed, practise
    from course.learner import names, practice
    from course.learner.progress import following, next_line
    from course.reports.table import print_answers, print_practice, print_report

    named = {exercise.name: exercise for exercise in practice.exercises(course)}
    exercise = named.get(" ".join(map(str, paths))) if paths else following(course)
    if exercise is not None:
        paths = (Path(exercise.chapter),)
        click.echo(f"Checking {exercise.name} in exercises/{exercise.chapter}.ipynb")
    elif not paths:
        click.echo(f"{next_line(course)} `course check exercises` checks all of them.")
        return
    meant = [names.notebook(course, path) for path in paths]
    if unknown := [str(path) for path in meant if path.name == str(path) and not path.suffix and not path.exists()]:
        close = names.suggestion(unknown[0], named) or "; `course progress --all` lists them"
        raise click.ClickException(f"no exercise, chapter or folder is called {unknown[0]!r}{close}")
    found, others = of_chapters(course, meant)
    for path in others:
        click.echo(f"{path}: not checked, since it is not called like a chapter")
    if not found:
        raise click.ClickException(f"no chapter's notebook in {', '.join(map(str, paths))}")
    report = practise(found, course, exercise.name if exercise else "")
    keep_passed(report, course)
    unsaved = "Not answered yet in the saved notebook. If you have written an answer, save it"
    if exercise is not None:
        print_answers(report.submissions[0], Console())
        status = {item.status for item in report.submissions[0].items}
        told = f"{f'{unsaved}; ' * (status == {'skipped'})}`course hint {exercise.name}` gives a hint."
        click.echo(next_line(course) if status == {"passed"} else told)
    else:
        (print_report if len(report.submissions) == 1 else print_practice)(report, Console())
        own = [each for each in report.submissions if Path(each.path).resolve().parent == course.exercises]
        skipped = [item.grade_id for each in own for item in each.items if item.status == "skipped"]
        if kept := [name for name in skipped if name in named and practice.is_kept(course, named[name])]:
            click.echo(f"Solved in JupyterLab, but not in the saved notebook: {', '.join(kept)}. Save it.")
        elif skipped and len(found) == 1:
            click.echo(f"{unsaved}.")
    wrong = [
        item
        for result in report.submissions
        for item in result.items
        if not (item.status == "passed" or (allow_unsolved and is_open(item)))
    ]
    sys.exit(bool(wrong) or any(result.status != "graded" for result in report.submissions))
