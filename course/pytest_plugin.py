"""What pytest loads at its start wherever the course is installed: under `--nbval` it adds those for notebooks."""

from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    says = "Exercises of the course that are not answered yet are skipped, not failed."
    parser.getgroup("nbval").addoption("--allow-unsolved", action="store_true", help=says)
    parser.addini("allow_unsolved", says, type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    if getattr(config.option, "nbval", False) or getattr(config.option, "nbval_lax", False):
        config.pluginmanager.import_plugin("course.nbval_exercises")
        config.pluginmanager.import_plugin("course.nbval_plugin")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Name the option without which pytest passes over notebooks in silence."""
    ran = any(terminalreporter.stats.get(outcome) for outcome in ("passed", "failed", "skipped", "error"))
    with_nbval = config.pluginmanager.has_plugin("course.nbval_plugin")
    if not (ran or with_nbval) and any(_holds_notebooks(argument) for argument in config.args):
        terminalreporter.write_line("Notebooks are run and graded with --nbval: pytest --nbval exercises")


def _holds_notebooks(argument: str) -> bool:
    path = Path(argument.partition("::")[0])
    return path.suffix == ".ipynb" or (path.is_dir() and any(path.glob("*.ipynb")))
