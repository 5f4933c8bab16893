"""Neural networks: modules, their functions, and first values for their parameters.

Source: https://pytorch.org/docs/stable/nn.html
"""

from minitorch.nn import attention, common_types, functional, init, modules, parallel, utils
from minitorch.nn.modules import *  # noqa: F403
from minitorch.nn.parallel import DataParallel
from minitorch.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    *modules.__all__, "Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter",
    "attention", "common_types", "functional", "init", "modules", "parallel", "utils",
]  # fmt: skip
