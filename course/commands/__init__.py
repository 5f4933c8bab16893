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


AUDIENCES = {
    "For learners": "lab next hint check progress mine write reset watch read interview",
    "For teachers": "grade release nbgrader",
    "The course's folder": "start update",
}
"""The commands in the order in which somebody needs them; those of authors follow."""


class Commands(click.Group):
    """Ends in a sentence where a package is not installed, or a file can't be read or written."""

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        groups = {title: names.split() for title, names in AUDIENCES.items()}
        others = sorted(set(self.commands).difference(*groups.values()))
        for title, names in {**groups, "For authors": others}.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(100)) for name in names])

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
    """Do the course's exercises and check them, grade them, and build the notebooks.

    `course next` names the exercise to begin with, and `course COMMAND --help` describes a command.
    """
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
