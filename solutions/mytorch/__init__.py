"""mytorch: a small, complete PyTorch, written chapter by chapter."""

# 01 · Global settings
from . import printing
from .settings import bfloat16, float16, float32, float64, int8, int16, int32, int64, uint8
from .settings import bool_ as bool, float16 as half, float32 as float, float64 as double, int32 as int, int64 as long
from .settings import device, dtype, get_default_device, get_default_dtype
from .settings import set_default_device, set_default_dtype, set_printoptions

# 02 · Tensors and storage
from .creation import arange, empty, empty_like, eye, from_numpy, full, full_like, linspace
from .creation import ones, ones_like, tensor, zeros, zeros_like
from .random import Generator, manual_seed, rand, rand_like, randint, randn, randn_like, randperm
from .strides import Size
from .tensor import Tensor

# 02b · Types and dispatch
from . import pointwise, reduction
from .creation import as_tensor
from .dispatch import FUNCTIONS, Function
from .promotion import promote_types, result_type

add, sub = Tensor.add, Tensor.sub


def __getattr__(name: str) -> Function:
    """Whatever tensors have as a method is a function of the package, too: `mytorch.exp`."""
    if name not in FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return FUNCTIONS[name]


# 03 · Views and layout
from . import views

# 04 · Broadcasting, indexing and joining
from . import gathering, indexing
from .broadcasting import broadcast_shapes, broadcast_tensors
from .joining import stack

# 05 · Devices
from . import cuda, devices

# 06 · The computation graph
from . import autograd

# 07 · Backward in depth
from .autograd import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

# 08 · Static and dynamic graphs
from . import graph, utils

# 08b · A compiler
from . import compiler
from .compiler import compile

# 09 · Modules and parameters
from . import nn

# 10 · Activations and initialization
from .nn.activation import relu

# 16 · Losses and optimizers
from . import optim

# 19 · The training loop
from .random import get_rng_state, set_rng_state
from .training import Trainer

# 20 · Saving and loading
from . import safetensors
from .serialization import load, save

# 20b · Export
from . import onnx

# 22 · Mixed precision
from . import amp
from .amp import autocast

# 23 · Several GPUs
from . import distributed

# 24b · Four swaps
from . import generation
