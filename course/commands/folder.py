"""Commands on the folder that holds the course: create it, update it, open it."""

import os
import sys
from pathlib import Path

import click

from course.commands import FILE, main
from course.files import Course


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
def start(folder: Path) -> None:
    """Create a folder with the lessons, exercises and libraries."""
    from course.learner.package import ensure
    from course.learner.update import start as lay_out

    try:
        ensure(lay_out(folder))
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"The course is in {folder}. Next: cd {folder}, then course lab")


@main.command()
@click.argument("archive", required=False, type=FILE)
@click.pass_obj
def update(course: Course, archive: Path | None) -> None:
    """Update this folder and keep your work.

    The new version is the installed one, or the one in the zip file ARCHIVE.
    """
    from course.learner.update import update as update_copy

    try:
        for path in update_copy(course, archive):
            click.echo(f"kept a copy: {path.relative_to(course.root)}")
    except ValueError as error:
        raise click.ClickException(str(error)) from error


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def lab(course: Course, arguments: tuple[str, ...]) -> None:
    """Open JupyterLab on the welcome notebook.

    ARGUMENTS are passed to JupyterLab.
    """
    import subprocess

    programs = str(Path(sys.executable).parent)  # a cell finds `!course` there
    path = os.pathsep.join(dict.fromkeys([programs, *os.environ.get("PATH", os.defpath).split(os.pathsep)]))
    welcome = "--LabApp.default_url=/lab/tree/notebooks/00_welcome.ipynb"
    command = [sys.executable, "-m", "jupyterlab", welcome, *arguments]
    sys.exit(subprocess.call(command, cwd=course.root, env={**os.environ, "PATH": path}))
