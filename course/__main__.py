"""The command `course`."""

import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from course.files import Course

_NEEDS = "`course` needs the packages of the extra [course]: pip install -e '.[course]' in the course's folder"
try:
    import click
except ModuleNotFoundError as error:
    sys.exit(f"{error}. {_NEEDS}")

_FILE = click.Path(dir_okay=False, path_type=Path)


def moment(context: click.Context, option: click.Parameter, value: str | None) -> datetime | None:
    """A date, which ends with its day, or a date and a time; in this machine's time zone, unless it names another."""
    if value is None:
        return None
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is no date: write 2026-12-01 or 2026-12-01T18:00") from None
    is_day = len(value) <= len("2026-12-01")
    return (read.replace(hour=23, minute=59, second=59) if is_day else read).astimezone(read.tzinfo)


class Commands(click.Group):
    """Ends in a sentence where a package is not installed, or a file can't be read or written."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except (ModuleNotFoundError, OSError) as error:
            if context.invoked_subcommand == "mine":  # a script of the learner's may raise them
                raise
            if isinstance(error, OSError):
                raise click.ClickException(
                    f"{error.filename}: {error.strerror}" if error.filename else str(error)
                ) from error
            raise click.ClickException(f"{error}. {_NEEDS}") from error


@click.group(cls=Commands)
@click.option("--root", type=click.Path(exists=True, file_okay=False, path_type=Path), help="The course's folder.")
@click.pass_context
def main(context: click.Context, root: Path | None) -> None:
    """Build, check and grade the notebooks of the course, and follow your progress."""
    course = context.obj = Course(root.resolve()) if root else Course.find()
    if context.invoked_subcommand == "start":
        return
    if course.is_unfinished():
        raise click.ClickException(f"{course.root} is not whole yet: give `course start {course.root}` once more")
    if not (course.pristine.is_dir() or course.chapters.is_dir()):
        where = f"in {root}" if root else "in this folder or above it"
        raise click.ClickException(
            f"no course {where}: `course start FOLDER` makes one; or go to a clone of its repository, to a student's "
            "copy of it, or give --root FOLDER"
        )
    if context.invoked_subcommand in ("hint", "mine", "next", "progress", "reset", "watch"):
        from course.learner.package import ensure

        ensure(context.obj)


@main.command()
@click.argument("chapters", nargs=-1)
@click.option("--check", is_flag=True, help="Build into a temporary folder and list what differs.")
@click.option("--stored", is_flag=True, help="With --check: run nothing; nbval compares what is shown.")
@click.option(
    "--jitter",
    type=click.IntRange(0, 4),
    metavar="MACHINE",
    help="Run them with the last digits of another machine, 0 to 4, and list the cells that show it.",
)
@click.pass_obj
def build(course: Course, chapters: tuple[str, ...], check: bool, stored: bool, jitter: int | None) -> None:
    """Make the notebooks of CHAPTERS (all of them) from their sources."""
    from course.authoring.build import build as build_notebooks
    from course.authoring.build import differences, differences_with_jitter
    from course.authoring.source import SourceError

    if stored and not check:
        raise click.UsageError("--stored needs --check")
    if not course.chapters.is_dir():
        raise click.ClickException(f"{course.root} holds no chapters/, from which notebooks are built")
    if jitter is not None and check:
        raise click.UsageError("--jitter runs the notebooks as they are built: without --check")
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
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "json_path", type=_FILE, help="Write the report to FILE.")
@click.option("--resume", is_flag=True, help="Do not grade again what FILE holds.")
@click.option("--junit", type=_FILE, help="Write the report as JUnit's XML.")
@click.option("--csv", type=_FILE, help="Write a gradebook with nbgrader's columns.")
@click.option("--gradescope", type=_FILE, help="Write Gradescope's results.json.")
@click.option("--html", type=click.Path(file_okay=False, path_type=Path), help="Write a page for each learner.")
@click.option("--seed", type=click.IntRange(min=0), help="Repeat the grade that had this seed.")
@click.option("-j", "jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Grade so many at a time.")
@click.option("--dask", metavar="ADDRESS", help="Grade on the Dask cluster at ADDRESS (tcp://HOST:8786).")
@click.option("--untrusted", is_flag=True, help="Submissions of people you do not trust.")
@click.option("--brief", is_flag=True, help="Keep out of the messages whatever an answer wrote.")
@click.option("--assignment", metavar="CHAPTER", help="Reject notebooks of other chapters.")
@click.option(
    "--attempts",
    type=click.Choice(["best", "last", "first"]),
    default="best",
    show_default=True,
    help="Which of a student's files for one chapter counts.",
)
@click.option(
    "--due", callback=moment, metavar="DATE", help="2026-12-01, for the end of that day, or 2026-12-01T18:00."
)
@click.option(
    "--late-penalty",
    type=click.FloatRange(0, 100),
    default=0.0,
    metavar="PERCENT",
    help="Deduct so much of a file's points for each day begun after DATE.",
)
@click.option(
    "--late-cap", type=click.FloatRange(0, 100), default=100.0, metavar="PERCENT", help="Deduct no more than that."
)
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
) -> None:
    """Grade the notebooks PATHS, or those in folders, on fresh inputs."""
    from rich.console import Console

    from course.files import write_atomically
    from course.grading.find import notebooks
    from course.grading.grade import grade as grade_notebooks
    from course.grading.grade import keep_passed
    from course.grading.report import Report
    from course.learner import names
    from course.reports.gradebook import Rules
    from course.reports.gradescope import NotGradedError
    from course.reports.table import Targets, print_report, progress, write_reports
    from course.sandbox import outside

    if not any(course.solutions.glob("*.ipynb")):
        raise click.ClickException(
            f"{course.root} holds no solutions/*.ipynb, which a grade compares with; `course check` needs none"
        )
    if untrusted and (trouble := outside.trouble()):
        raise click.UsageError(f"--untrusted needs a sandbox: {trouble}")
    if dask and not importlib.util.find_spec("distributed"):
        raise click.UsageError("--dask needs Dask: pip install distributed")
    if resume and (json_path is None or seed is not None):
        raise click.UsageError("--resume goes on with the report and the seed of --json FILE: give FILE, and no --seed")
    chapter = names.chapter(course, assignment) if assignment else ""
    if assignment and not chapter:
        raise click.UsageError(f"--assignment: there is no chapter {assignment!r}; `course progress` lists them")
    if late_penalty and due is None:
        raise click.UsageError("--late-penalty needs --due DATE")
    before = None
    if resume and json_path is not None and json_path.exists():
        try:
            before = Report.from_json(json_path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise click.ClickException(f"{json_path}: {error}") from error

    if not (resume or notebooks(paths)):
        raise click.UsageError(f"no notebook (*.ipynb) in {', '.join(map(str, paths))}, or in a folder below")
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
        click.echo(f"stopped{f'; course grade --json {json_path} --resume goes on' if json_path else ''}", err=True)
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
    print_report(report, Console())
    try:
        rules = Rules(attempts, due, late_penalty, late_cap)
        write_reports(report, course, Targets(junit, csv, gradescope, html), rules)
    except NotGradedError as error:
        click.echo(f"{gradescope} is not written, so that nobody takes it for a score: {error}", err=True)
    sys.exit(any(result.status != "graded" for result in report.submissions))


@main.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--allow-unsolved", is_flag=True, help="Exit with 0 unless an answer is wrong.")
@click.pass_obj
def check(course: Course, paths: tuple[Path, ...], allow_unsolved: bool) -> None:
    """Check the notebooks PATHS, or the chapters' in folders, on the practice inputs, cell by cell, in a new kernel.

    Without PATHS, the notebooks of exercises/ that hold an answer.
    """
    from rich.console import Console

    from course.grading.find import of_chapters
    from course.grading.grade import is_begun, is_open, keep_passed, practise
    from course.reports.table import print_practice, print_report

    is_bare, here = not paths, Path.cwd()
    if is_bare:
        folder = course.exercises
        paths = (folder.relative_to(here) if folder.is_relative_to(here) else folder,)
    found, others = of_chapters(course, paths)
    for path in others:
        click.echo(f"{path}: not checked, since it is not called like a chapter")
    if not found:
        raise click.ClickException(f"no chapter's notebook in {', '.join(map(str, paths))}")
    report = practise(found, course)
    if is_bare:
        report.submissions = list(filter(is_begun, report.submissions))
        if not report.submissions:
            click.echo("No exercise is answered yet: `course next` says where to begin.")
            return
    keep_passed(report, course)
    (print_practice if any(path.is_dir() for path in paths) else print_report)(report, Console())
    wrong = [
        item
        for result in report.submissions
        for item in result.items
        if not (item.status == "passed" or (allow_unsolved and is_open(item)))
    ]
    sys.exit(bool(wrong) or any(result.status != "graded" for result in report.submissions))


@main.command()
@click.argument("chapter", required=False)
@click.option("--all", "everything", is_flag=True, help="Each exercise of every chapter.")
@click.pass_obj
def progress(course: Course, chapter: str | None, everything: bool) -> None:
    """Show your points in each chapter and how much of mytorch is yours; or each exercise of CHAPTER, and its parts."""
    from rich.console import Console

    from course.learner import names
    from course.learner.practice import exercises
    from course.learner.progress import next_line, table, table_of

    console = Console()
    if everything:
        for each in dict.fromkeys(exercise.chapter for exercise in exercises(course)):
            console.print(table_of(course, each))
    elif chapter is None:
        console.print(table(course))
        console.print(next_line(course), soft_wrap=True, highlight=False)
    elif found := names.chapter(course, chapter):
        console.print(table_of(course, found))
    else:
        raise click.ClickException(f"there is no chapter {chapter!r}; `course progress` lists them")


@main.command("next")
@click.pass_obj
def next_exercise(course: Course) -> None:
    """Say which exercise comes next."""
    from course.learner.progress import following

    exercise = following(course)
    if exercise is None:
        click.echo("Every exercise is done.")
    else:
        points = f"{exercise.points} point" + "s" * (exercise.points > 1)
        click.echo(f"{exercise.name} ({points}) in exercises/{exercise.chapter}.ipynb")


@main.command()
@click.pass_obj
def watch(course: Course) -> None:
    """Check a notebook whenever it is saved. Keys: n next, h hint, l list, c check all, q quit."""
    from rich.console import Console

    from course.learner.watch import watch as keep_watching

    keep_watching(course, Console())


@main.command()
@click.argument("exercise", required=False)
@click.pass_obj
def hint(course: Course, exercise: str | None) -> None:
    """Show the next hint of EXERCISE, or of the one that `course next` names."""
    from course.learner.practice import UnknownExerciseError, next_hint
    from course.learner.progress import following, next_line

    try:
        if exercise is None:
            click.echo(next_line(course))
            exercise = getattr(following(course), "name", None)
        if exercise is not None:
            click.echo(next_hint(course, exercise))
    except UnknownExerciseError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.argument("chapter")
@click.pass_obj
def read(course: Course, chapter: str) -> None:
    """Show the parts of minitorch to read with CHAPTER: 06, or 06_computation_graph."""
    from course.learner.read import shown

    text = shown(course.root, chapter)
    if not text:
        raise click.ClickException(f"docs/reading.md has nothing to read with chapter {chapter}.")
    click.echo_via_pager(text) if sys.stdout.isatty() else click.echo(text)


@main.command()
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every notebook.")
@click.pass_obj
def reset(course: Course, names: tuple[str, ...], everything: bool) -> None:
    """Give the exercises, or whole chapters, NAMES back as they were; a copy of yours is kept."""
    from course.learner.practice import UnknownExerciseError
    from course.learner.progress import reset as reset_exercise

    if bool(names) == everything:
        raise click.UsageError("say which exercises or chapters, or --all")
    if everything:
        names = tuple(path.stem for path in sorted(course.pristine.glob("*.ipynb")))
    try:
        for name in names:
            for path in reset_exercise(course, name):
                click.echo(f"kept a copy: {path.relative_to(course.root)}")
    except UnknownExerciseError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.argument("archive", type=_FILE)
@click.option("--grader", is_flag=True, help="What grades, with the solutions, in place of what students get.")
@click.option(
    "--graded", metavar="06,07", default="", help="Leave out the reference of these chapters' parts of mytorch."
)
@click.pass_obj
def release(course: Course, archive: Path, grader: bool, graded: str) -> None:
    """Write the zip file ARCHIVE for students: what is in git, without solved notebooks and their sources."""
    from course.authoring.release import release as write_release

    if grader and graded:
        raise click.UsageError("--graded is for the students' archive; the grader's has all of the reference")
    try:
        files, needed = write_release(course, archive, grader, filter(None, graded.split(",")))
    except LookupError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{archive}: {len(files)} files")
    for part in needed:
        click.echo(f"the reference of {part} is in it all the same: mytorch cannot be imported without")


@main.command()
@click.argument("archive", required=False, type=_FILE)
@click.pass_obj
def update(course: Course, archive: Path | None) -> None:
    """Bring this folder to the version that is installed, or is in the zip file ARCHIVE; what you wrote stays."""
    from course.learner.update import update as update_copy

    try:
        for path in update_copy(course, archive):
            click.echo(f"kept a copy: {path.relative_to(course.root)}")
    except ValueError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
def start(folder: Path) -> None:
    """Lay out the course in FOLDER: lessons, exercises, and the library that they run on."""
    from course.learner.package import ensure
    from course.learner.update import start as lay_out

    try:
        ensure(lay_out(folder))
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"The course is in {folder}. Next: cd {folder}, then course lab")


@main.command()
@click.option(
    "--round",
    "rounds",
    multiple=True,
    metavar="NAME",
    help="rapid, explain, predict, estimate, whiteboard or debug; several are possible. All of them, if left out.",
)
@click.option("--profile", metavar="NAME", default="", help="pytorch, language-models, systems or classics.")
@click.option("--chapter", "chapters", multiple=True, metavar="NUMBER", help="Only this chapter; several are possible.")
@click.option("--topic", "topics", multiple=True, metavar="WORDS", help="Only what is about these words, such as DPO.")
@click.option("--screen", is_flag=True, help="An hour: questions about one concept, and the whiteboard.")
@click.option("--minutes", type=click.FloatRange(min=1), help="How long it takes: 45, or 60 for a screen, if left out.")
@click.option("--seed", type=click.IntRange(min=0), help="Draw what this seed drew.")
@click.option("--no-clock", is_flag=True, help="No time is taken.")
@click.option("--new", is_flag=True, help="Begin another interview, even if one is open.")
@click.option(
    "--export", "target", type=_FILE, metavar="FILE", help="Write all questions: .txt for Anki, .html for printing."
)
@click.pass_obj
def interview(
    course: Course,
    /,
    new: bool,
    target: Path | None,
    no_clock: bool,
    **wanted: Any,
) -> None:
    """Hold a mock interview, in rounds, or go on with the one that was interrupted."""
    from rich.console import Console

    from course.interview import terminal
    from course.interview.bank import Bank
    from course.interview.export import export
    from course.interview.rounds import ROUNDS
    from course.interview.scope import Plan

    if target is not None:
        try:
            click.echo(f"{target}: {export(Bank(course), target)} cards")
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        return
    plan = Plan(timed=not no_clock, **wanted)
    if unknown := [name for name in plan.rounds if name not in ROUNDS]:
        raise click.UsageError(f"no round is called {unknown[0]!r}: {', '.join(ROUNDS)}")
    if plan.screen and plan.rounds:
        raise click.UsageError("a screen has rounds of its own: --screen or --round, not both")
    try:
        terminal.hold(course, Console(), plan, new)
    except LookupError as error:
        raise click.UsageError(str(error)) from error


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def lab(course: Course, arguments: tuple[str, ...]) -> None:
    """Open JupyterLab on the welcome notebook. ARGUMENTS are JupyterLab's own."""
    import subprocess

    programs = str(Path(sys.executable).parent)  # a cell finds `!course` there
    path = os.pathsep.join(dict.fromkeys([programs, *os.environ.get("PATH", os.defpath).split(os.pathsep)]))
    welcome = "--LabApp.default_url=/lab/tree/notebooks/00_welcome.ipynb"
    command = [sys.executable, "-m", "jupyterlab", welcome, *arguments]
    sys.exit(subprocess.call(command, cwd=course.root, env={**os.environ, "PATH": path}))


@main.command()
@click.argument("chapters", nargs=-1, required=True)
@click.option(
    "--to", "folder", type=click.Path(file_okay=False, path_type=Path), default=Path("source"), show_default=True
)
@click.pass_obj
def nbgrader(course: Course, chapters: tuple[str, ...], folder: Path) -> None:
    """Write what nbgrader makes assignments of CHAPTERS of, each into a folder of its own."""
    from course.grading.nbgrader_source import write_source

    try:
        for chapter in chapters:
            click.echo(write_source(course, chapter, folder))
    except LookupError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.argument("name", required=False)
@click.pass_obj
def write(course: Course, name: str | None) -> None:
    """Write a definition of mytorch that no exercise asks for.

    \b
    course write              the definitions that can be written; yours are ticked
    course write views:select begins my/writing/views.select.py; once it is written, runs its tests and keeps it
    """
    from course.learner import writing

    if name is None:
        for line in writing.listed(course):
            click.echo(line)
        return
    try:
        part = writing.find(course, name)
    except LookupError as error:
        raise click.ClickException(str(error)) from error
    path = writing.begun(course, part)
    if not writing.is_written(course, part, path.read_text(encoding="utf-8")):
        click.echo(f"{path.relative_to(course.root)} says what {part} must do. Write it, then give this command again.")
        return
    code = writing.check(course, part)
    click.echo(
        f"✓ {part} is yours: kept in my/written, and in my/mytorch." if code == 0 else f"✗ {part} is not right yet."
    )
    sys.exit(code)


@main.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def mine(course: Course, arguments: tuple[str, ...]) -> None:
    """Run your code: the tests of your parts, or a script.

    \b
    course mine                the tests of the parts that are yours, and how much of mytorch is
    course mine 06 ...         the same for the parts of these chapters
    course mine SCRIPT.py ...  a script in which `import mytorch` gives your package, with its arguments
    course mine TESTS ...      pytest with these arguments (course mine -- --help: its options), on your parts
    """
    from course.learner.mine import SolutionError, run_script, run_tests

    script = Path(arguments[0]) if arguments else None
    if script is None or script.suffix != ".py" or script.name.startswith("test_"):
        sys.exit(run_tests(course, list(arguments)))
    if not script.is_file():
        raise click.ClickException(f"there is no script {script}")
    try:
        run_script(course, script, list(arguments[1:]))
    except SolutionError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.argument("names", nargs=-1)
@click.option("--seed", type=click.IntRange(min=0), help="Draw the inputs that this seed drew.")
@click.option("-j", "jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Grade so many at a time.")
@click.pass_obj
def answers(course: Course, names: tuple[str, ...], seed: int | None, jobs: int) -> None:
    """Grade the recorded answers to NAMES, chapters or exercises (all): list what is misjudged."""
    from course.authoring import trials

    _report(lambda drawn: trials.misjudged(course, names, drawn, jobs), "answers", "misjudged", seed)


@main.command()
@click.argument("names", nargs=-1)
@click.option("--seed", type=click.IntRange(min=0), help="Draw the inputs that this seed drew.")
@click.option("-j", "jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Grade so many at a time.")
@click.pass_obj
def mutants(course: Course, names: tuple[str, ...], seed: int | None, jobs: int) -> None:
    """Change the reference answers to NAMES, chapters or exercises (all), in small steps: list what still passes."""
    from course.authoring import trials

    _report(lambda drawn: trials.survivors(course, names, drawn, jobs), "mutants", "pass", seed)


def _report(run: Callable[[int], Iterator[Any]], what: str, wrong: str, seed: int | None) -> None:
    """Print what a trial of answers finds, and exit with 1 if it finds any."""
    import secrets

    from course.authoring.source import SourceError
    from course.grading.reference import ReferenceFailedError
    from course.sandbox.outside import SandboxError

    drawn = secrets.randbelow(2**31) if seed is None else seed
    total = found = 0
    try:
        for chapter in run(drawn):
            total += chapter.total
            found += len(chapter.found)
            for each in chapter.found:
                click.echo(f"{each}\n")
            click.echo(f"{chapter.name}: {len(chapter.found)} of {chapter.total} {what} {wrong}", err=True)
    except (SourceError, ReferenceFailedError, SandboxError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{found} of {total} {what} {wrong} (seed {drawn})")
    sys.exit(bool(found))


if __name__ == "__main__":
    main(prog_name="course")
