"""What pytest loads at its start wherever the course is installed: under `--nbval` it adds those for notebooks."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    says = "Exercises of the course that are not answered yet are skipped, not failed."
    parser.getgroup("nbval").addoption("--allow-unsolved", action="store_true", help=says)
    parser.addini("allow_unsolved", says, type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    if getattr(config.option, "nbval", False) or getattr(config.option, "nbval_lax", False):
        config.pluginmanager.import_plugin("course.nbval_exercises")
        config.pluginmanager.import_plugin("course.nbval_plugin")
