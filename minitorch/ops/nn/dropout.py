"""Dropout: products with random noise.

Source: https://pytorch.org/docs/stable/nn.functional.html#dropout-functions
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from minitorch.arrays import Array
from minitorch.arrays.quiet import quiet
from minitorch.dispatch import layers
from minitorch.dispatch.batched import Batched, drawn, levels
from minitorch.dispatch.declaration import composite, declare
from minitorch.dispatch.errors import cannot_cast
from minitorch.dispatch.op import KEEP
from minitorch.dtypes import float32
from minitorch.kernels import sampling
from minitorch.layout import empty_as
from minitorch.ops.creation.filled import empty_like
from minitorch.ops.random.in_place import draw
from minitorch.tensor import Tensor, make_tensor

# −λα of SELU, the value that its most negative inputs approach.
_SELU_LIMIT = 1.7580993408473766


def _dropped(
    input: Tensor,
    shape: tuple[int, ...],
    p: float,
    training: bool,
    inplace: bool,
    fused: bool = False,
    alpha: bool = False,
) -> Tensor:
    """In training, the product with noise of this shape, which is broadcast; `alpha` adds a shift."""
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0 or not input.numel():
        return input
    shift = None
    if p == 1:
        noise = input.new_zeros(())
    elif not input.is_floating_point() and not input.is_complex():
        raise cannot_cast(float32, input._dtype)
    elif alpha:
        noise, shift = _alpha_noise(input, shape, p)
    else:
        noise = _noise(input, shape, p, fused)
    result = input.mul_(noise) if inplace else input * noise
    if shift is None:
        return result
    return result.add_(shift) if inplace else result + shift


def _noise(input: Tensor, shape: tuple[int, ...], p: float, fused: bool) -> Tensor:
    """0 with probability p, else 1 / (1 − p)."""
    if layers.count and levels():
        return drawn(lambda: _noise(input, shape, p, fused))
    alike = shape == input._array.shape and not isinstance(input, Batched)
    if not alike:
        input = make_tensor(input._device.xp.empty(shape, input._dtype.numpy), input._dtype, input._device)
    noise: Tensor = dropout_noise(input, p, fused)
    return noise


@declare(variants="", promotion=KEEP)
def dropout_noise(xp: Any, self: Array, p: float, fused: bool) -> Array:
    """Noise of the shape of `self`, drawn in the order of its memory, as PyTorch draws it."""
    with quiet():  # from the beginning, since what has been drawn can't be drawn again
        return draw(xp, empty_as(xp, self, self.dtype), sampling.dropout_mask, None, p, fused)


def _alpha_noise(input: Tensor, shape: tuple[int, ...], p: float) -> tuple[Tensor, Tensor]:
    """0 with probability p, else a scale, and the shift by which what was dropped has SELU's lowest value."""
    memory = empty_like(input) if shape == input._array.shape else input.new_empty(shape)
    keep = memory.bernoulli_(1 - p)
    scale = 1 / math.sqrt((_SELU_LIMIT**2 * p + 1) * (1 - p))
    return keep * scale, (keep - 1) * (_SELU_LIMIT * scale) + _SELU_LIMIT * scale * p


def _channels(input: Tensor) -> tuple[int, ...]:
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*input.shape[:2], *[1] * (input.dim() - 2))


@composite(variants="function", namespace="nn.functional")
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training: 0 with probability p, else input / (1 − p), of the shape and dtype of `input`; else `input`.

    `inplace` writes into the input. Raises ValueError for a p outside [0, 1], RuntimeError for integers in training.
    Srivastava et al. 2014
    """
    return _dropped(input, input._array.shape, p, training, inplace, fused=not inplace)


@composite(variants="function", namespace="nn.functional")
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of (N, C, L) or (C, L): each is 0 with probability p, else divided by 1 − p.

    Returns a tensor of the same shape. Raises ValueError for a p outside [0, 1], RuntimeError for another number of
    dimensions. Tompson et al. 2015
    """
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that dropout1d exists to "
            "provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional "
            "batch dimension (i.e. 2D or 3D inputs)."
        )
    return _batched(input, 3, p, training, inplace)


@composite(variants="function", namespace="nn.functional")
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of (N, C, H, W): each is 0 with probability p, else divided by 1 − p.

    Returns a tensor of the same shape; another number of dimensions than 4 gives a warning. Raises ValueError for a p
    outside [0, 1], RuntimeError for less than 2 dimensions. Tompson et al. 2015
    """
    if input.dim() not in (3, 4):
        _warn_dimensions("dropout2d", input.dim(), 2, "3D or 4D")
    elif input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _dropped(input, _channels(input), p, training, inplace)


@composite(variants="function", namespace="nn.functional")
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W): 0 with probability p, else divided by 1 − p.

    Returns a tensor of the same shape. Raises ValueError for a p outside [0, 1].
    """
    if input.dim() not in (4, 5):
        _warn_dimensions("dropout3d", input.dim(), 3, "4D or 5D")
    return _batched(input, 5, p, training, inplace)


def _batched(input: Tensor, batched: int, p: float, training: bool, inplace: bool) -> Tensor:
    """Dropout of channels, which an input of other than `batched` dimensions has first."""
    if input.dim() == batched:
        return _dropped(input, _channels(input), p, training, inplace)
    batch = input.unsqueeze(0)
    return _dropped(batch, _channels(batch), p, training, inplace).squeeze(0)


def _warn_dimensions(name: str, ndim: int, spatial: int, expected: str) -> None:
    warnings.warn(
        f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an error in a future "
        f"release. To retain the behavior and silence this warning, please use dropout instead. Note that {name} "
        f"exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel dimension, and "
        f"an optional batch dimension (i.e. {expected} inputs).",
        stacklevel=3,
    )


@composite(variants="function", namespace="nn.functional")
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout to SELU's lowest value, scaled and shifted so that mean 0 and variance 1 are kept.

    Returns a tensor of the shape of `input`. Raises ValueError for a p outside [0, 1].
    Klambauer et al. 2017, https://arxiv.org/abs/1706.02515
    """
    return _dropped(input, input._array.shape, p, training, inplace, alpha=True)


@composite(variants="function", namespace="nn.functional")
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels of (N, C, …): each is dropped with probability p.

    Returns a tensor of the same shape. Raises ValueError for a p outside [0, 1], RuntimeError for less than 2
    dimensions.
    """
    shape = _channels(input) if training and p else input._array.shape
    return _dropped(input, shape, p, training, inplace, alpha=True)
