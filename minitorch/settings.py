"""Switches of the whole library, and small questions about objects.

minitorch computes deterministically on one thread of Python, and products of matrices on those of NumPy's BLAS. So most
switches here are remembered and have nothing to change; each docstring says so.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from types import ModuleType
from typing import Any

from minitorch.arrays import gpus, threads
from minitorch.devices import device as Device
from minitorch.storage import UntypedStorage
from minitorch.tensor import Tensor

_interop_threads = 1
_deterministic = {"mode": 0, "fill": True}
_precision = "highest"
_DEBUG_MODES = ("default", "warn", "error")


def is_inference(input: Tensor) -> bool:
    """Whether a tensor was made in inference mode. Returns a bool.

    https://pytorch.org/docs/stable/generated/torch.is_inference.html
    """
    return input.is_inference()


def is_tensor(obj: Any, /) -> bool:
    """Returns the bool whether `obj` is a Tensor.

    Source: https://pytorch.org/docs/stable/generated/torch.is_tensor.html
    """
    return isinstance(obj, Tensor)


def is_storage(obj: Any, /) -> bool:
    """Returns the bool whether `obj` is a storage.

    Source: https://pytorch.org/docs/stable/generated/torch.is_storage.html
    """
    return isinstance(obj, UntypedStorage)


def typename(obj: Any, /) -> str:
    """Returns the str that names a tensor's old type, a class or function, or an object's class, as PyTorch calls it.

    Source: https://pytorch.org/docs/stable/generated/torch.typename.html
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    named = obj if hasattr(obj, "__name__") else type(obj)
    name: str = getattr(named, "__qualname__", named.__name__)
    module = getattr(named, "__module__", None) or ""
    if getattr(sys.modules["minitorch"], name, None) is named:
        module = "minitorch"
    full = name if module in ("", "builtins") else f"{module}.{name}"
    return full.replace("minitorch", "torch", 1) if full.startswith("minitorch") else full


def get_device_module(device: Any = None) -> ModuleType:
    """`torch.cuda` or `torch.cpu`, for a device or its name, by default for GPUs if there are any.

    Raises RuntimeError for other values, and for devices that have no such module.
    Source: https://pytorch.org/docs/stable/generated/torch.get_device_module.html
    """
    if device is None:
        name = "cpu" if gpus.library() is None else "cuda"
    elif isinstance(device, (Device, str)):
        name = Device(device).type
    else:
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    if name not in ("cpu", "cuda"):
        raise RuntimeError(f"Device '{name}' does not have a corresponding module registered as 'torch.{name}'.")
    return importlib.import_module(f"minitorch.{name}")


def get_num_threads() -> int:
    """Returns the int number of threads that matrix products use on the CPU: OpenBLAS's.

    1 if NumPy uses another library.

    Source: https://pytorch.org/docs/stable/generated/torch.get_num_threads.html
    """
    return threads.get_num_threads()


def set_num_threads(num: int, /) -> None:
    """Has products of matrices use so many threads on the CPU; everything else runs on one.

    Warns where NumPy uses another library than OpenBLAS. Raises RuntimeError unless the number is a positive int.
    Source: https://pytorch.org/docs/stable/generated/torch.set_num_threads.html
    """
    threads.set_num_threads(_positive("set_num_threads", num))


def get_num_interop_threads() -> int:
    """Returns the int number of threads set for independent ops. It is remembered only: ops run one after another.

    Source: https://pytorch.org/docs/stable/generated/torch.get_num_interop_threads.html
    """
    return _interop_threads


def set_num_interop_threads(num: int, /) -> None:
    """Remembers a number of threads. Raises RuntimeError unless it is a positive int.

    Source: https://pytorch.org/docs/stable/generated/torch.set_num_interop_threads.html
    """
    global _interop_threads
    _interop_threads = _positive("set_num_interop_threads", num)


def _positive(name: str, num: Any) -> int:
    if not isinstance(num, int) or isinstance(num, bool):
        raise RuntimeError(f"{name} expects an int, but got {type(num).__name__}")
    if num <= 0:
        raise RuntimeError(f"{name} expects a positive integer")
    return num


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Asks by a bool for deterministic algorithms, which minitorch always uses on the CPU.

    `empty` fills its memory then, too. Raises TypeError for another type.
    Source: https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html
    """
    if not isinstance(mode, bool):
        raise TypeError(
            "_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not " + type(mode).__name__
        )
    _deterministic["mode"] = (1 if warn_only else 2) if mode else 0


def fills_uninitialized_memory() -> bool:
    """Whether `empty` fills its memory: with deterministic algorithms, unless `torch.utils.deterministic` says no."""
    return _deterministic["mode"] > 0 and bool(_deterministic["fill"])


def may_fill_memory(mode: bool | None = None) -> bool:
    """Sets what `torch.utils.deterministic.fill_uninitialized_memory` is, if a value is given, and returns it."""
    if mode is not None:
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
        _deterministic["fill"] = mode
    return bool(_deterministic["fill"])


def alert_not_deterministic(caller: str) -> None:
    """What PyTorch says where an operation has no deterministic implementation: an error, a warning, or nothing."""
    told = f"{caller} does not have a deterministic implementation, but you set "
    file = (
        "file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support "
    )
    if _deterministic["mode"] == 2:
        raise RuntimeError(
            f"{told}'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for this operation, "
            "or you can use the 'warn_only=True' option, if that's acceptable for your application. You can also "
            f"{file}for this operation."
        )
    if _deterministic["mode"] == 1:
        told += f"'torch.use_deterministic_algorithms(True, warn_only=True)'. You can {file}for this operation."
        warnings.warn(told, UserWarning, stacklevel=2)


def are_deterministic_algorithms_enabled() -> bool:
    """Returns the bool whether deterministic algorithms were asked for.

    Source: https://pytorch.org/docs/stable/generated/torch.are_deterministic_algorithms_enabled.html
    """
    return _deterministic["mode"] > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Returns the bool whether deterministic algorithms were asked for with `warn_only`.

    Source: https://pytorch.org/docs/stable/generated/torch.is_deterministic_algorithms_warn_only_enabled.html
    """
    return _deterministic["mode"] == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Sets the same switch as `use_deterministic_algorithms` by an int or str: 0 "default", 1 "warn", 2 "error".

    Raises TypeError for another type, RuntimeError for another value.
    Source: https://pytorch.org/docs/stable/generated/torch.set_deterministic_debug_mode.html
    """
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got " + debug_mode
            )
        debug_mode = _DEBUG_MODES.index(debug_mode)
    elif not isinstance(debug_mode, int):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    elif debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    _deterministic["mode"] = debug_mode


def get_deterministic_debug_mode() -> int:
    """Returns the int 0, 1 or 2, see `set_deterministic_debug_mode`.

    Source: https://pytorch.org/docs/stable/generated/torch.get_deterministic_debug_mode.html
    """
    return int(_deterministic["mode"])


def get_float32_matmul_precision() -> str:
    """Returns the str set for float32 matrix products. minitorch always uses the highest.

    Source: https://pytorch.org/docs/stable/generated/torch.get_float32_matmul_precision.html
    """
    return _precision


def set_float32_matmul_precision(precision: str) -> None:
    """Remembers the str "highest", "high" or "medium"; products are computed at the highest precision in any case.

    Returns None.
    Source: https://pytorch.org/docs/stable/generated/torch.set_float32_matmul_precision.html
    """
    global _precision
    if precision not in ("highest", "high", "medium"):
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setting is kept", stacklevel=2
        )
        return
    _precision = precision
