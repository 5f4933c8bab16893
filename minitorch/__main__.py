"""Runs a PyTorch program in which `import torch` means minitorch.

python -m minitorch script.py [arguments]
python -m minitorch -m module [arguments]
python -m minitorch --install       every program of this environment finds minitorch as torch
python -m minitorch --uninstall     undoes that
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from minitorch import installing
from minitorch.torch_finder import redirect_imports

SCRIPT = "MINITORCH_SCRIPT"
PACKAGE = "MINITORCH_PACKAGE"
"""The environment variables that tell spawned processes which script is run, and the package it belongs to, if any."""


def find_module(name: str) -> tuple[str, str]:
    """The file that `python -m name` runs, and the package it belongs to."""
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{name}.__main__")
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        sys.exit(f"python -m minitorch: no such module: {name}")
    return spec.origin, spec.parent or ""


def run(path: str, name: str, package: str | None = None) -> ModuleType:
    """Runs a script as the module `name` of a package, with `import torch` meaning minitorch from now on."""
    redirect_imports()
    script = ModuleType(name)
    script.__file__ = path
    script.__package__ = package
    # Processes that the script spawns import what the module is made from: there, that is `minitorch.spawned`.
    script.__spec__ = importlib.machinery.ModuleSpec("minitorch.spawned", None)
    sys.modules[name] = script
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, script.__dict__)
    return script


def change_environment(option: str) -> None:
    """Installs minitorch under the name torch, or uninstalls it, and says where."""
    try:
        files = installing.install() if option == "--install" else installing.uninstall()
    except OSError as error:
        sys.exit(f"python -m minitorch {option}: {error}")
    print(f"{'Wrote' if option == '--install' else 'Removed'} {files[0]}")


def main(arguments: Sequence[str]) -> None:
    """Runs the script or module that the arguments name, with the rest as its own arguments."""
    if not arguments or arguments[0] in ("-h", "--help") or arguments == ["-m"]:
        print(__doc__)
        sys.exit(0 if "-m" not in arguments and arguments else 2)
    if arguments[0] in ("--install", "--uninstall"):
        change_environment(arguments[0])
        return
    package = None
    if arguments[0] == "-m":
        redirect_imports()
        sys.path[0] = os.getcwd()
        path, package = find_module(arguments[1])
        os.environ[PACKAGE] = package
        sys.argv = [path, *arguments[2:]]
    else:
        path = arguments[0]
        if not Path(path).is_file():
            sys.exit(f"python -m minitorch: no such script: {path}")
        os.environ.pop(PACKAGE, None)
        sys.path[0] = str(Path(path).resolve().parent)
        sys.argv = list(arguments)
    os.environ[SCRIPT] = str(Path(path).resolve())
    run(path, "__main__", package)


if __name__ == "__main__":
    main(sys.argv[1:])
