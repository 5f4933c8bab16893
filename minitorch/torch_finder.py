"""How `import torch` finds minitorch, and what `importlib.metadata` says of the distribution `torch` then.

`redirect_imports` is called on request alone: by `minitorch.as_torch` and by `python -m minitorch`.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from minitorch.torch_names import use_torch_names
from minitorch.version import __version__

EVERY_DISTRIBUTION = importlib.metadata.DistributionFinder.Context()
METADATA = f"""Metadata-Version: 2.1
Name: torch
Version: {__version__}
Summary: minitorch under the name of torch
"""


class TorchDistribution(importlib.metadata.Distribution):
    """What `importlib.metadata` says of the distribution `torch`."""

    def read_text(self, filename: str) -> str | None:
        """The text of a metadata file, or None where there is no such file."""
        return {"METADATA": METADATA, "top_level.txt": "torch\n"}.get(filename)

    def locate_file(self, path: Any) -> Any:
        """Where a file of the distribution lies."""
        return Path(__file__).parent / path


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

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context = EVERY_DISTRIBUTION
    ) -> Iterable[importlib.metadata.Distribution]:
        """The distribution `torch`, if it is asked for, or if all are."""
        return [TorchDistribution()] if context.name in ("torch", None) else []


def redirect_imports() -> None:
    """Has `import torch` mean minitorch from now on.

    Raises:
        ImportError: PyTorch itself has been imported already, so that two libraries would go by one name.
    """
    if any(isinstance(finder, TorchFinder) for finder in sys.meta_path):
        return
    if hasattr(sys.modules.get("torch"), "__version__"):
        raise ImportError("PyTorch has been imported already: import minitorch.as_torch before anything imports torch")
    sys.meta_path.insert(0, TorchFinder())
    use_torch_names()
