"""PyTorch, built again on NumPy and CuPy.

`import minitorch as torch` runs ordinary PyTorch programs.
"""

# ruff: noqa: I001 - names stand side by side
from __future__ import annotations

from minitorch.arrays import openblas as _openblas

# isort: split

import importlib
import sys
from math import e, inf, nan, pi
from typing import TYPE_CHECKING, Any

from minitorch import autograd, functional, pickling as _pickling
from minitorch._lowrank import pca_lowrank, svd_lowrank
from minitorch.arrays.gpus import OutOfMemoryError
from minitorch.autograd import (
    enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled,
)  # fmt: skip
from minitorch.autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from minitorch.devices import device, get_default_device, set_default_device
from minitorch.dispatch import reference
from minitorch.dispatch.declaration import METHODS, NAMESPACES
from minitorch.dispatch.promotion import result_type
from minitorch.dtypes import (
    bfloat16, can_cast, cdouble, cfloat, chalf, complex32, complex64, complex128, double, dtype, finfo, float16,
    float32, float64, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu, get_default_dtype,
    half, iinfo, int8, int16, int32, int64, long, promote_types, set_default_dtype, short, uint8, uint16, uint32,
    uint64, bool_ as bool, float_ as float, int_ as int,
)  # fmt: skip
from minitorch.interop import from_dlpack, frombuffer, to_dlpack
from minitorch.layout import (
    channels_last, channels_last_3d, contiguous_format, layout, memory_format, preserve_format, sparse_coo, sparse_csr,
    strided,
)  # fmt: skip
from minitorch.ops.activation.common import relu, sigmoid, threshold
from minitorch.ops.activation.exponential_linear import celu, torch_selu as selu, torch_selu_ as selu_
from minitorch.ops.activation.leaky import prelu, rrelu, rrelu_
from minitorch.ops.activation.shrinking import hardshrink
from minitorch.ops.activation.softmax import log_softmax, softmax
from minitorch.ops.creation.conversion import clone
from minitorch.ops.creation.data import as_tensor, asarray, tensor, asarray as asanyarray
from minitorch.ops.creation.filled import (
    empty, empty_like, empty_permuted, empty_strided, eye, full, full_like, ones, ones_like, scalar_tensor, zeros,
    zeros_like,
)  # fmt: skip
from minitorch.ops.creation.grids import meshgrid, tril_indices, triu_indices, unravel_index, vander
from minitorch.ops.creation.ranges import arange, linspace, logspace, range
from minitorch.ops.creation.windows import bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window
from minitorch.ops.fft.short_time import istft, stft
from minitorch.ops.function_forms import (
    acos_, acosh_, addmv_, arccos_, arccosh_, arcsin_, arcsinh_, arctan_, arctanh_, as_strided_, asin_, asinh_, atan_,
    atanh_, ceil_, celu_, clamp_, clamp_max_, clamp_min_, clip_, conj_physical_, cos_, cosh_, deg2rad_, detach, detach_,
    erf_, erfc_, exp2_, exp_, expm1_, fill_, fix_, floor_, frac_, gcd_, get_device, i0_, index_put_, is_signed, lcm_,
    ldexp_, log1p_, log2_, log10_, log_, logit_, nan_to_num_, neg_, negative_, numel, rad2deg_, reciprocal_, relu_,
    round_, rsqrt_, sigmoid_, sin_, sinc_, sinh_, sqrt_, tan_, tanh_, threshold_, trunc_, xlogy_, zero_,
)  # fmt: skip
from minitorch.ops.housekeeping import _assert_async, fill, is_distributed, is_same_size, nonzero_static
from minitorch.ops.indexing.gather_scatter import gather, scatter, scatter_add, scatter_reduce, take_along_dim
from minitorch.ops.indexing.getitem import index_put
from minitorch.ops.indexing.index_select import index_add, index_copy, index_fill, index_reduce, index_select, put, take
from minitorch.ops.indexing.joining import (
    block_diag, cartesian_prod, cat, column_stack, dstack, hstack, stack, vstack, cat as concat, cat as concatenate,
    vstack as row_stack,
)  # fmt: skip
from minitorch.ops.indexing.masks import argwhere, masked_fill, masked_scatter, masked_select, nonzero
from minitorch.ops.indexing.rearranging import (
    combinations, diag, diag_embed, diagflat, flip, fliplr, flipud, repeat_interleave, roll, rot90, tile, tril, triu,
)  # fmt: skip
from minitorch.ops.linalg.contraction import chain_matmul, cross, einsum, kron, tensordot
from minitorch.ops.linalg.determinants import det, logdet, torch_slogdet as slogdet
from minitorch.ops.linalg.distances import cdist, cosine_similarity, dist, norm, pairwise_distance, pdist
from minitorch.ops.linalg.eig import cholesky_inverse, cholesky_solve, lu, qr, svd, triangular_solve
from minitorch.ops.linalg.lu import lu_unpack, torch_lu_solve as lu_solve
from minitorch.ops.linalg.matmul import matmul
from minitorch.ops.linalg.matrix_functions import geqrf, matrix_exp, matrix_power, householder_product as orgqr
from minitorch.ops.linalg.matrix_products import addbmm, addmm, baddbmm, bmm, mm
from minitorch.ops.linalg.norms import renorm
from minitorch.ops.linalg.qr_svd_eigh import pinverse
from minitorch.ops.linalg.solve import inv as inverse, torch_cholesky as cholesky
from minitorch.ops.linalg.vector_products import addmv, addr, dot, inner, mv, outer, vdot, outer as ger
from minitorch.ops.nn.weight_norm import _weight_norm, norm_except_dim
from minitorch.ops.pointwise.arithmetic import (
    abs, abs_, add, addcdiv, addcmul, mul, neg, positive, rsub, sub, abs as absolute, mul as multiply, neg as negative,
    sub as subtract,
)  # fmt: skip
from minitorch.ops.pointwise.bitwise import (
    bitwise_and, bitwise_left_shift, bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor, gcd, lcm,
)  # fmt: skip
from minitorch.ops.pointwise.comparison import (
    allclose, eq, equal, ge, gt, is_complex, is_floating_point, is_nonzero, isclose, isfinite, isin, isinf, isnan,
    isneginf, isposinf, isreal, le, logical_and, logical_not, logical_or, logical_xor, lt, ne, signbit,
    ge as greater_equal, gt as greater, le as less_equal, lt as less, ne as not_equal,
)  # fmt: skip
from minitorch.ops.pointwise.division import div, floor_divide, fmod, remainder, true_divide, div as divide
from minitorch.ops.pointwise.exponentials import (
    exp, exp2, expm1, frexp, ldexp, log, log1p, log2, log10, logaddexp, logaddexp2,
)  # fmt: skip
from minitorch.ops.pointwise.finite_differences import gradient
from minitorch.ops.pointwise.incomplete_gamma import igamma, igammac
from minitorch.ops.pointwise.powers import float_power, pow, reciprocal, rsqrt, sqrt, square, square_
from minitorch.ops.pointwise.rounding import ceil, floor, frac, nextafter, round, trunc, trunc as fix
from minitorch.ops.pointwise.selection import (
    clamp, clamp_max, clamp_min, fmax, fmin, lerp, maximum, minimum, nan_to_num, where, clamp as clip,
)  # fmt: skip
from minitorch.ops.pointwise.signs import copysign, heaviside, sgn, sign
from minitorch.ops.pointwise.special_functions import (
    digamma, erf, erfc, erfinv, i0, lgamma, logit, mvlgamma, polygamma, sinc, xlogy,
)  # fmt: skip
from minitorch.ops.pointwise.trigonometry import (
    acos, acosh, asin, asinh, atan, atan2, atanh, cos, cosh, deg2rad, hypot, rad2deg, sin, sinh, tan, tanh,
    acos as arccos, acosh as arccosh, asin as arcsin, asinh as arcsinh, atan as arctan, atan2 as arctan2,
    atanh as arctanh,
)  # fmt: skip
from minitorch.ops.random.gradients import _dirichlet_grad, _sample_dirichlet, _standard_gamma, _standard_gamma_grad
from minitorch.ops.random.new import (
    bernoulli, binomial, multinomial, normal, poisson, rand, rand_like, randint, randint_like, randn, randn_like,
    randperm,
)  # fmt: skip
from minitorch.ops.reduction.counting import (
    bincount, bucketize, histc, histogram, searchsorted, unique, unique_consecutive,
)  # fmt: skip
from minitorch.ops.reduction.extremum import amax, amin, aminmax, argmax, argmin, max, min
from minitorch.ops.reduction.scan import (
    cummax, cummin, cumprod, cumsum, cumulative_trapezoid, diff, logcumsumexp, trapezoid, trapezoid as trapz,
)  # fmt: skip
from minitorch.ops.reduction.sorting import (
    argsort, kthvalue, median, mode, msort, nanmedian, nanquantile, quantile, sort, topk,
)  # fmt: skip
from minitorch.ops.reduction.statistics import corrcoef, cov, std, std_mean, var, var_mean
from minitorch.ops.reduction.sums import all, any, count_nonzero, logsumexp, mean, nanmean, nansum, prod, sum, trace
from minitorch.ops.views.broadcasting import broadcast_shapes, broadcast_tensors, broadcast_to
from minitorch.ops.views.complex import angle, complex, imag, polar, real, view_as_complex, view_as_real
from minitorch.ops.views.conjugation import (
    _conj, _neg_view, conj, conj_physical, is_conj, is_neg, resolve_conj, resolve_neg,
)  # fmt: skip
from minitorch.ops.views.shape import (
    atleast_1d, atleast_2d, atleast_3d, flatten, ravel, reshape, squeeze, unflatten, unsqueeze,
)  # fmt: skip
from minitorch.ops.views.slicing import (
    diagonal, diagonal_scatter, narrow, narrow_copy, select, select_scatter, slice_scatter,
)  # fmt: skip
from minitorch.ops.views.splitting import (
    chunk, dsplit, hsplit, split, split_with_sizes, tensor_split, unbind, unsafe_chunk, unsafe_split,
    unsafe_split_with_sizes, vsplit,
)  # fmt: skip
from minitorch.ops.views.striding import as_strided, as_strided_scatter, resize_as_
from minitorch.ops.views.transposition import (
    adjoint, moveaxis, movedim, permute, t, transpose, transpose as swapaxes, transpose as swapdims,
)  # fmt: skip
from minitorch.printing import set_printoptions
from minitorch.random import (
    Generator, default_generator, fork_rng, get_rng_state, initial_seed, manual_seed, seed, set_rng_state,
)  # fmt: skip
from minitorch.settings import (
    are_deterministic_algorithms_enabled, get_deterministic_debug_mode, get_float32_matmul_precision,
    get_device_module, get_num_interop_threads, get_num_threads, is_deterministic_algorithms_warn_only_enabled,
    is_inference, is_storage, is_tensor, set_deterministic_debug_mode, set_float32_matmul_precision,
    set_num_interop_threads, set_num_threads, typename, use_deterministic_algorithms,
)  # fmt: skip
from minitorch.size import Size
from minitorch.sparse import sparse_coo_tensor, sparse_csr_tensor
from minitorch.storage import TypedStorage, UntypedStorage
from minitorch.tags import Tag
from minitorch.interop import from_numpy
from minitorch.tensor import Tensor
from minitorch.streams import Event, Stream
from minitorch.tensor_types import (
    BFloat16Tensor, BoolTensor, ByteTensor, CharTensor, DoubleTensor, FloatTensor, HalfTensor, IntTensor, LongTensor,
    ShortTensor, set_default_tensor_type,
)  # fmt: skip
from minitorch.version import __version__
from minitorch.warn_once import is_warn_always_enabled, set_warn_always

if TYPE_CHECKING:  # what loads with the layers, or when it is first asked for
    compile: Any  # of minitorch._dynamo.compiling, which needs nn
    from minitorch.ops.nn.adaptive_pooling import adaptive_avg_pool1d
    from minitorch.ops.nn.convolution import (
        conv1d, conv2d, conv3d, conv_tbc, conv_transpose1d, conv_transpose2d, conv_transpose3d,
    )  # fmt: skip
    from minitorch.ops.nn.embedding import bilinear
    from minitorch.ops.nn.layer_forms import (
        adaptive_max_pool1d, alpha_dropout, alpha_dropout_, batch_norm, dropout, dropout_, embedding,
        feature_alpha_dropout, feature_alpha_dropout_, group_norm, instance_norm, layer_norm, max_pool1d, max_pool2d,
        max_pool3d,
    )  # fmt: skip
    from minitorch.ops.nn.normalization import rms_norm
    from minitorch.ops.nn.padding import constant_pad_nd
    from minitorch.ops.nn.pixels import channel_shuffle, pixel_shuffle, pixel_unshuffle
    from minitorch.ops.nn.pooling import avg_pool1d

newaxis = None

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
reference.of_attributes(Tensor)


_SUBMODULES = (
    "accelerator", "amp", "ao", "backends", "compiler", "cpu", "cuda", "distributed", "distributions", "export", "fft",
    "func", "futures", "fx", "hub", "jit", "library", "linalg", "models", "multiprocessing", "nested", "nn", "onnx",
    "optim", "overrides", "profiler", "quasirandom", "serialization", "special", "testing", "types", "utils", "version",
    "viz",
)  # fmt: skip


_OF_C = "PyTorchFileReader", "ScriptFunction", "ScriptModule", "SymBool", "SymFloat", "SymInt"


def __getattr__(name: str) -> Any:
    # Submodules load when first used, which keeps `import minitorch` light.
    if name in _SUBMODULES or name in ("_C", "_dynamo", "_inductor"):
        return importlib.import_module(f"minitorch.{name}")
    if name == "torch":
        return sys.modules[__name__]  # as PyTorch's module imports itself
    if name in ("load", "save"):
        return getattr(importlib.import_module("minitorch.serialization"), name)
    if name in _OF_C or name.startswith("DisableTorchFunction"):
        return getattr(importlib.import_module("minitorch._C"), name)
    if name == "vmap":
        return importlib.import_module("minitorch.func").vmap
    if name == "compile":
        return getattr(importlib.import_module("minitorch._dynamo.compiling"), name)
    if name.startswith("_foreach_"):
        return importlib.import_module("minitorch.foreach").function_of(name.removeprefix("_foreach_"))
    if "autocast" in name:
        return getattr(importlib.import_module("minitorch.amp.switches" if "_" in name else "minitorch.amp"), name)
    if not name.startswith("_"):  # torch.conv2d and others come with the layers
        importlib.import_module("minitorch.ops.layer_table")
        if name in NAMESPACES["torch"]:
            return NAMESPACES["torch"][name]
    raise AttributeError(f"module 'torch' has no attribute '{name}'")
