"""The gradient of a function that is known at the points of a grid. Source: https://pytorch.org/docs/stable/generated/torch.gradient.html"""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.declaration import composite
from minitorch.dtypes import uint8
from minitorch.ops.indexing.joining import cat
from minitorch.ops.reduction.sums import dims_of
from minitorch.tensor import Tensor


def _along(input: Tensor, dim: int, steps: Any, edge_order: int) -> Tensor:
    """Derivatives of the parabolas through three neighbours; at the ends of order one, of the lines through two.

    `steps` is the distance of all neighbours, or a vector of distances.
    """
    size, inner = input.shape[dim], max(input.shape[dim] - 2, 0)

    def at(start: int, count: int = 1) -> Tensor:
        return input.narrow(dim, start, count)

    if isinstance(steps, Tensor):
        shape = [-1 if d == dim else 1 for d in range(input.dim())]
        left, right = steps[:-1].view(shape), steps[1:].view(shape)
        below, above = -right / (left * (left + right)), left / (right * (left + right))
        centre = (right - left) / (left * right)
        middle = below * at(0, inner) + centre * at(1, inner) + above * at(2, inner) if inner else at(0, 0)
        first: Any = steps[:2]
        last: Any = steps[-2:].flip(0)
    else:
        middle = (at(min(2, size), inner) - at(0, inner)) / (2 * steps)
        first = last = (steps, steps)
    if edge_order == 1:
        head, tail = (at(1) - at(0)) / first[0], (at(size - 1) - at(size - 2)) / last[0]
    else:
        head = _end(at(0), at(1), at(2), *first)
        tail = -_end(at(size - 1), at(size - 2), at(size - 3), *last)
    return cat([head, middle, tail], dim)


def _end(here: Tensor, next: Tensor, after: Tensor, near: Any, far: Any) -> Tensor:
    """The slope at the first of three points that are `near` and `far` apart."""
    return (
        here * (-(2 * near + far) / (near * (near + far)))
        + next * ((near + far) / (near * far))
        - after * (near / (far * (near + far)))
    )


def _spacings(input: Tensor, spacing: Any, dims: tuple[int, ...], asked: bool) -> list[Any]:
    """For each dimension the distance of neighbours, or the distances."""
    if not isinstance(spacing, (list, tuple)):
        return [1 if spacing is None else spacing] * len(dims)
    if len(spacing) != len(dims):
        if asked:
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have "
                f"the same length, but got a spacing argument of length {len(spacing)} and a dim argument of length "
                f"{len(dims)}."
            )
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = "
            f"{input.dim()}', since dim argument was not given, but got a list of length {len(spacing)}"
        )
    return [each.diff() if isinstance(each, Tensor) else each for each in spacing]


@composite(variants="function")
def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The derivatives along each of `dim`, each of the shape of the input, by differences of second order inside.

    `spacing` is the distance of neighbours, or for each dimension theirs, or the vector of coordinates.
    Returns a tuple. Raises RuntimeError for an `edge_order` other than 1 and 2, sizes up to it, and uint8.
    """
    if input.dtype is uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = dims_of(dim, input.dim())
    spacings = _spacings(input, spacing, dims, dim is not None)
    if any(input.shape[d] < edge_order + 1 for d in dims):
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple(_along(input, d, steps, edge_order) for d, steps in zip(dims, spacings, strict=True))
