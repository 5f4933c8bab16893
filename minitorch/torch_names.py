"""What modules, classes and functions say of their place, once `import torch` means minitorch: that they are torch's.

Programs print `type(layer)`, look at `type(x).__module__` to find the library of an array (opt_einsum), and pickle
classes by name. So in a program in which `torch` is minitorch, every module of this package is known as torch's as
well, and what it defines names that place. Otherwise both libraries may be in use, and each has its own names.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import warnings
from collections.abc import Sequence
from types import FunctionType, ModuleType
from typing import Any

ELSEWHERE = {
    **dict.fromkeys(("torch.tensor", "torch.devices", "torch.dtypes", "torch.layout", "torch.streams"), "torch"),
    "torch.autograd.anomaly": "torch.autograd.anomaly_mode",
    "torch.cuda.selection": "torch.cuda",
    "torch.distributed.errors": "torch.distributed",
    "torch.distributions.constraint": "torch.distributions.constraints",
    "torch.nn.modules.rnn_base": "torch.nn.modules.rnn",
    "torch.onnx.errors": "torch.onnx",
    "torch.onnx.program": "torch.onnx",
    "torch.ops.linalg.common": "torch._C",
    "torch.random": "torch._C",
}
"""Where PyTorch has the classes of a module, if that isn't the module of the same name."""


def name_as_torch(module: ModuleType) -> None:
    """Makes a module of this package, and what it defines, torch's by name."""
    name = "torch" + module.__name__.removeprefix("minitorch")
    sys.modules[name] = module
    module.__name__ = name
    for each in list(vars(module).values()):
        if isinstance(each, (type, FunctionType)) and each.__module__.partition(".")[0] == "minitorch":
            place = "torch" + each.__module__.removeprefix("minitorch")
            each.__module__ = _place_of_class(place) if isinstance(each, type) else place


def _place_of_class(place: str) -> str:
    """Where PyTorch has a class that is defined at this place here."""
    family = "torch.distributions.transforms"
    return family if place.startswith(family) else ELSEWHERE.get(place, place)


class _Loader(importlib.machinery.SourceFileLoader):
    """Runs a module, which is torch's by name then."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        name_as_torch(module)


class TorchNames(importlib.abc.MetaPathFinder):
    """Finds the modules of this package where they are, and has them loaded under torch's names."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The usual spec of a module of this package, with a loader of our own."""
        if not name.startswith("minitorch.") or name.rpartition(".")[2] in ("__main__", "spawned"):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def use_torch_names() -> None:
    """Names what is loaded, and what will be."""
    sys.meta_path.insert(0, TorchNames())
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"torch\.")  # as of `dispatch.apply`
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "minitorch" and name.rpartition(".")[2] not in ("__main__", "spawned"):
            name_as_torch(module)
