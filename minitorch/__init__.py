"""PyTorch, built again on NumPy and CuPy.

`import minitorch as torch` runs ordinary PyTorch programs.
"""

from __future__ import annotations

import importlib
from math import e, inf, nan, pi
from typing import Any

from minitorch import autograd
from minitorch import dtypes as _dtypes
from minitorch.autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from minitorch.autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from minitorch.devices import device, get_default_device, set_default_device
from minitorch.dtypes import (
    bfloat16,
    can_cast,
    cdouble,
    cfloat,
    complex64,
    complex128,
    double,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    half,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    long,
    promote_types,
    set_default_dtype,
    short,
    uint8,
)
from minitorch.interchange import from_dlpack, frombuffer, to_dlpack
from minitorch.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from minitorch.ops import function_forms as _function_forms
from minitorch.ops.declaration import METHODS, NAMESPACES
from minitorch.ops.promotion import result_type
from minitorch.printing import set_printoptions
from minitorch.random import (
    Generator,
    default_generator,
    fork_rng,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from minitorch.settings import (
    are_deterministic_algorithms_enabled,
    compile,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    get_num_interop_threads,
    get_num_threads,
    is_deterministic_algorithms_warn_only_enabled,
    is_inference,
    is_storage,
    is_tensor,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_num_interop_threads,
    set_num_threads,
    typename,
    use_deterministic_algorithms,
)
from minitorch.size import Size
from minitorch.storage import UntypedStorage
from minitorch.tensor import Tensor, from_numpy
from minitorch.tensor_types import TYPES, set_default_tensor_type
from minitorch.version import __version__

newaxis = None

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
globals().update(NAMESPACES["torch"])
globals().update(TYPES)
globals().update(bool=_dtypes.bool_, int=_dtypes.int_, float=_dtypes.float_)


_SUBMODULES = (
    "accelerator",
    "amp",
    "backends",
    "cpu",
    "cuda",
    "distributed",
    "distributions",
    "func",
    "futures",
    "hub",
    "jit",
    "linalg",
    "models",
    "multiprocessing",
    "nn",
    "optim",
    "profiler",
    "serialization",
    "special",
    "testing",
    "utils",
    "version",
    "viz",
)


def __getattr__(name: str) -> Any:
    # Submodules load when first used, which keeps `import minitorch` light.
    if name in _SUBMODULES:
        return importlib.import_module(f"minitorch.{name}")
    if name in ("load", "save"):
        return getattr(importlib.import_module("minitorch.serialization"), name)
    if "autocast" in name:
        return getattr(importlib.import_module("minitorch.amp.settings" if "_" in name else "minitorch.amp"), name)
    if not name.startswith("_"):  # torch.conv2d and others come with the layers
        importlib.import_module("minitorch.ops.layer_table")
        if name in NAMESPACES["torch"]:
            return NAMESPACES["torch"][name]
    raise AttributeError(f"module 'torch' has no attribute '{name}'")
