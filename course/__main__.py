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


if __name__ == "__main__":
    main(prog_name="course")
