"""Every op of the library on about a million elements, against PyTorch's: which are slow, and how slow.

An op's arguments are made by `ARGUMENTS`, once for both libraries; what it doesn't name is called with one matrix. What
PyTorch refuses to call so is listed below the table: it should be named there, or in `NOT_TIMED` with the reason.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import minitorch
from benchmarks.measure import least_seconds

SIDE = 1000
Arguments = Callable[["Inputs"], tuple[Any, ...]]


class Inputs:
    """The tensors to call ops with; made anew from the same seed, so that both libraries get the same."""

    def __init__(self, lib: Any, requires_grad: bool = False) -> None:
        self.lib = lib
        self._random = np.random.default_rng(0)
        self._requires_grad = requires_grad
        self.leaves: list[Any] = []

    def __call__(self, *shape: int, low: float = -3.0, high: float = 3.0) -> Any:
        """float32, uniform in [low, high]; 1000 × 1000 where no shape is given."""
        array = self._random.random(shape or (SIDE, SIDE), np.float32) * np.float32(high - low) + np.float32(low)
        tensor = self.lib.from_numpy(array)
        if self._requires_grad:
            self.leaves.append(tensor.requires_grad_())
        return tensor

    def integers(self, *shape: int, low: int = 0, high: int = SIDE) -> Any:
        return self.lib.from_numpy(self._random.integers(low, high, shape or (SIDE, SIDE)))

    def mask(self, *shape: int) -> Any:
        return self.integers(*shape, high=2).bool()

    def complex(self) -> Any:
        return self.lib.complex(self(), self())


def _unit(make: Inputs) -> tuple[Any, ...]:
    return (make(low=0.01, high=0.99),)


def _image(make: Inputs) -> Any:
    return make(16, 16, 64, 64)


def _classes(make: Inputs) -> tuple[Any, ...]:
    return make(), make.integers(SIDE)


GROUPS: dict[str, Arguments] = {
    # elementwise
    "acos arccos asin arcsin atanh arctanh erfinv logit special.entr special.ndtri": _unit,
    "acosh arccosh": lambda make: (make(low=1, high=9),),
    "digamma lgamma log log10 log1p log2 rsqrt sqrt": lambda make: (make(low=0.1, high=9),),
    "mvlgamma": lambda make: (make(low=3, high=9), 2),
    "polygamma": lambda make: (1, make(low=0.1, high=9)),
    "special.zeta": lambda make: (make(low=2, high=9), make(low=1, high=9)),
    "igamma igammac": lambda make: (make(100, SIDE, low=0.1, high=9), make(100, SIDE, low=0.1, high=9)),
    "pow float_power": lambda make: (make(low=0.1), make()),
    "xlogy special.xlog1py": lambda make: (make(), make(low=0.1)),
    "add sub subtract mul multiply div divide true_divide atan2 arctan2 copysign eq ne not_equal lt less le less_equal "
    "gt greater ge greater_equal floor_divide fmod remainder fmax fmin maximum minimum hypot isclose ldexp logaddexp "
    "logaddexp2 logical_and logical_or logical_xor nextafter rsub heaviside dist cosine_similarity pairwise_distance "
    "nn.functional.cosine_similarity": lambda make: (make(), make()),
    "cdist": lambda make: (make(1000, 100), make(1000, 100)),
    "addcdiv": lambda make: (make(), make(), make(low=1)),
    "addcmul": lambda make: (make(), make(), make()),
    "lerp": lambda make: (make(), make(), 0.3),
    "clamp clip": lambda make: (make(), -1.0, 1.0),
    "clamp_max clamp_min": lambda make: (make(), 0.5),
    "threshold nn.functional.threshold": lambda make: (make(), 0.1, 2.0),
    "bitwise_and bitwise_or bitwise_xor gcd lcm": lambda make: (make.integers(low=1), make.integers(low=1)),
    "bitwise_left_shift bitwise_right_shift": lambda make: (make.integers(), make.integers(high=8)),
    "bitwise_not": lambda make: (make.integers(),),
    "complex": lambda make: (make(), make()),
    "polar": lambda make: (make(low=0), make()),
    "angle conj imag real sgn view_as_real resolve_conj isreal": lambda make: (make.complex(),),
    "view_as_complex": lambda make: (make(SIDE, SIDE // 2, 2),),
    "prelu nn.functional.prelu": lambda make: (make(), make(1)),
    "celu_ hardtanh_": lambda make: (make(),),
    "is_same_size": lambda make: (make(), make()),
    "where": lambda make: (make.mask(), make(), make()),
    # reductions
    "logsumexp": lambda make: (make(), 1),
    "amax amin argmax argmin mean norm nanmean nansum prod std sum var median nanmedian std_mean var_mean": (
        lambda make: (make(), 1)
    ),
    "cummax cummin cumprod cumsum logcumsumexp": lambda make: (make(), 1),
    "quantile nanquantile": lambda make: (make(), 0.3, 1),
    "kthvalue topk": lambda make: (make(), 10),
    "mode": lambda make: (make.integers(high=20),),
    "bincount": lambda make: (make.integers(SIDE * SIDE),),
    "histc": lambda make: (make(), 100, -3, 3),
    "isin": lambda make: (make.integers(), make.integers(100)),
    "bucketize": lambda make: (make(), _thresholds(make)),
    "searchsorted": lambda make: (_thresholds(make), make()),
    "linalg.vector_norm linalg.matrix_norm": lambda make: (make(),),
    "linalg.vecdot": lambda make: (make(), make()),
    "renorm": lambda make: (make(), 2, 0, 1.0),
    # shapes, joining, indexing
    "reshape broadcast_to": lambda make: (make(), (1, SIDE, SIDE)),
    "as_strided": lambda make: (make(), (SIDE, SIDE), (1, SIDE)),
    "as_strided_scatter": lambda make: (make(), make(SIDE, SIDE), (SIDE, SIDE), (1, SIDE)),
    "block_diag": lambda make: (make(500, 500), make(500, 500)),
    "cat concat concatenate stack hstack vstack dstack column_stack row_stack": (lambda make: ([make(), make()],)),
    "meshgrid": lambda make: (make(SIDE), make(SIDE)),
    "unravel_index": lambda make: (make.integers(high=SIDE * SIDE), (SIDE, SIDE)),
    "cartesian_prod": lambda make: (make(SIDE), make(SIDE)),
    "combinations": lambda make: (make(SIDE),),
    "broadcast_tensors": lambda make: (make(), make(SIDE)),
    "atleast_1d atleast_2d atleast_3d": lambda make: (make(),),
    "chunk tensor_split dsplit hsplit vsplit": lambda make: (make(10, 100, SIDE), 2),
    "split": lambda make: (make(), 10),
    "split_with_sizes": lambda make: (make(), [400, 600]),
    "flip": lambda make: (make(), [0, 1]),
    "roll": lambda make: (make(), 3, 1),
    "tile": lambda make: (make(), (2, 2)),
    "repeat_interleave": lambda make: (make(), 2),
    "rot90": lambda make: (make(), 1, [0, 1]),
    "movedim moveaxis swapaxes swapdims transpose": lambda make: (make(), 0, 1),
    "permute": lambda make: (make(), (1, 0)),
    "select": lambda make: (make(), 0, 3),
    "narrow narrow_copy": lambda make: (make(), 0, 3, 900),
    "squeeze": lambda make: (make(1, SIDE, SIDE),),
    "unsqueeze": lambda make: (make(), 1),
    "unflatten": lambda make: (make(), 1, (10, 100)),
    "diag_embed": lambda make: (make(SIDE),),
    "diag diagflat": lambda make: (make(SIDE),),
    "diagonal_scatter": lambda make: (make(), make(SIDE)),
    "select_scatter": lambda make: (make(), make(SIDE), 0, 3),
    "slice_scatter": lambda make: (make(), make(900, SIDE), 0, 50, 950),
    "gather": lambda make: (make(), 1, make.integers()),
    "take_along_dim": lambda make: (make(), make.integers(), 1),
    "take": lambda make: (make(), make.integers(high=SIDE * SIDE)),
    "put": lambda make: (make(), make.integers(high=SIDE * SIDE), make()),
    "index_select": lambda make: (make(), 0, make.integers(SIDE)),
    "index_add index_copy": lambda make: (make(), 0, make.integers(SIDE), make()),
    "index_fill": lambda make: (make(), 0, make.integers(SIDE), 2.0),
    "index_put": lambda make: (make(), (make.integers(), make.integers()), make()),
    "index_reduce": lambda make: (make(), 0, make.integers(SIDE), make(), "amax"),
    "scatter scatter_add": lambda make: (make(), 1, make.integers(), make()),
    "scatter_reduce": lambda make: (make(), 1, make.integers(), make(), "amax"),
    "masked_fill": lambda make: (make(), make.mask(), 1.0),
    "masked_scatter": lambda make: (make(), make.mask(), make()),
    "masked_select": lambda make: (make(), make.mask()),
    "cross linalg.cross": lambda make: (make(SIDE, SIDE // 3, 3), make(SIDE, SIDE // 3, 3)),
    # creation
    "bartlett_window blackman_window hamming_window hann_window kaiser_window": lambda make: (SIDE * SIDE,),
    "cholesky": lambda make: (_positive(make),),
    "cholesky_solve": lambda make: (make(300, 300), _positive(make)),
    "empty_permuted": lambda make: ((SIDE, SIDE), (1, 0)),
    "fill": lambda make: (make(), 2.0),
    "ones zeros empty": lambda make: (SIDE, SIDE),
    "full": lambda make: ((SIDE, SIDE), 2.0),
    "full_like": lambda make: (make(), 2.0),
    "eye": lambda make: (SIDE,),
    "tril_indices triu_indices": lambda make: (SIDE, SIDE),
    "arange": lambda make: (SIDE * SIDE,),
    "linspace": lambda make: (0, 1, SIDE * SIDE),
    "logspace": lambda make: (0, 1, SIDE * SIDE),
    # random
    "rand randn": lambda make: (SIDE, SIDE),
    "randint": lambda make: (0, 10, (SIDE, SIDE)),
    "randint_like": lambda make: (make(), 10),
    "randperm": lambda make: (SIDE * SIDE,),
    "bernoulli": _unit,
    "normal": lambda make: (make(), make(low=0.1)),
    "multinomial": lambda make: (make(low=0), 100),
    "poisson": lambda make: (make(100, SIDE, low=0.1, high=20),),
    "binomial": lambda make: (make(100, SIDE, low=1, high=99).round(), make(100, SIDE, low=0, high=1)),
    "_standard_gamma _sample_dirichlet": lambda make: (make(100, SIDE, low=0.1, high=9),),
    # products
    "mm matmul linalg.matmul": lambda make: (make(), make()),
    "addmm": lambda make: (make(), make(), make()),
    "mv": lambda make: (make(), make(SIDE)),
    "addmv": lambda make: (make(SIDE), make(), make(SIDE)),
    "ger outer": lambda make: (make(SIDE), make(SIDE)),
    "addr": lambda make: (make(), make(SIDE), make(SIDE)),
    "dot inner vdot": lambda make: (make(SIDE * SIDE), make(SIDE * SIDE)),
    "bmm": lambda make: (make(100, 100, 100), make(100, 100, 100)),
    "baddbmm": lambda make: (make(100, 100, 100), make(100, 100, 100), make(100, 100, 100)),
    "addbmm": lambda make: (make(100, 100), make(100, 100, 100), make(100, 100, 100)),
    "chain_matmul": lambda make: (make(300, 300), make(300, 300), make(300, 300)),
    "linalg.multi_dot": lambda make: ([make(300, 300), make(300, 300), make(300, 300)],),
    "tensordot": lambda make: (make(100, 100, 100), make(100, 100, 100)),
    "einsum": lambda make: ("bij,bjk->bik", make(100, 100, 100), make(100, 100, 100)),
    "kron": lambda make: (make(32, 32), make(32, 32)),
    "matrix_power linalg.matrix_power": lambda make: (make(300, 300), 3),
    "nn.functional.linear": lambda make: (make(), make(100, SIDE), make(100)),
    "nn.functional.bilinear": lambda make: (make(SIDE, 50), make(SIDE, 50), make(20, 50, 50)),
    # matrices, of which a batch of 10,000 with 100 elements is what programs have many of
    "det logdet inverse slogdet pinverse linalg.det linalg.inv linalg.pinv linalg.qr linalg.slogdet linalg.svd "
    "linalg.svdvals linalg.matrix_rank": lambda make: (make(300, 300),),
    "linalg.cholesky linalg.eigh linalg.eigvalsh": lambda make: (_positive(make),),
    "linalg.solve linalg.solve_ex linalg.lstsq": lambda make: (make(300, 300), make(300, 300)),
    "linalg.lu_solve": lambda make: (*_factored(make), make(300, 300)),
    "lu_solve": lambda make: (make(300, 300), *_factored(make)),
    "lu_unpack": lambda make: _factored(make),
    "linalg.householder_product orgqr": lambda make: (make(300, 300), make(300)),
    "linalg.tensorinv": lambda make: (make(20, 15, 20, 15),),
    "linalg.tensorsolve": lambda make: (make(20, 15, 20, 15), make(20, 15)),
    "triangular_solve": lambda make: (make(300, 300), make(300, 300) + 30 * make.lib.eye(300)),
    "vander linalg.vander": lambda make: (make(SIDE, low=-1, high=1),),
    # layers
    "nn.functional.glu": lambda make: (make(),),
    "softmax log_softmax nn.functional.softmax nn.functional.log_softmax nn.functional.softmin": (
        lambda make: (make(), 1)
    ),
    "nn.functional.layer_norm nn.functional.rms_norm": lambda make: (make(), (SIDE,)),
    "nn.functional.group_norm": lambda make: (_image(make), 4),
    "nn.functional.batch_norm": lambda make: (_image(make), None, None, None, None, True),
    "nn.functional.instance_norm": lambda make: (_image(make),),
    "nn.functional.local_response_norm": lambda make: (_image(make), 5),
    "nn.functional.scaled_dot_product_attention": lambda make: tuple(make(16, 4, 128, 64) for _ in range(3)),
    "nn.functional.embedding": lambda make: (make.integers(100, 100), make(SIDE, 100)),
    "nn.functional.embedding_bag": lambda make: (make.integers(100, 100), make(SIDE, 100)),
    "nn.functional.pad": lambda make: (make(), (1, 1)),
    "nn.functional.dropout1d": lambda make: (make(100, 100, 100),),
    "nn.functional.dropout2d": lambda make: (_image(make),),
    "nn.functional.dropout3d": lambda make: (make(16, 16, 16, 16, 16),),
    "conv1d nn.functional.conv1d": lambda make: (make(16, 64, 1000), make(64, 64, 3)),
    "conv2d nn.functional.conv2d": lambda make: (make(16, 64, 32, 32), make(64, 64, 3, 3)),
    "conv3d nn.functional.conv3d": lambda make: (make(4, 16, 16, 32, 32), make(16, 16, 3, 3, 3)),
    "conv_transpose1d nn.functional.conv_transpose1d": lambda make: (make(16, 64, 1000), make(64, 64, 3)),
    "conv_transpose2d nn.functional.conv_transpose2d": lambda make: (make(16, 64, 32, 32), make(64, 64, 3, 3)),
    "conv_transpose3d nn.functional.conv_transpose3d": lambda make: (make(4, 16, 16, 32, 32), make(16, 16, 3, 3, 3)),
    "nn.functional.avg_pool1d nn.functional.max_pool1d nn.functional.max_pool1d_with_indices": (
        lambda make: (make(16, 64, SIDE), 2)
    ),
    "nn.functional.avg_pool2d nn.functional.max_pool2d nn.functional.max_pool2d_with_indices": (
        lambda make: (_image(make), 2)
    ),
    "nn.functional.avg_pool3d nn.functional.max_pool3d nn.functional.max_pool3d_with_indices": (
        lambda make: (make(4, 16, 16, 32, 32), 2)
    ),
    "nn.functional.lp_pool1d": lambda make: (make(16, 64, SIDE), 2.0, 2),
    "nn.functional.lp_pool2d": lambda make: (_image(make), 2.0, 2),
    "nn.functional.adaptive_avg_pool1d nn.functional.adaptive_max_pool1d": lambda make: (make(16, 64, SIDE), 7),
    "nn.functional.adaptive_avg_pool2d nn.functional.adaptive_max_pool2d": lambda make: (_image(make), 7),
    "nn.functional.adaptive_avg_pool3d nn.functional.adaptive_max_pool3d": lambda make: (make(4, 16, 16, 32, 32), 7),
    "nn.functional.max_unpool1d": lambda make: (make(16, 64, 500), 2 * _steps(make, 500).expand(16, 64, 500), 2),
    "nn.functional.max_unpool2d": lambda make: (
        make(16, 16, 32, 32),
        4 * _steps(make, 32 * 32).reshape(32, 32).expand(16, 16, 32, 32),
        2,
    ),
    "nn.functional.max_unpool3d": lambda make: (
        make(4, 16, 8, 16, 16),
        8 * _steps(make, 8 * 16 * 16).reshape(8, 16, 16).expand(4, 16, 8, 16, 16),
        2,
    ),
    # losses
    "nn.functional.mse_loss nn.functional.l1_loss nn.functional.huber_loss nn.functional.smooth_l1_loss "
    "nn.functional.poisson_nll_loss nn.functional.kl_div nn.functional.pairwise_distance": (
        lambda make: (make(), make().detach())
    ),
    "nn.functional.binary_cross_entropy": lambda make: (*_unit(make), _unit(make)[0].detach()),
    "nn.functional.binary_cross_entropy_with_logits nn.functional.multilabel_soft_margin_loss": (
        lambda make: (make(), make(low=0, high=1).detach())
    ),
    "nn.functional.cross_entropy nn.functional.nll_loss nn.functional.multi_margin_loss": _classes,
    "nn.functional.multilabel_margin_loss": lambda make: (make(SIDE, 100), make.integers(SIDE, 100, high=100)),
    "nn.functional.hinge_embedding_loss nn.functional.soft_margin_loss": lambda make: (
        make(),
        _signs(make, SIDE, SIDE),
    ),
    "nn.functional.cosine_embedding_loss": lambda make: (make(), make(), _signs(make, SIDE)),
    "nn.functional.margin_ranking_loss": lambda make: (make(), make(), _signs(make, SIDE, SIDE)),
    "nn.functional.gaussian_nll_loss": lambda make: (make(), make().detach(), make(low=0.1)),
    "nn.functional.triplet_margin_loss nn.functional.triplet_margin_with_distance_loss": (
        lambda make: (make(), make(), make())
    ),
}

NOT_TIMED = {
    "as_tensor asarray asanyarray tensor scalar_tensor": "conversion of Python objects",
    "allclose equal broadcast_shapes is_complex is_floating_point is_nonzero": "no tensor comes out",
    "empty_strided": "memory alone",
    "nn.functional.multi_head_attention_forward": "the workload of the transformer block covers it",
    "range": "deprecated arange",
    "linalg.solve_triangular linalg.diagonal nonzero_static": "keywords",
}


def _thresholds(make: Inputs) -> Any:
    return make.lib.linspace(-3, 3, 100)


def _steps(make: Inputs, count: int) -> Any:
    return make.lib.arange(count)


def _signs(make: Inputs, *shape: int) -> Any:
    return (make.integers(*shape, high=2) * 2 - 1).float()


def _factored(make: Inputs) -> tuple[Any, Any]:
    factors = make.lib.linalg.lu_factor(make(300, 300).detach())
    return factors[0], factors[1]


def _positive(make: Inputs) -> Any:
    root = make(300, 300).detach()
    matrix = root @ root.T + 100 * make.lib.eye(300)
    if make._requires_grad:
        make.leaves.append(matrix.requires_grad_())
    return matrix


ARGUMENTS = {name: arguments for names, arguments in GROUPS.items() for name in names.split()}
_SKIPPED = {name for names in NOT_TIMED for name in names.split()}


def names() -> list[str]:
    """Every public function that ops generate, and private ones that have arguments here."""
    from minitorch.dispatch.declaration import NAMESPACES

    found = [
        name if namespace == "torch" else f"{namespace}.{name}"
        for namespace, functions in NAMESPACES.items()
        for name in functions
        if (name in ARGUMENTS or not name.startswith("_")) and not name.endswith("_")
    ]
    return sorted(set(found) - _SKIPPED)


def _resolve(lib: Any, name: str) -> Any:
    for part in name.split("."):
        lib = getattr(lib, part)
    return lib


def program(lib: Any, name: str, backward: bool) -> Callable[[], Any]:
    """A call of the op, with its gradient where asked for."""
    make = Inputs(lib, backward)
    arguments = ARGUMENTS.get(name, lambda make: (make(),))(make)
    function = _resolve(lib, name)
    if not backward:
        return lambda: function(*arguments)
    output = _differentiable(function(*arguments))
    grad = lib.ones_like(output)

    def run() -> None:
        _differentiable(function(*arguments)).backward(grad, retain_graph=True)
        for leaf in make.leaves:
            leaf.grad = None

    return run


def _differentiable(value: Any) -> Any:
    """The first output that has a gradient."""
    outputs = value if isinstance(value, (tuple, list)) else [value]
    return next(each for each in outputs if hasattr(each, "requires_grad") and each.requires_grad)


def measured(chosen: list[str], backward: bool) -> Iterator[tuple[str, float, float]]:
    """Name, seconds and PyTorch's seconds of each op; infinity where PyTorch refuses the call, or the gradient."""
    for name in chosen:
        try:
            theirs = program(torch, name, backward)
            theirs()
        except (StopIteration, NotImplementedError, RuntimeError, TypeError, ValueError, AttributeError):
            yield name, math.inf, math.inf
            continue
        best = least_seconds({"minitorch": program(minitorch, name, backward), "torch": theirs})
        yield name, best["minitorch"], best["torch"]


def report(chosen: list[str], backward: bool) -> str:
    """The ratios as Markdown, the worst first."""
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        all_rows = list(measured(chosen, backward))
    rows = sorted((row for row in all_rows if row[1] < math.inf), key=lambda row: row[2] / row[1])
    left = [name for name, own, _ in all_rows if own == math.inf]
    lines = ["| op | minitorch | PyTorch | ÷ |", "|---|--:|--:|--:|"]
    lines += [
        f"| {name} | {own * 1e3:,.3f} ms | {reference * 1e3:,.3f} ms | **{own / reference:.2f}** |"
        for name, own, reference in rows
    ]
    return "\n".join(lines) + f"\n\nNot called: {', '.join(left) or 'none'}.\n"
