"""Modules that join and split dimensions. Source: https://pytorch.org/docs/stable/generated/torch.nn.Flatten.html"""

from __future__ import annotations

from typing import Any

from minitorch.nn.modules.layer import Layer, layer
from minitorch.tensor import Tensor


@layer
class Flatten(Layer):
    """Joins the dimensions from `start_dim` to `end_dim`: (N, C, H, W) → (N, C · H · W).

    Raises IndexError for a dimension out of range.
    """

    start_dim: int = 1
    end_dim: int = -1

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


@layer
class Unflatten(Layer):
    """Splits the dimension `dim` into several: (N, a · b) → (N, a, b) for `unflattened_size` = (a, b).

    One of the sizes may be −1. Raises RuntimeError where their product isn't the size, TypeError for sizes that are no
    tuple of ints.
    """

    dim: int | str
    unflattened_size: Any

    def __post_init__(self) -> None:
        dim, unflattened_size = self.dim, self.unflattened_size
        if isinstance(dim, str):
            raise NotImplementedError("Unflatten: named tensors are not supported")
        if not isinstance(dim, int):
            raise TypeError("invalid argument type for dim parameter")
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for position, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(size).__name__} at pos "
                    f"{position}"
                )

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)
