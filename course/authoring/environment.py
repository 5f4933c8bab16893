"""`environment.yml` for conda and `binder/environment.yml` for Binder, generated from `pyproject.toml`.

So dependencies are named once. Run `python -m course.authoring.environment --write` after changing one; `--check` exits
with 1 where a file is out of date.
The format: https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html
"""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

HEADER = "# Generated from pyproject.toml by `make environment`; not to be edited by hand.\n"


def render(pyproject: str, binder: bool = False) -> str:
    """The text of `environment.yml`, or of Binder's, for the text of a `pyproject.toml`.

    Everything that a learner needs (the dependencies and the extras `course` and `gpu`) is a conda package of the same
    name, except for a requirement with an environment marker: conda knows none, so pip gets it. Last comes the project.
    Python is the oldest that serves, exactly: Binder overlooks a range and takes a Python of its own. Binder has no
    GPU, so its file lacks `gpu`; nor does it name the project, which `binder/postBuild` installs from the folder above.
    """
    project = tomllib.loads(pyproject)["project"]
    extras = project["optional-dependencies"]
    requirements = sorted([*project["dependencies"], *extras["course"], *([] if binder else extras["gpu"])])
    conda = [
        f"python={project['requires-python'].removeprefix('>=')}",
        "pip",
        *(requirement for requirement in requirements if ";" not in requirement),
    ]
    pip = [*(requirement for requirement in requirements if ";" in requirement), "-e ."]
    lines = [
        "name: minitorch",
        "channels:",
        "  - conda-forge",
        "  - nodefaults",
        "dependencies:",
        *(f"  - {requirement}" for requirement in conda),
        *([] if binder else ["  - pip:", *(f"      - {requirement}" for requirement in pip)]),
    ]
    return HEADER + "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m course.authoring.environment", description=__doc__)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true", help="write both")
    action.add_argument("--check", action="store_true", help="exit with 1 where one is out of date")
    options = parser.parse_args(arguments)

    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for target in (ROOT / "environment.yml", ROOT / "binder" / "environment.yml"):
        text = render(pyproject, binder=target.parent != ROOT)
        if options.write:
            target.parent.mkdir(exist_ok=True)
            draft = target.with_suffix(".yml.draft")
            draft.write_text(text, encoding="utf-8", newline="\n")
            os.replace(draft, target)
        elif not target.exists() or target.read_text(encoding="utf-8") != text:
            name = target.relative_to(ROOT).as_posix()
            print(f"{name} is out of step with pyproject.toml: run `make environment`.", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
