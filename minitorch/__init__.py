"""PyTorch, built again on NumPy and CuPy.

`import minitorch as torch` runs ordinary PyTorch programs.
"""

from __future__ import annotations

import importlib
from typing import Any

from minitorch import autograd
from minitorch import dtypes as _dtypes
from minitorch.autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
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
from minitorch.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from minitorch.ops import (
    activation,
    bitwise,
    comparison,
    complex,
    conversion,
    convolution,
    counting,
    creation,
    data,
    dropout,
    elementary,
    extremum,
    index_ops,
    indexing,
    joining,
    linalg,
    loss,
    loss_classification,
    loss_margin,
    mask_ops,
    matmul,
    norms,
    pointwise,
    rearranging,
    reduction,
    sampling,
    sampling_in_place,
    scan,
    scattering,
    selection,
    shape,
    shrinking,
    slicing,
    softmax,
    sorting,
    special_functions,
    statistics,
    striding,
)
from minitorch.ops.declaration import METHODS, NAMESPACES
from minitorch.ops.promotion import result_type
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
from minitorch.size import Size
from minitorch.tensor import Tensor, from_numpy

__version__ = "2.13.0"

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
globals().update(NAMESPACES["torch"])
globals().update(bool=_dtypes.bool_, int=_dtypes.int_, float=_dtypes.float_)


_SUBMODULES = (
    "amp",
    "cuda",
    "distributions",
    "linalg",
    "multiprocessing",
    "nn",
    "onnx",
    "optim",
    "special",
    "utils",
    "viz",
)


def __getattr__(name: str) -> Any:
    # Submodules load when first used, which keeps `import minitorch` light.
    if name in _SUBMODULES:
        return importlib.import_module(f"minitorch.{name}")
    raise AttributeError(f"module 'torch' has no attribute '{name}'")
