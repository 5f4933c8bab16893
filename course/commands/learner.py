"""Commands on the learner's work: progress, hints, and code that is theirs."""

import sys
from pathlib import Path

import click

from course.commands import main
from course.files import Course


@main.command()
@click.argument("chapter", required=False)
@click.option("--all", "everything", is_flag=True, help="Show each exercise of every chapter.")
@click.pass_obj
def progress(course: Course, chapter: str | None, everything: bool) -> None:
    """Show your points and how much of mytorch is yours.

    With CHAPTER, show each of its exercises and the parts of mytorch that the exercise is about.
    """
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
        raise click.ClickException(f"there is no chapter {chapter!r}; `course progress --all` lists them")


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

    from course.reports.watch import watch as keep_watching

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
    """Show the parts of minitorch to read with a chapter.

    CHAPTER is a number or a name: 06, or 06_computation_graph.
    """
    from course.learner.read import shown

    text = shown(course.root, chapter)
    if not text:
        raise click.ClickException(f"docs/reading.md lists nothing to read with chapter {chapter}.")
    click.echo_via_pager(text) if sys.stdout.isatty() else click.echo(text)


@main.command()
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Restore every notebook.")
@click.pass_obj
def reset(course: Course, names: tuple[str, ...], everything: bool) -> None:
    """Restore exercises and keep a copy of your answers.

    NAMES are exercises or whole chapters.
    """
    from course.learner.practice import UnknownExerciseError
    from course.learner.progress import reset as reset_exercise

    if bool(names) == everything:
        raise click.UsageError("name exercises or chapters, or pass --all")
    if everything:
        names = tuple(path.stem for path in sorted(course.pristine.glob("*.ipynb")))
    try:
        for name in names:
            for path in reset_exercise(course, name):
                click.echo(f"kept a copy: {path.relative_to(course.root)}")
    except UnknownExerciseError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.argument("name", required=False)
@click.pass_obj
def write(course: Course, name: str | None) -> None:
    """Write a definition of mytorch that no exercise asks for.

    \b
    course write               the definitions that can be written; yours are ticked
    course write views:permute begins my/writing/views.permute.py; once it is written, runs its tests and keeps it
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
        click.echo(f"{path.relative_to(course.root)} says what {part} must do. Write it, then run this command again.")
        return
    code = writing.check(course, part)
    click.echo(
        f"✓ {part} is yours: kept in my/written, and in my/mytorch." if code == 0 else f"✗ {part} is not correct yet."
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
    from course.learner.mine import SolutionError, UnknownTestsError, run_script, run_tests

    script = Path(arguments[0]) if arguments else None
    if script is None or script.suffix != ".py" or script.name.startswith("test_"):
        try:
            sys.exit(run_tests(course, list(arguments)))
        except UnknownTestsError as error:
            raise click.ClickException(str(error)) from error
    if not script.is_file():
        raise click.ClickException(f"there is no script {script}")
    try:
        run_script(course, script, list(arguments[1:]))
    except SolutionError as error:
        raise click.ClickException(str(error)) from error
