"""What PyTorch calls a function of minitorch in generated code, and with which arguments its own tracer records a call.

PyTorch writes some functions in Python and binds others to C++. The tracer sees a Python function with its optional
arguments filled in and passed by keyword, because that is how the function hands itself to `__torch_function__`;
a bound one it sees with the arguments of the call. Sources: torch/overrides.py and torch/nn/functional.py of 2.13.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import minitorch

BOUND = {
    "torch._C._nn": (
        *("avg_pool2d", "avg_pool3d", "elu_", "gelu", "hardtanh_", "leaky_relu_", "linear", "log_sigmoid", "one_hot"),
        *("scaled_dot_product_attention", "softplus", "softshrink"),
    ),
    "torch": (
        *("adaptive_avg_pool1d", "avg_pool1d", "bilinear", "celu_", "channel_shuffle", "conv1d", "conv2d", "conv3d"),
        *("conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_similarity", "hardshrink"),
        *("pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu", "relu_", "rrelu_", "selu_"),
        "threshold_",
    ),
}
"""The functions of nn.functional that PyTorch binds to C++, by the module in which it has them."""

IN_PYTHON = (
    *("atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "cartesian_prod", "cdist"),
    *("chain_matmul", "einsum", "meshgrid", "norm", "split", "tensordot"),
)
"""The functions of `torch` that PyTorch writes in Python, in torch/functional.py."""

RENAMED = {"logsigmoid": "log_sigmoid", "threshold": "_threshold"}


def qualified(function: Callable[..., Any]) -> str:
    """The name under which PyTorch's generated code calls a function, for instance "torch._C._nn.linear"."""
    name = function.__name__
    if getattr(builtins, name, None) is function:
        return name
    known = _KNOWN.get(function)
    if known is not None:
        return known
    if name == "<lambda>":
        return inspect.getsource(function).split("=")[0].strip()
    module = str(function.__module__).replace("torch._ops.", "torch.ops.")
    return f"{module.removeprefix('mini') if _is_own(module) else module}.{name}"


def _is_own(module: str) -> bool:
    """Whether a module is of this package, which may go by the name of torch."""
    return module.partition(".")[0] in ("minitorch", "torch")


def is_known(function: Callable[..., Any]) -> bool:
    """Whether a function is one of minitorch's own, which generated code calls by its qualified name."""
    module = str(getattr(function, "__module__", None))
    return function in _KNOWN or _is_own(module)


def normalized(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments as PyTorch's tracer records them: see the module's docstring."""
    path = _KNOWN.get(function, "")
    if path.rpartition(".")[0] in ("torch.functional", "torch.nn.functional"):
        signature = inspect.signature(function)
        parameters = signature.parameters
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        by_place: list[Any] = []
        by_name = {}
        for key, parameter in parameters.items():
            value = bound.arguments[key]
            if parameter.kind is parameter.VAR_POSITIONAL:
                by_place += value
            elif parameter.kind is parameter.VAR_KEYWORD:
                by_name.update(value)
            elif parameter.default is parameter.empty:
                by_place.append(value)
            else:
                by_name[key] = value
        return tuple(by_place), by_name
    return args, kwargs


class Torch:
    """What `torch` means in generated code: minitorch, with the modules where PyTorch keeps its functions."""

    def __init__(self, places: dict[str, Any]) -> None:
        self._places = places

    def __getattr__(self, name: str) -> Any:
        places = object.__getattribute__(self, "_places")
        if name in places:
            return places[name]
        return getattr(places[""], name)


def _collect() -> dict[Any, str]:
    """The qualified names of all public functions."""
    known: dict[Any, str] = {}
    for name, function in _functions_of(minitorch):
        known.setdefault(function, f"torch.functional.{name}" if name in IN_PYTHON else f"torch.{name}")
    for family in ("linalg", "special"):
        for name, function in _functions_of(importlib.import_module(f"minitorch.{family}")):
            known.setdefault(function, f"torch._C._{family}.{family}_{name}")
    bound = {name: path for path, names in BOUND.items() for name in names}
    for name, function in _functions_of(_layers):
        called = RENAMED.get(name, name)
        known.setdefault(function, f"{bound.get(called, 'torch.nn.functional')}.{called}")
    return known


def _functions_of(module: Any) -> list[tuple[str, Any]]:
    return [(name, each) for name, each in vars(module).items() if inspect.isfunction(each) and name[0] != "_"]


def _torch() -> Torch:
    """`torch`, with the modules that minitorch hasn't."""
    bound = {f"_{family}": _Prefixed(family) for family in ("linalg", "special")}
    nn = Torch({"": _layers, "log_sigmoid": _layers.logsigmoid})
    functional = Torch({"": _layers, "_threshold": _layers.threshold})
    places = {"nn": Torch({"": minitorch.nn, "functional": functional}), "functional": minitorch}
    return Torch({"": minitorch, "_C": Torch({"_nn": nn, **bound}), **places})


class _Prefixed:
    """`torch._C._linalg`, whose functions are named `linalg_norm` and so on."""

    def __init__(self, family: str) -> None:
        self._family = family

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(minitorch, self._family), name.removeprefix(f"{self._family}_"))


_layers = importlib.import_module("minitorch.nn.functional")
_KNOWN = _collect()
torch = _torch()
"""The name `torch` of generated code."""
