"""What packages look up in PyTorch's compiled module, as far as it means something here."""

from __future__ import annotations

from typing import Any

from minitorch._C import _nn
from minitorch.devices import device
from minitorch.dispatch.overriding import disabled as _disabled_torch_function_impl
from minitorch.dtypes import dtype
from minitorch.ops.linalg.common import _LinAlgError
from minitorch.overrides import disabled as DisableTorchFunction
from minitorch.overrides import disabled_classes as DisableTorchFunctionSubclass
from minitorch.overrides import has_torch_function as _has_torch_function
from minitorch.overrides import has_torch_function_unary as _has_torch_function_unary
from minitorch.overrides import has_torch_function_variadic as _has_torch_function_variadic
from minitorch.random import Generator
from minitorch.size import Size
from minitorch.tensor import Tensor
from minitorch.unsupported import kind

TensorBase = _TensorBase = Tensor
_TensorMeta = type(Tensor)
PyTorchFileReader = kind("torch._C.PyTorchFileReader", "torch.load reads files")
SymBool, SymFloat, SymInt = (
    kind(f"torch.{name}", "minitorch's sizes are plain numbers") for name in ("SymBool", "SymFloat", "SymInt")
)
ScriptFunction, ScriptModule, Graph, Value, Node, TensorType = (
    kind(f"torch._C.{name}", "minitorch has no compiler of scripts")
    for name in ("ScriptFunction", "ScriptModule", "Graph", "Value", "Node", "TensorType")
)


def _log_api_usage_once(event: str) -> None:
    """Counts how an interface is used, in PyTorch's own installations. Here it does nothing."""


def _get_tracing_state() -> Any:
    """The trace of the compiler of scripts that is being recorded: None."""


def _is_torch_function_enabled() -> bool:
    """Whether classes are asked for their `__torch_function__`."""
    from minitorch.dispatch.overriding import state  # loads nothing

    return state.asks_classes


def _is_torch_function_all_disabled() -> bool:
    """Whether neither classes nor modes are asked."""
    return not _is_torch_function_enabled()
