"""Optimizers. Source: https://pytorch.org/docs/stable/optim.html"""

from __future__ import annotations

import importlib
from typing import Any

from minitorch.optim import lr_scheduler
from minitorch.optim._adafactor import Adafactor
from minitorch.optim._muon import Muon
from minitorch.optim._stateless import swap_in_optimizer_params_and_state
from minitorch.optim.adadelta import Adadelta
from minitorch.optim.adagrad import Adagrad
from minitorch.optim.adam import Adam
from minitorch.optim.adamax import Adamax
from minitorch.optim.adamw import AdamW
from minitorch.optim.asgd import ASGD
from minitorch.optim.lbfgs import LBFGS
from minitorch.optim.nadam import NAdam
from minitorch.optim.optimizer import Optimizer
from minitorch.optim.radam import RAdam
from minitorch.optim.rmsprop import RMSprop
from minitorch.optim.rprop import Rprop
from minitorch.optim.sgd import SGD
from minitorch.optim.sparse_adam import SparseAdam

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer",
    "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler", "swa_utils", "swap_in_optimizer_params_and_state",
]  # fmt: skip

_COMMON = """

    Parameters have any shape and a floating or complex dtype. `step(closure)` returns the closure's loss, or None.
    Raises ValueError for an option out of its range and for no parameters, TypeError for what is no tensor,
    RuntimeError for options that exclude each other and for dtypes that aren't supported.
"""
for _class in list(globals().values()):
    if isinstance(_class, type) and issubclass(_class, Optimizer) and _class is not Optimizer:
        _class.__doc__ = f"{_class.__doc__}{_COMMON}"


def __getattr__(name: str) -> Any:
    if name == "swa_utils":  # loaded when first used: it needs all of nn
        return importlib.import_module("minitorch.optim.swa_utils")
    raise AttributeError(f"module 'torch.optim' has no attribute '{name}'")
