"""`python -m minitorch script.py [arguments]`: runs a PyTorch program in which `import torch` means minitorch."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

SCRIPT = "MINITORCH_SCRIPT"
"""The environment variable that tells spawned processes which script is run."""


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
            if error.name is None or not ("mini" + spec.name).startswith(error.name):
                raise
            raise ModuleNotFoundError(f"No module named {spec.name!r}", name=spec.name) from error

    def exec_module(self, module: ModuleType) -> None:
        """The module has run already, under its own name."""


def run(path: str, name: str) -> ModuleType:
    """Runs a script as the module `name`, with `import torch` meaning minitorch from now on."""
    if not any(isinstance(finder, TorchFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, TorchFinder())
    script = ModuleType(name)
    script.__file__ = path
    # Processes that the script spawns import what the module is made from: there, that is `minitorch.spawned`.
    script.__spec__ = importlib.machinery.ModuleSpec("minitorch.spawned", None)
    sys.modules[name] = script
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, script.__dict__)
    return script


def main(arguments: Sequence[str]) -> None:
    """Runs the script that the arguments name, with the rest as its own arguments."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        sys.exit(0 if arguments else 2)
    path = Path(arguments[0])
    if not path.is_file():
        sys.exit(f"python -m minitorch: no such script: {path}")
    sys.argv = list(arguments)
    sys.path[0] = str(path.resolve().parent)
    os.environ[SCRIPT] = str(path.resolve())
    run(str(path), "__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
