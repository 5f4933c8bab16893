"""`python -m minitorch script.py [arguments]`: runs a PyTorch program in which `import torch` means minitorch."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any


class TorchFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `torch` and `torch.x.y` as the modules `minitorch` and `minitorch.x.y` themselves."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != "torch" and not name.startswith("torch."):
            return None
        return importlib.util.spec_from_loader(name, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        try:
            return importlib.import_module("mini" + spec.name)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"No module named {spec.name!r}", name=spec.name) from error

    def exec_module(self, module: ModuleType) -> None:
        """The module has run already, under its own name."""


def main(arguments: Sequence[str]) -> None:
    """Runs the script that the arguments name, with the rest as its own arguments."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        sys.exit(0 if arguments else 2)
    if not Path(arguments[0]).is_file():
        sys.exit(f"python -m minitorch: no such script: {arguments[0]}")
    sys.meta_path.insert(0, TorchFinder())
    sys.argv = list(arguments)
    sys.path[0] = str(Path(arguments[0]).resolve().parent)
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
