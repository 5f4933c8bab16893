"""How an op takes all examples of a `vmap` at once: a rule for each family of ops.

The examples come first in every tensor of the level. A rule gives the arguments with which the same op computes them
all (`ARGUMENTS`), or computes them with other ops (`COMPUTED`). What a rule can't do it leaves, by returning None, to
the layer, which runs the op once for each example.
Source: https://github.com/pytorch/pytorch/tree/main/aten/src/ATen/functorch
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import dropwhile
from typing import Any

from minitorch.dispatch.batched import Batched, Level, unbatched
from minitorch.dispatch.declaration import OPS
from minitorch.dispatch.layers import Below
from minitorch.dispatch.op import Op
from minitorch.dispatch.promotion import result_type
from minitorch.layout import contiguous_format, memory_format
from minitorch.ops.creation.ranges import arange
from minitorch.ops.linalg.matmul import matmul
from minitorch.size import check_dim
from minitorch.tensor import Tensor

Args = Sequence[Any]


def maps(level: Level, value: Any) -> bool:
    """Whether this is a tensor of the level, or a sequence with one."""
    if isinstance(value, (list, tuple)):
        return any(maps(level, each) for each in value)
    return isinstance(value, Batched) and value._level is level


def examples(level: Level, value: Any) -> Any:
    """An argument with the examples first in its tensors; a tensor that is the same for all is expanded."""
    if isinstance(value, (list, tuple)):
        return [examples(level, each) for each in value]
    return unbatched(value, level) if isinstance(value, Tensor) else value


def aligned(level: Level, value: Any, rank: int) -> Any:
    """An argument to be broadcast to examples of so many dimensions."""
    if not maps(level, value):
        return value
    missing = max(rank - value.dim(), 0)
    return value._value.reshape(level.size, *[1] * missing, *value.shape) if missing else value._value


# The same op with other arguments.


def leading(level: Level, op: Op, args: Args) -> list[Any] | None:
    """Of ops for which the first dimensions don't matter."""
    if len({args[i].dim() for i in op.schema.tensors if isinstance(args[i], Tensor)}) > 1:
        return None
    return [examples(level, each) for each in args]


def elementwise(level: Level, op: Op, args: Args) -> list[Any] | None:
    """Of ops that broadcast their arguments."""
    tensors = [args[i] for i in op.schema.tensors if isinstance(args[i], Tensor)]
    rank = max(each.dim() for each in tensors)
    alike = op.name.endswith("backward") and len({each.dim() for each in tensors}) == 1
    result = [examples(level, each) if alike else aligned(level, each, rank) for each in args]
    promoted = [args[i] for i in op.schema.tensors if i in op.promoted and isinstance(args[i], Tensor)]
    if len({each._dtype for each in promoted}) > 1:
        kind = reduce(lambda one, other: one.new_empty((), dtype=result_type(one, other)), promoted)._dtype
        for i in op.schema.tensors:  # an example without dimensions counts for less in the promotion of types
            if maps(level, args[i]) and not args[i].dim() and i in op.promoted:
                result[i] = result[i].to(kind)
    if op.writes.edits:
        result[0] = examples(level, args[0])
    return result


_DIMS = "dim", "dims", "dim0", "dim1", "dim2", "dimension"
_OF_ALL = {
    "sum", "nansum", "mean", "all", "any", "count_nonzero", "logsumexp", "vector_norm", "amax", "amin", "variance",
    "deviation", "variance_and_mean", "deviation_and_mean",
}  # fmt: skip
"""Reductions that take several dimensions, and without any take all."""


def moved_on(op: Op, args: Args, dims: int) -> list[Any] | None:
    """Arguments for which each dimension, of tensors that had so many of them, is one further on."""
    name, result = op.kernel.__name__, list(args)
    span = dims + (name in ("unsqueeze", "diag_embed"))
    if not span:
        return None
    for place in (op.schema.positions[each] for each in _DIMS if each in op.schema.positions):
        dim = args[place]
        if isinstance(dim, (list, tuple)) and dim:
            result[place] = [1 + check_dim(each, span) for each in dim]
        elif isinstance(dim, int):
            result[place] = 1 + check_dim(dim, span)
        elif name not in _OF_ALL:
            return None
        else:
            result[place] = list(range(1, dims + 1))
    return result


def along(level: Level, op: Op, args: Args) -> list[Any] | None:
    """Of ops that are told along which dimensions they compute."""
    tensors = [args[i] for i in op.schema.tensors if isinstance(args[i], Tensor)]
    return moved_on(op, [examples(level, each) for each in args], tensors[0].dim())


def squeezed(level: Level, op: Op, args: Args) -> list[Any] | None:
    """Of `squeeze`, which without a dimension takes those of size 1."""
    dims = [d for d, size in enumerate(args[0].shape) if size == 1] if args[1] is None else args[1]
    return along(level, op, [args[0], dims])


def by_index(level: Level, op: Op, args: Args) -> list[Any] | None:
    """Of ops that take an index along a dimension, the same for all examples."""
    index = op.schema.positions["index"]
    given = along(level, op, args)
    if given is None or maps(level, args[index]):
        return None
    given[index] = args[index]
    return given


def viewed(level: Level, op: Op, args: Args) -> list[Any] | None:
    """Of ops that are told the shape of the result."""
    return [args[0]._value, (level.size, *args[1]), *args[2:]]


def expanded(level: Level, op: Op, args: Args) -> list[Any] | None:
    """Of `expand` and `repeat`, which may add dimensions."""
    times = level.size if op.kernel.__name__ == "expand" else 1
    return [aligned(level, args[0], len(args[1])), (times, *args[1]), *args[2:]]


def permuted(level: Level, op: Op, args: Args) -> list[Any] | None:
    """Of `permute`."""
    return [args[0]._value, (0, *[1 + check_dim(dim, args[0].dim()) for dim in args[1]])]


def copied(level: Level, op: Op, args: Args) -> list[Any] | None:
    """Of copies. A memory format says how four or five dimensions lie, not those of the batch too."""
    return [args[0]._value, *[contiguous_format if isinstance(each, memory_format) else each for each in args[1:]]]


def joined(level: Level, op: Op, args: Args) -> list[Any] | None:
    """Of `cat` and `stack`."""
    ranks = {each.dim() + (op.kernel.__name__ == "stack") for each in args[0]}
    if len(ranks) > 1 or ranks == {0}:
        return None
    return [examples(level, args[0]), 1 + check_dim(args[1], *ranks)]


def masked(level: Level, op: Op, args: Args) -> list[Any] | None:
    """Of `masked_fill`, whose value is a number."""
    return None if maps(level, args[2]) else elementwise(level, op, args)


def padded(level: Level, op: Op, args: Args) -> list[Any] | None:
    """Of ops that are told the padding of every dimension."""
    pads = op.schema.positions["pads"]
    return [((0, 0), *each) if i == pads else examples(level, each) for i, each in enumerate(args)]


def embedded(level: Level, op: Op, args: Args) -> list[Any] | None:
    """Of the gradients of views: zeros but for where the view looks."""
    self, shape, look, rest = args
    moved = moved_on(OPS[look.__name__], [None, *rest], len(shape)) if look.__name__ in _LOOKS else None
    return None if moved is None else [self._value, (level.size, *shape), look, tuple(moved[1:])]


_LOOKS = {"select", "slice_", "diagonal"}


def looked_up(level: Level, op: Op, args: Args) -> list[Any] | None:
    """Of ops that look places up in one table, the same for all examples."""
    return None if maps(level, args[0]) else [examples(level, each) if maps(level, each) else each for each in args]


def indexed(level: Level, op: Op, args: Args) -> list[Any] | None:
    """Of indexing by tensors: the same places in all examples, or the number of the example before places of its own.

    Raises RuntimeError for masks, for which the examples' results would have different sizes.
    """
    tensor, indices, *rest = args
    given = list(dropwhile(lambda each: each is None, indices))
    masks = [each for each in given if each is not None and each._dtype.name in ("bool", "uint8")]
    if maps(level, masks):
        raise RuntimeError(
            "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over "
            "indexing with a boolean mask."
        )
    if any(each is None for each in given):  # then the places' dimensions come first
        return None
    rank = max([1] * bool(masks) + [each.dim() for each in given if each._dtype.name not in ("bool", "uint8")])
    taken = len(given) - len(masks) + sum(each.dim() for each in masks)
    shape = tensor.dim() - taken + rank
    values = [aligned(level, rest[0], shape), *rest[1:]] if rest else []
    if not maps(level, indices):
        return [examples(level, tensor), [None, *indices], *values]
    if masks or len(given) < len(indices):
        return None
    numbers = arange(level.size, device=tensor.device).reshape(level.size, *[1] * rank)
    return [examples(level, tensor), [numbers, *[aligned(level, each, rank) for each in given]], *values]


# Other ops.


def folded(level: Level, op: Op, args: Args, below: Below) -> Any:
    """Of ops that treat the images of a batch alike: the images of all examples are one batch."""
    names, positions = op.schema.parameters, op.schema.positions
    images = [i for i in op.schema.tensors if names[i] not in ("weight", "bias") and isinstance(args[i], Tensor)]
    weights = [args[i] for i in op.schema.tensors if i not in images]
    if maps(level, weights) or (op.kernel.__name__ == "convolution_backward" and any(args[positions["needed"]][1:])):
        return None
    given = [examples(level, each).flatten(0, 1) if i in images else each for i, each in enumerate(args)]
    results = below(op, given)
    return _unfolded(results, level.size)


def _unfolded(results: Any, size: int) -> Any:
    if isinstance(results, (list, tuple)):
        return tuple(_unfolded(each, size) for each in results)
    return results.unflatten(0, (size, len(results) // max(size, 1))) if isinstance(results, Tensor) else results


def of_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a function of the examples' values, and of what is the same for all."""

    def rule(level: Level, op: Op, args: Args, below: Below) -> Any:
        return function(*[each._value if maps(level, each) else each for each in args])

    return rule


def plus(rank: int, product: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The rule of β self + α product, of so many dimensions."""

    def rule(level: Level, op: Op, args: Args, below: Below) -> Any:
        self, *factors = (aligned(level, each, rank if each is args[0] else 0) for each in args[:3])
        total = product(*factors) if args[4] == 1 else product(*factors) * args[4]
        if args[3] == 0:
            return total
        return total + (self if args[3] == 1 else self * args[3])

    return rule


def _by_vector(matrix: Tensor, vector: Tensor) -> Tensor:
    return matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def _outer(one: Tensor, other: Tensor) -> Tensor:
    return one.unsqueeze(-1) * other.unsqueeze(-2)


def loss(level: Level, op: Op, args: Args, below: Below) -> Any:
    """Of losses, which reduce what they computed of each element."""
    place = op.schema.positions["reduction"]
    given = elementwise(level, op, [*args[:place], "none", *args[place + 1 :]])
    found = None if given is None else below(op, given)
    if found is None or args[place] == "none":
        return found
    flat = found.reshape(level.size, -1)
    return flat.mean(1) if args[place] == "mean" else flat.sum(1)


def _flat(level: Level, op: Op, args: Args, below: Below) -> Any:
    """Of reductions along one dimension or all."""
    if args[1] is not None or args[2]:
        moved = along(level, op, args)
        return None if moved is None else below(op, moved)
    return below(op, [args[0]._value.reshape(level.size, -1), 1, *args[2:]])


def _names(rule: Any, names: str) -> dict[str, Any]:
    return dict.fromkeys(names.split(), rule)


ARGUMENTS: dict[str, Callable[[Level, Op, Args], list[Any] | None]] = {
    **_names(
        leading,
        "alias conjugate_view negative_view _view_as_real seen_as_complex isfinite isreal frexp mvlgamma logsigmoid "
        "tril triu det slogdet inv_ex cholesky_ex svd eigh eig lu_factor_ex lu_factors matrix_exp cholesky_inverse "
        "geqrf pseudoinverse solve_ex solve_triangular cholesky_solve pairwise_distances euclidean_distances zero "
        "pixel_shuffle pixel_unshuffle uniform normal log_normal exponential cauchy geometric random poisson "
        "bernoulli_sample",
    ),
    **_names(elementwise, "copy bernoulli normal_sample binomial _where"),
    **_names(
        along,
        "sum nansum mean all any count_nonzero logsumexp vector_norm amax amin aminmax along variance deviation "
        "variance_and_mean deviation_and_mean cumsum cumprod logcumsumexp cummax cummin sorted_along topk kthvalue "
        "mode _softmax _log_softmax softmax_backward log_softmax_backward glu unsqueeze select slice_ diagonal unfold "
        "unbind split_evenly split_with_sizes transpose flip roll rot90 diag_embed gather scatter_src scatter_value "
        "scatter_add scatter_reduce select_scatter slice_scatter diagonal_scatter cross",
    ),
    **_names(by_index, "index_select index_add index_copy index_reduce"),
    **_names(viewed, "view_as_shape reshape_alias unsafe_view"),
    **_names(expanded, "expand repeat"),
    **_names(copied, "clone to_copy"),
    **_names(joined, "cat stack"),
    **_names(padded, "constant_pad mirrored_pad mirrored_pad_backward"),
    **_names(looked_up, "take embedding_rows"),
    **_names(indexed, "index_ index_put"),
    "squeeze": squeezed,
    "permute": permuted,
    "fill_where": masked,
    "embed": embedded,
}

COMPUTED: dict[str, Callable[[Level, Op, Args, Below], Any]] = {
    **_names(
        folded,
        "convolution transposed_convolution convolution_backward max_pool largest max_pool_backward avg_pool "
        "avg_pool_backward adaptive_avg_pool adaptive_avg_pool_backward adaptive_max_pool resize resize_backward",
    ),
    **_names(of_values(matmul), "mm bmm"),
    **_names(_flat, "prod argmax argmin"),
    "mm_left_backward": of_values(lambda grad, right, _: matmul(grad, right.mH)),
    "mm_right_backward": of_values(lambda grad, left, _: matmul(left.mH, grad)),
    "mv": of_values(_by_vector),
    "dot": of_values(lambda self, other: (self * other).sum(-1)),
    "vdot": of_values(lambda self, other: (self.conj() * other).sum(-1)),
    **_names(loss, "squared_error smooth_absolute_error huber_error binary_cross_entropy_of soft_margin"),
    "binary_cross_entropy_of_logits": loss,
    "t": of_values(lambda self: self.transpose(1, 2) if self.dim() == 3 else self),
    "trace": of_values(lambda self: self.diagonal(0, -2, -1).sum(-1)),
    "addmm": plus(2, matmul),
    "baddbmm": plus(3, matmul),
    "addmv": plus(1, _by_vector),
    "addr": plus(2, _outer),
}

DYNAMIC = {"places_of_nonzero", "different", "unique_runs"}
"""Ops whose results have sizes that depend on values."""
