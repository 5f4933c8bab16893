"""`environment.yml` for conda and Binder, generated from `pyproject.toml` so that dependencies are named once.

Run `python -m course.environment --write` after changing a dependency; `--check` exits with 1 where it is out of date.
The format: https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html
"""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

HEADER = "# Generated from pyproject.toml by `make environment`; not to be edited by hand.\n"


def render(pyproject: str) -> str:
    """The text of `environment.yml` for the text of a `pyproject.toml`.

    Everything that a learner needs (the dependencies and the extras `course` and `gpu`) is a conda package of the same
    name, except for a requirement with an environment marker: conda knows none, so pip gets it. Last comes the project.
    Python is the oldest that serves, exactly: Binder overlooks a range and takes a Python of its own.
    """
    project = tomllib.loads(pyproject)["project"]
    extras = project["optional-dependencies"]
    requirements = sorted([*project["dependencies"], *extras["course"], *extras["gpu"]])
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
        "  - pip:",
        *(f"      - {requirement}" for requirement in pip),
    ]
    return HEADER + "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m course.environment", description=__doc__)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true", help="write environment.yml")
    action.add_argument("--check", action="store_true", help="exit with 1 where environment.yml is out of date")
    options = parser.parse_args(arguments)

    target = ROOT / "environment.yml"
    text = render((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if options.write:
        draft = target.with_suffix(".yml.draft")
        draft.write_text(text, encoding="utf-8", newline="\n")
        os.replace(draft, target)
    elif not target.exists() or target.read_text(encoding="utf-8") != text:
        print(f"{target.name} is out of step with pyproject.toml: run `make environment`.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
