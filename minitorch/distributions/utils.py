"""What the distributions share: parameters made alike, probabilities and log-odds, properties computed when asked for.

Source: https://pytorch.org/docs/stable/distributions.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, ClassVar

from minitorch import Tensor, arange, broadcast_tensors, device, empty, enable_grad, softmax, tensor
from minitorch.dtypes import dtype, finfo, get_default_dtype

euler_constant = 0.57721566490153286060

NUMBER = (bool, int, float)
Number = bool | int | float
Parameter = Tensor | Number
Shape = Sequence[int]

formula: Any = property
"""A property that is one formula of the parameters: `mean = formula(lambda self: self.loc)`."""


def broadcast_all(*values: Parameter) -> tuple[Tensor, ...]:
    """The values as tensors of one shape. Numbers get the dtype and device of the first tensor.

    Raises ValueError for anything that is neither a tensor nor a number.
    """
    if not all(isinstance(value, (Tensor, *NUMBER)) for value in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    options: dict[str, Any] = {"dtype": get_default_dtype()}
    for value in values:
        if isinstance(value, Tensor):
            options = {"dtype": value.dtype, "device": value.device}
            break
    return broadcast_tensors(*(each if isinstance(each, Tensor) else tensor(each, **options) for each in values))


def are_broadcastable(one: Shape, other: Shape) -> bool:
    """Whether the dimensions that both have, counted from the last, are equal or 1."""
    return all(i == j or 1 in (i, j) for i, j in zip(reversed(one), reversed(other), strict=False))


def _standard_normal(shape: Shape, dtype: dtype, device: device) -> Tensor:
    """Standard normal numbers."""
    numbers: Tensor = empty(shape, dtype=dtype, device=device).normal_()
    return numbers


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[:-dim], -1)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from log-odds (binary), or from unnormalized log-probabilities along the last dimension."""
    probs: Tensor = logits.sigmoid() if is_binary else softmax(logits, dim=-1)
    return probs


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept away from 0 and 1 by the dtype's eps."""
    eps = finfo(probs.dtype).eps
    clamped: Tensor = probs.clamp(min=eps, max=1 - eps)
    return clamped


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log-odds (binary) or log-probabilities, finite even for probabilities of 0 and 1."""
    clamped = clamp_probs(probs)
    logits: Tensor = clamped.log() - (-clamped).log1p() if is_binary else clamped.log()
    return logits


class lazy_property:
    """A property that is computed when first asked for, with gradients, and then an attribute of the object."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.name, value)
        return value


class BinaryParameter:
    """What distributions of yes-or-no trials share: `probs` and `logits`, of which one is given, the other computed."""

    _members: ClassVar[tuple[str, ...]] = ("_param",)
    _param: Tensor

    def _set_parameter(self, probs: Parameter | None, logits: Parameter | None, *others: Parameter) -> tuple[Any, ...]:
        """Keeps the one that was given, and returns the other parameters, in the same shape."""
        name, given = probs_or_logits(probs, logits)
        *alike, self._param = broadcast_all(*others, given)
        setattr(self, name, self._param)
        return tuple(alike)

    logits = lazy_property(lambda self: probs_to_logits(self.probs, is_binary=True))
    probs = lazy_property(lambda self: logits_to_probs(self.logits, is_binary=True))

    param_shape = formula(lambda self: self._param.shape)


def probs_or_logits(probs: Any, logits: Any) -> tuple[str, Any]:
    """The name of the one that is given, and it. Raises ValueError unless the other is None."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return ("logits", logits) if probs is None else ("probs", probs)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below a diagonal, row by row: (…, n, n) → (…, k). Raises ValueError for no such diagonal."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _lower(n, diag, mat)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of `tril_matrix_to_vec`, zeros elsewhere: (…, k) → (…, n, n). Raises ValueError if no n fits k."""
    # k = n²/2 + (½ + diag) n − |diag| (diag + 1)/2, solved for n.
    k, slope = vec.shape[-1], 1 + 2 * diag
    n = (-slope + (slope**2 + 8 * k + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {k} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    n = round(n)
    mat: Tensor = vec.new_zeros((*vec.shape[:-1], n, n))
    mat[..., _lower(n, diag, vec)] = vec
    return mat


def _lower(n: int, diag: int, like: Tensor) -> Tensor:
    steps = arange(n, device=like.device)
    mask: Tensor = steps < steps.view(-1, 1) + (diag + 1)
    return mask
