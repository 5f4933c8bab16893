"""The command `course`."""

import sys
from pathlib import Path

import click

from course.files import Course


@click.group()
@click.option("--root", type=click.Path(exists=True, file_okay=False, path_type=Path), help="The course's folder.")
@click.pass_context
def main(context: click.Context, root: Path | None) -> None:
    """Build, check and grade the notebooks of the course, and follow your progress."""
    context.obj = Course(root.resolve()) if root else Course.find()


@main.command()
@click.argument("chapters", nargs=-1)
@click.option("--check", is_flag=True, help="Build into a temporary folder and list what differs.")
@click.pass_obj
def build(course: Course, chapters: tuple[str, ...], check: bool) -> None:
    """Make the notebooks of CHAPTERS (all of them) from their sources."""
    from course.build import build as build_notebooks
    from course.build import differences
    from course.source import SourceError

    try:
        if check:
            found = differences(course, chapters)
            click.echo("\n".join(found) if found else "Every notebook is what its source makes.")
            sys.exit(bool(found))
        for path in build_notebooks(course, chapters):
            click.echo(path.relative_to(course.root))
    except SourceError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), help="Write the report to FILE.")
@click.option("--seed", type=click.IntRange(min=0), help="Repeat the grade that had this seed.")
@click.option("-j", "jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Grade so many at a time.")
@click.option("--untrusted", is_flag=True, help="Submissions of people you do not trust.")
@click.pass_obj
def grade(
    course: Course, paths: tuple[Path, ...], json_path: Path | None, seed: int | None, jobs: int, untrusted: bool
) -> None:
    """Grade the notebooks PATHS, or those in folders, on fresh inputs."""
    from rich.console import Console

    from course.files import write_atomically
    from course.grade import grade as grade_notebooks
    from course.report import print_report

    if untrusted:
        raise click.UsageError(
            "--untrusted needs a sandbox, and there is none here: resource limits do not stop an attacker"
        )
    report = grade_notebooks(paths, course, seed, jobs)
    if json_path is not None:
        write_atomically(json_path, report.to_json())
    print_report(report, Console())
    sys.exit(any(result.status != "graded" for result in report.submissions))


@main.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.pass_obj
def check(course: Course, path: Path) -> None:
    """Check the notebook PATH on the practice inputs, cell by cell, in a new kernel."""
    from rich.console import Console

    from course.grade import practise
    from course.report import print_report

    report = practise(path, course)
    print_report(report, Console())
    result = report.submissions[0]
    sys.exit(result.status != "graded" or result.score < result.max_score)


@main.command()
@click.pass_obj
def progress(course: Course) -> None:
    """Show every exercise, your points, and the parts of the package that are yours."""
    from rich.console import Console

    from course.progress import table

    Console().print(table(course))


@main.command("next")
@click.pass_obj
def next_exercise(course: Course) -> None:
    """Say which exercise comes next."""
    from course.progress import following

    exercise = following(course)
    if exercise is None:
        click.echo("Every exercise is done.")
    else:
        points = f"{exercise.points} point" + "s" * (exercise.points > 1)
        click.echo(f"{exercise.name} ({points}) in exercises/{exercise.chapter}.ipynb")


@main.command()
@click.argument("exercise")
@click.pass_obj
def hint(course: Course, exercise: str) -> None:
    """Show the next hint of EXERCISE."""
    from course.practice import UnknownExerciseError, next_hint

    try:
        click.echo(next_hint(course, exercise))
    except UnknownExerciseError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.argument("name")
@click.pass_obj
def reset(course: Course, name: str) -> None:
    """Give an exercise's cell, or a whole notebook, back as it was; a copy of yours is kept."""
    from course.practice import UnknownExerciseError
    from course.progress import reset as reset_exercise

    try:
        for path in reset_exercise(course, name):
            click.echo(f"kept a copy: {path.relative_to(course.root)}")
    except UnknownExerciseError as error:
        raise click.ClickException(str(error)) from error


@main.command()
@click.argument("archive", type=click.Path(dir_okay=False, path_type=Path))
@click.pass_obj
def release(course: Course, archive: Path) -> None:
    """Write the zip file ARCHIVE for students: everything in git, without the solutions."""
    from course.release import release as write_release

    try:
        click.echo(f"{archive}: {write_release(course, archive)} files")
    except FileNotFoundError as error:
        raise click.ClickException(str(error)) from error


@main.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def mine(course: Course, arguments: tuple[str, ...]) -> None:
    """Run the package's tests on your code, or a script: course mine [PYTEST ARGUMENTS | SCRIPT.py ARGUMENTS]."""
    from course.mine import SolutionError, run_script, run_tests

    script = Path(arguments[0]) if arguments else None
    if script is None or script.suffix != ".py" or script.name.startswith("test_"):
        sys.exit(run_tests(course, list(arguments)))
    try:
        run_script(course, script, list(arguments[1:]))
    except SolutionError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main(prog_name="course")
