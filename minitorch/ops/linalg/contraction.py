"""Sums of products over chosen dimensions: einsum, tensordot, kron and the cross product.

Source: https://pytorch.org/docs/stable/generated/torch.einsum.html
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import prod
from string import ascii_letters
from typing import Any

from minitorch.dispatch.apply import write_out
from minitorch.dispatch.declaration import composite
from minitorch.dispatch.errors import tensors_of
from minitorch.dispatch.op import CASTS
from minitorch.dtypes import promote_types
from minitorch.ops.linalg.matrix_products import bmm
from minitorch.ops.linalg.vector_products import cross as linalg_cross
from minitorch.ops.views.shape import unsafe_view
from minitorch.size import kind_name
from minitorch.tensor import Tensor
from minitorch.warn_once import warn_once

_LETTERS = frozenset(ascii_letters)
ELLIPSIS = "."
"""The subscript that stands for the dimensions of "..."; they are flattened into names of their own before use."""


def _operands(equation: Any, operands: tuple[Any, ...]) -> tuple[str, list[Tensor]]:
    """The equation as a string, also where the subscripts are lists of numbers after each operand."""
    if isinstance(equation, str):
        flat = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
        _check_notation(equation)
        return equation.replace(" ", ""), list(flat)
    pairs = [equation, *operands]

    def letters(numbers: Any) -> str:
        if any(n is not Ellipsis and not 0 <= n < 52 for n in numbers):
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        return "".join(
            "..." if n is Ellipsis else chr(ord("A") + n) if n < 26 else chr(ord("a") + n - 26) for n in numbers
        )

    tensors, subscripts = pairs[0 : len(pairs) - 1 : 2], pairs[1::2]
    text = ",".join(map(letters, subscripts))
    if len(pairs) % 2:
        text += "->" + letters(pairs[-1])
    return text, tensors


def _check_notation(equation: str) -> None:
    """Raises RuntimeError for what is neither a letter nor an ellipsis, nor a comma or the arrow between terms."""
    inputs, arrow, output = equation.partition("->")
    terms = inputs.split(",")
    starts = accumulate((len(term) + 1 for term in terms), initial=0)
    for number, (start, term) in enumerate(zip(starts, terms, strict=False)):
        _check_term(term, start, f"operand {number}", "", f"operand {number} for which an ellipsis was already found")
    if arrow:
        _check_term(output, len(inputs) + 2, "output", " (...)", "output but an ellipsis (...) was already found")


def _check_term(term: str, start: int, place: str, dots: str, twice: str) -> None:
    """The same for one term, which stands at `start`."""
    before, _, after = term.partition("...")
    if "." in after:
        raise RuntimeError(f"einsum(): found '.' for {twice}")
    if "." in before:
        raise RuntimeError(f"einsum(): found '.' for {place} that is not part of any ellipsis{dots}")
    for position, each in enumerate(term, start):
        if each not in _LETTERS and each not in " .":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {position} in the equation string, subscripts must be in "
                "[a-zA-Z]"
            )


def _labels(term: str, ndim: int, number: int, widest: int) -> list[str]:
    """One name for each dimension: a letter, or a number for those of the ellipsis, counted from the right."""
    before, dots, after = term.partition("...")
    named = len(before) + len(after)
    if named > ndim or (not dots and named < ndim):
        problem = "is more than" if dots else "does not match"
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) {problem} the number of dimensions ({ndim}) "
            f"for operand {number}" + ("" if dots else " and no ellipsis was given")
        )
    inside = [f"{ELLIPSIS}{widest - k}" for k in range(ndim - named, 0, -1)]
    return [*before, *inside, *after]


def _diagonals(x: Tensor, labels: list[str], number: int) -> tuple[Tensor, list[str]]:
    """Takes the diagonal over dimensions of the same name."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if x.shape[first] != x.shape[second]:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {number} but the sizes don't match, "
                    f"{x.shape[second]} != {x.shape[first]}"
                )
            x = x.diagonal(0, first, second)
            labels = [each for d, each in enumerate(labels) if d not in (first, second)] + [label]
    return x, labels


def _product(a: Tensor, left: list[str], b: Tensor, right: list[str], kept: set[str]) -> tuple[Tensor, list[str]]:
    """Multiplies two operands and sums over the names that nothing later needs, as one batched matrix product.

    Where there is nothing to sum over, it is an elementwise product.
    """
    only_left = [each for each in left if each not in right and each not in kept]
    only_right = [each for each in right if each not in left and each not in kept]
    a = a.sum([left.index(each) for each in only_left]) if only_left else a
    b = b.sum([right.index(each) for each in only_right]) if only_right else b
    left = [each for each in left if each not in only_left]
    right = [each for each in right if each not in only_right]
    shared = [each for each in left if each in right]
    batch = [each for each in shared if each in kept]
    summed = [each for each in shared if each not in kept]
    rows = [each for each in left if each not in shared]
    columns = [each for each in right if each not in shared]

    def sizes(names: list[str]) -> list[int]:
        # A dimension of size 1 on one side is broadcast.
        return [
            max((x.shape[at.index(n)] for x, at in ((a, left), (b, right)) if n in at), key=lambda s: s != 1)
            for n in names
        ]

    def arranged(x: Tensor, at: list[str], first: list[str], second: list[str]) -> Tensor:
        order = [*batch, *first, *second]
        x = x.permute([at.index(each) for each in order]).expand(sizes(order))
        return x.reshape(prod(sizes(batch)), prod(sizes(first)), prod(sizes(second)))

    if not (only_left or only_right or summed):
        order = [*batch, *rows, *columns]

        def spread(x: Tensor, at: list[str]) -> Tensor:
            x = x.permute([at.index(each) for each in order if each in at])
            return x[tuple(slice(None) if each in at else None for each in order)]

        return spread(a, left) * spread(b, right), order
    kind = promote_types(a.dtype, b.dtype)  # a sum of integers is int64
    result = bmm(arranged(a, left, rows, summed).to(kind), arranged(b, right, summed, columns).to(kind))
    return result.reshape(sizes([*batch, *rows, *columns])), [*batch, *rows, *columns]


@composite(variants="function", autocast_on_gpu="lower")
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Σ of products in Einstein's notation: "ij,jk->ik" is the matrix product (i, j), (j, k) → (i, k), "ii" the trace.

    Raises ValueError without operands, RuntimeError for a notation or sizes that don't fit.
    """
    text, tensors = _operands(equation, operands) if operands else ("", [])
    if not tensors:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    for number, each in enumerate(tensors):
        if not isinstance(each, Tensor):
            raise TypeError(f"expected Tensor as element {number} in argument 1, but got {kind_name(each)}")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(tensors):
        more = "more" if len(tensors) > len(terms) else "fewer"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    dotted = [x.dim() - len(term) + 3 for x, term in zip(tensors, terms, strict=True) if "..." in term]
    widest = max(dotted, default=0)
    labels = [
        _labels(term, x.dim(), number, widest) for number, (x, term) in enumerate(zip(tensors, terms, strict=True))
    ]
    dots = [f"{ELLIPSIS}{k}" for k in range(widest)]
    if arrow:
        before, found, after = output.partition("...")
        wanted = [*before, *(dots if found else []), *after]
    else:
        names = [each for each in inputs if each.isalpha()]
        wanted = dots + sorted(each for each in set(names) if names.count(each) == 1)
    known = {each for term in labels for each in term}
    for each in wanted:
        if each not in known:
            raise RuntimeError(
                f"einsum(): output subscript {each} does not appear in the equation for any input operand"
            )
        if wanted.count(each) > 1:
            raise RuntimeError(f"einsum(): output subscript {each} appears more than once in the output")
    parts = [_diagonals(x, each, n) for n, (x, each) in enumerate(zip(tensors, labels, strict=True))]
    _check_sizes(parts)
    result, at = parts[0]
    for number, (other, other_at) in enumerate(parts[1:], 1):
        kept = {*wanted, *(each for _, later in parts[number + 1 :] for each in later)}
        result, at = _product(result, at, other, other_at, kept)
    rest = [d for d, each in enumerate(at) if each not in wanted]
    if rest:
        result = result.sum(rest)
        at = [each for each in at if each in wanted]
    return result.permute([at.index(each) for each in wanted]) if at != wanted else result


def _check_sizes(parts: list[tuple[Tensor, list[str]]]) -> None:
    sizes: dict[str, tuple[int, int]] = {}
    for number, (x, names) in enumerate(parts):
        for name, size in zip(names, x.shape, strict=True):
            known = sizes.get(name, (number, 1))
            if size != known[1] and 1 not in (size, known[1]):
                raise RuntimeError(
                    f"einsum(): subscript {name} has size {size} for operand {number} which does not broadcast with "
                    f"previously seen size {known[1]}"
                )
            if known[1] == 1:
                sizes[name] = (number, size)


@composite(variants="function", autocast_on_gpu="widest")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Any = None) -> Tensor:
    """Sums over the last `dims` dimensions of a and the first of b, or over two lists of dimensions; the others remain.

    Raises RuntimeError for sizes that differ there.
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = (list(range(-dims, 0)), list(range(dims)))
    if len(dims[0]) != len(dims[1]):
        raise RuntimeError("both dimension lists should have same length")
    for one, other in zip(*dims, strict=True):
        if a.shape[one] == 1:
            b = b.sum(other, keepdim=True, dtype=b.dtype)
        elif b.shape[other] == 1:
            a = a.sum(one, keepdim=True, dtype=a.dtype)
        elif a.shape[one] != b.shape[other]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[one]} in dim {one} and second has "
                f"size {b.shape[other]} in dim {other}"
            )
    left = [d % a.dim() for d in dims[0]]
    right = [d % b.dim() for d in dims[1]]
    rows = [d for d in range(a.dim()) if d not in left]
    columns = [d for d in range(b.dim()) if d not in right]
    size = prod(a.shape[d] for d in left)
    one = a.permute([*rows, *left]).reshape(prod(a.shape[d] for d in rows), size)
    other = b.permute([*right, *columns]).reshape(size, prod(b.shape[d] for d in columns))
    result = (one @ other).reshape([*(a.shape[d] for d in rows), *(b.shape[d] for d in columns)])
    return result if out is None else write_out("tensordot", out, result)


@composite(out_type=CASTS, variants="function method out")
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: every element of `input` times the whole of `other`."""
    ndim = max(input.dim(), other.dim())
    a = [1] * (ndim - input.dim()) + list(input.shape)
    b = [1] * (ndim - other.dim()) + list(other.shape)
    left = unsafe_view(input, [size for each in a for size in (each, 1)])
    right = unsafe_view(other, [size for each in b for size in (1, each)])
    return unsafe_view(left * right, tuple([x * y for x, y in zip(a, b, strict=True)]))


@composite(variants="function method out", autocast_on_gpu="widest")
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product along `dim`, by default the first dimension of size 3."""
    if input.dim() != other.dim():
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\n"
            "Please either pass the dim explicitly or simply use torch.linalg.cross.\n"
            "The default value of dim will change to agree with that of linalg.cross in a future release."
        )
        dim = next((d for d, size in enumerate(input.shape) if size == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return linalg_cross(input, other, dim=dim)


def _check_chain(tensors: list[Tensor]) -> None:
    for name, each in (("first", tensors[0]), ("last", tensors[-1])):
        if each.dim() not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {name} tensor must be 1D or 2D but got {each.dim()}D")
    for number, each in enumerate(tensors[1:-1], 1):
        if each.dim() != 2:
            raise RuntimeError(f"multi_dot(): tensor {number} must be 2D but got {each.dim()}D")
    for number, (left, right) in enumerate(pairwise(tensors)):
        if left.shape[-1] != right.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {number} and {number + 1} with shapes {list(left.shape)} and "
                f"{list(right.shape)} cannot be multiplied"
            )


@composite(variants="function out", namespace="linalg", autocast_on_gpu="lower")
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of several matrices in the order that multiplies least; the first and last may be vectors."""
    listed = tensors_of("linalg_multi_dot", "tensors", 0, tensors)
    if len(listed) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(listed)}")
    _check_chain(listed)
    first, last = listed[0].dim() == 1, listed[-1].dim() == 1
    if first:
        listed[0] = listed[0].unsqueeze(0)
    if last:
        listed[-1] = listed[-1].unsqueeze(-1)
    sizes = [*(each.shape[0] for each in listed), listed[-1].shape[1]]
    n = len(listed)
    cost = [[0.0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )

    def chain(i: int, j: int) -> Tensor:
        return listed[i] if i == j else chain(i, split[i][j]) @ chain(split[i][j] + 1, j)

    rows, columns = sizes[:1] * (not first), sizes[-1:] * (not last)
    return chain(0, n - 1).view(rows + columns)


@composite(variants="function out", autocast_on_gpu="lower")
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of several matrices."""
    warn_once(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters."
    )
    for each in matrices:
        if each.dim() != 2:
            raise RuntimeError(f"Tensor dimension is {each.dim()}, expected 2 instead.")
    return matrices[0].clone() if len(matrices) == 1 else multi_dot(matrices)
