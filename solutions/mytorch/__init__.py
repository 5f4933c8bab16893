"""mytorch: a small, complete PyTorch, written chapter by chapter."""

# 01 · Global settings
from . import printing
from .settings import (
    bfloat16,
    device,
    dtype,
    float16,
    float32,
    float64,
    get_default_device,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    set_default_device,
    set_default_dtype,
    set_printoptions,
    uint8,
)
from .settings import bool_ as bool
from .settings import float16 as half
from .settings import float32 as float
from .settings import float64 as double
from .settings import int32 as int
from .settings import int64 as long

# 02 · Tensors and storage
from .creation import (
    arange,
    as_tensor,
    clone,
    empty,
    empty_like,
    eye,
    from_numpy,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    tensor,
    zeros,
    zeros_like,
)
from .pointwise import (
    abs,
    bitwise_not,
    ceil,
    clamp,
    cos,
    div,
    eq,
    exp,
    floor,
    floor_divide,
    ge,
    gt,
    isfinite,
    isnan,
    le,
    log,
    log1p,
    lt,
    masked_fill,
    maximum,
    minimum,
    mul,
    ne,
    neg,
    pow,
    reciprocal,
    remainder,
    round,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sqrt,
    square,
    tanh,
    where,
)
from .promotion import promote_types, result_type
from .random import Generator, manual_seed, rand, rand_like, randint, randn, randn_like, randperm
from .reduction import (
    all,
    allclose,
    amax,
    amin,
    any,
    argmax,
    argmin,
    argsort,
    cumsum,
    equal,
    matmul,
    mean,
    prod,
    std,
    sum,
    var,
)
from .strides import Size
from .tensor import Tensor

add, sub = Tensor.add, Tensor.sub

# 03 · Views and layout
from .views import (
    as_strided,
    contiguous,
    copy_,
    expand,
    flatten,
    permute,
    repeat,
    reshape,
    select,
    squeeze,
    transpose,
    unsqueeze,
    view,
)

# 04 · Broadcasting, indexing and joining
from .broadcasting import broadcast_shapes, broadcast_tensors, broadcast_to
from .gathering import gather, max, min, scatter, scatter_add, sort, topk
from .indexing import index_put, index_select, masked_select, nonzero
from .joining import cat, chunk, flip, split, stack, tril, triu, unbind

# 05 · Devices
from . import cuda
from .devices import to_device

# 06 · The computation graph
from . import autograd

# 07 · Backward in depth
from .autograd import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

# 08 · Static and dynamic graphs
from . import graph

# 09 · Modules and parameters
from . import nn

# 10 · Activations and initialization
from .nn.activation import erf, log_softmax, relu, softmax

# 14 · Attention
from .random import multinomial

# 16 · Losses and optimizers
from . import optim
