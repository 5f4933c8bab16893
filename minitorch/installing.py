"""Installs minitorch under the name `torch` into this Python environment, on request, and takes it out again.

    python -m minitorch --install
    python -m minitorch --uninstall

What is installed is one module of two lines and its metadata, so that `import torch` finds minitorch in every program
of the environment, and `pip install` takes the requirement `torch` as met. `pip uninstall torch` removes it as well.
"""

from __future__ import annotations

import importlib.metadata
import sys
import sysconfig
from pathlib import Path

from minitorch.torch_finder import METADATA, TorchDistribution
from minitorch.version import __version__

INSTALLER = "minitorch"
MODULE = '''"""minitorch under the name of torch: `python -m minitorch --install` wrote this file."""

import sys

import minitorch.as_torch

sys.modules["torch"] = minitorch
'''


def installed(folder: Path | None = None) -> importlib.metadata.Distribution | None:
    """The distribution `torch` in a folder of packages, or anywhere in this environment; None where there is none."""
    path = sys.path if folder is None else [str(folder)]
    found = importlib.metadata.Distribution.discover(name="torch", path=path)
    return next((each for each in found if not isinstance(each, TorchDistribution)), None)


def install(folder: Path | None = None) -> list[Path]:
    """Installs the name `torch` into a folder of packages, that of this environment by default.

    Returns the files that were written.

    Raises:
        FileExistsError: there is a `torch` already, which nothing may shadow.
    """
    there, target = installed(folder), folder or Path(sysconfig.get_path("purelib"))
    if there is not None:
        raise FileExistsError(f"torch {there.version} is installed in this environment: uninstall it, or use another")
    info = f"torch-{__version__}.dist-info"
    texts = {"torch.py": MODULE, f"{info}/METADATA": METADATA, f"{info}/INSTALLER": INSTALLER}
    texts[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*texts, f"{info}/RECORD"])
    (target / info).mkdir(parents=True)
    for name, text in texts.items():
        (target / name).write_text(text, encoding="utf-8")
    return [target / name for name in texts]


def uninstall(folder: Path | None = None) -> list[Path]:
    """Removes what `install` wrote, and returns the files.

    Raises:
        FileNotFoundError: there is nothing of the kind; another torch stays where it is.
    """
    there = installed(folder)
    if there is None or there.read_text("INSTALLER") != INSTALLER:
        raise FileNotFoundError("minitorch is not installed under the name torch in this environment")
    files = [Path(str(there.locate_file(each))) for each in there.files or []]
    for file in files:
        file.unlink()
    files[-1].parent.rmdir()
    return files
