"""What pytest loads at its start wherever the course is installed: under `--nbval` it adds `course.nbval_plugin`."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    if getattr(config.option, "nbval", False) or getattr(config.option, "nbval_lax", False):
        config.pluginmanager.import_plugin("course.nbval_plugin")
