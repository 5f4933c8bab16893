"""The files that declare what tensors can do: importing this one declares all of it. Layers are in `layer_table.py`."""

# ruff: noqa: F401
from minitorch.ops import housekeeping, subclasses
from minitorch.ops.activation import common, exponential_linear, leaky, shrinking, softmax
from minitorch.ops.creation import conversion, data, filled, grids, ranges, windows
from minitorch.ops.fft import short_time
from minitorch.ops.indexing import gather_scatter, getitem, index_select, joining, masks, rearranging
from minitorch.ops.linalg import (
    contraction,
    determinants,
    distances,
    eig,
    lu,
    matmul,
    matrix_functions,
    matrix_products,
    norms,
    qr_svd_eigh,
    solve,
    vector_products,
)
from minitorch.ops.nn import weight_norm
from minitorch.ops.pointwise import (
    arithmetic,
    bitwise,
    comparison,
    division,
    exponentials,
    finite_differences,
    incomplete_gamma,
    powers,
    rounding,
    selection,
    signs,
    special_functions,
    trigonometry,
)
from minitorch.ops.random import gradients, in_place, new
from minitorch.ops.reduction import counting, extremum, scan, sorting, statistics, sums
from minitorch.ops.views import (
    broadcasting,
    complex,
    conjugation,
    set_,
    shape,
    share_memory,
    slicing,
    splitting,
    striding,
    transposition,
)
from minitorch.ops.views import in_place as in_place_of_views
