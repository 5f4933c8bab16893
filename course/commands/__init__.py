"""The command `course`; each file of this folder adds the commands on one thing."""

import sys
from pathlib import Path
from typing import Any

from course.files import Course

NEEDS = "`course` needs the packages of the extra [course]: pip install -e '.[course]' in the course's folder"
try:
    import click
except ModuleNotFoundError as error:
    sys.exit(f"{error}. {NEEDS}")

FILE = click.Path(dir_okay=False, path_type=Path)
"""The type of an option or argument that names a file."""


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
            raise click.ClickException(f"{error}. {NEEDS}") from error


@click.group(cls=Commands)
@click.option("--root", type=click.Path(exists=True, file_okay=False, path_type=Path), help="The course's folder.")
@click.pass_context
def main(context: click.Context, root: Path | None) -> None:
    """Build, check and grade the notebooks of the course, and follow your progress."""
    course = context.obj = Course(root.resolve()) if root else Course.find()
    if context.invoked_subcommand == "start":
        return
    if course.is_unfinished():
        raise click.ClickException(f"{course.root} is incomplete: run `course start {course.root}` again")
    if not (course.pristine.is_dir() or course.chapters.is_dir()):
        where = f"in {root}" if root else "in this folder or above it"
        raise click.ClickException(
            f"there is no course {where}: create one with `course start FOLDER`, change to a clone of the repository "
            "or a student's copy of it, or pass --root FOLDER"
        )
    if context.invoked_subcommand in ("hint", "mine", "next", "progress", "reset", "watch"):
        from course.learner.package import ensure

        ensure(context.obj)
