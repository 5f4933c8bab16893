"""What a max pool took, put back to where it was.

Source: https://pytorch.org/docs/stable/generated/torch.nn.functional.max_unpool2d.html
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.arrays import Array, Ints
from minitorch.dispatch.declaration import declare
from minitorch.dispatch.errors import not_implemented
from minitorch.dtypes import int64, type_name
from minitorch.layout import laid_out, suggested_format
from minitorch.ops.nn.planes import gather_planes
from minitorch.ops.nn.pooling import publish
from minitorch.ops.nn.pooling_geometry import per_dimension
from minitorch.tensor import Tensor


@declare(
    promoted=("self",),
    promotion="keep",
    variants="",
    node=lambda self, indices, size: f"MaxUnpool{len(size)}DBackward0",
    derivatives={"self": lambda grad, indices, size: gather_planes(grad, indices, len(size))},
)
def max_unpool(xp: Any, self: Array, indices: Array, size: Ints) -> Array:
    """Zeros, with every element at its index in the plane of the given size."""
    if self.shape != indices.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(self.shape)}) but got indices "
            f"tensor with shape: {list(indices.shape)}"
        )
    outside = indices[(indices < 0) | (indices >= math.prod(size))]
    if outside.size:
        raise RuntimeError(
            f"Found an invalid max index: {int(outside[0])} (output volumes are of size {'x'.join(map(str, size))})"
        )
    leading = self.shape[: -len(size)]
    planes = math.prod(leading)
    result = xp.zeros((planes, math.prod(size)), self.dtype)
    result[xp.arange(planes)[:, None], indices.reshape(planes, -1)] = self.reshape(planes, -1)
    result = result.reshape(*leading, *size)
    return laid_out(xp, result, suggested_format(self)) if len(size) == 2 else result


def _public(n: int) -> Any:
    """max_unpool1d, max_unpool2d and max_unpool3d."""

    def max_unpool_nd(
        input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Tensor:
        """Zeros, with the elements of `input` at the places in the plane that `indices` name.

        Input and int64 indices (N, C, *spatial) or (C, *spatial) → (N, C, *output_size), by default of size (size − 1)
        stride − 2 padding + kernel. Raises RuntimeError for indices of another shape or dtype or out of range,
        ValueError for an `output_size` that the pool doesn't map to the input's, NotImplementedError for integers.
        """
        kernel = per_dimension(f"max_unpool{n}d", n, kernel_size, "kernel_size")
        steps = kernel if stride is None else per_dimension(f"max_unpool{n}d", n, stride, "stride")
        pads = per_dimension(f"max_unpool{n}d", n, padding, "padding")
        if n > 1 and input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Input to max_unpooling{n}d should be a {n + 1}d or {n + 2}d Tensor, but got a tensor with "
                f"{input.dim()} dimensions."
            )
        if indices._dtype is not int64:
            raise RuntimeError(f"elements in indices should be type int64 but got: {type_name(indices._array)}")
        if not input.is_floating_point():
            raise not_implemented(f"max_unpool{max(n, 2)}d", input._dtype.name)
        size = _unpooled_size(tuple(input.shape[-n:]), kernel, steps, pads, output_size)
        if n > 1:
            return max_unpool(input, indices, size)
        return max_unpool(input.unsqueeze(-1), indices.unsqueeze(-1), (*size, 1)).squeeze(-1)

    return publish(f"max_unpool{n}d", max_unpool_nd, "float32" if n > 1 else "")


def _unpooled_size(size: Ints, kernel: Ints, stride: Ints, padding: Ints, wanted: Any) -> Ints:
    """The size that was pooled: several may have given the pool's, within a stride of each other."""
    default = tuple((s - 1) * t + k - 2 * p for s, k, t, p in zip(size, kernel, stride, padding, strict=True))
    if wanted is None:
        return default
    n = len(size)
    if len(wanted) not in (n, n + 2):
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of "
            f"'{len(wanted)}'"
        )
    chosen = wanted[-n:]
    for d in range(n):
        least, most = default[d] - stride[d], default[d] + stride[d]
        if not least < chosen[d] < most:
            raise ValueError(f'invalid output_size "{chosen}" (dim {d} must be between {least} and {most})')
    return tuple(chosen)


max_unpool1d, max_unpool2d, max_unpool3d = map(_public, (1, 2, 3))
