"""Transforms of the parts of a tensor along a dimension, each part by a transform of its own.

Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch import Tensor, cat, stack
from minitorch.distributions import constraints
from minitorch.distributions.transforms.transform import Transform
from minitorch.distributions.utils import _sum_rightmost, formula


class _Several(Transform):
    """What both share: the transforms, and the dimension along which the parts lie."""

    _size: str
    """How errors call the size that the dimension must have."""

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        if not all(isinstance(each, Transform) for each in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [each.with_cache(cache_size) for each in tseq] if cache_size else list(tseq)
        self.dim = dim

    bijective = formula(lambda self: all(each.bijective for each in self.transforms))

    _joined: Callable[[list[Tensor], int], Tensor]

    def _parts(self, value: Tensor) -> Any:
        raise NotImplementedError

    def _sets(self, sets: list[Any]) -> constraints.Constraint:
        """The constraint that each part is in its set."""
        raise NotImplementedError

    domain = constraints.dependent_property(lambda self: self._sets([each.domain for each in self.transforms]))
    codomain = constraints.dependent_property(lambda self: self._sets([each.codomain for each in self.transforms]))

    def _require(self, letter: str, value: Tensor, what: str = "tensor") -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for {what} with {value.dim()} dimensions")
        if value.size(self.dim) != self.length:
            sizes = f"{value.size(self.dim)} must equal {self._size} {self.length}"
            raise AssertionError(f"{letter}.size({self.dim}) = {sizes}")

    def _call(self, x: Tensor) -> Tensor:
        self._require("x", x)
        parts = zip(self.transforms, self._parts(x), strict=True)
        return self._joined([transform(part) for transform, part in parts], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        self._require("y", y)
        parts = zip(self.transforms, self._parts(y), strict=True)
        return self._joined([transform.inv(part) for transform, part in parts], self.dim)

    @property
    def length(self) -> int:
        """The size of the dimension."""
        raise NotImplementedError

    def _jacobians(self, x: Tensor, y: Tensor) -> list[Tensor]:
        self._require("x", x, "x")
        self._require("y", y, "y")
        parts = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        return [transform.log_abs_det_jacobian(of_x, of_y) for transform, of_x, of_y in parts]


class CatTransform(_Several):
    """Transforms of parts of the given `lengths` (1 each by default) along `dim`, as `cat` would join them.

    Raises AssertionError for what isn't a transform, and for a tensor of another size.
    """

    _size = "length"
    _joined = staticmethod(cat)

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    event_dim = formula(lambda self: max(each.event_dim for each in self.transforms))
    length = formula(lambda self: sum(self.lengths))

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, value: Tensor) -> Any:
        return value.split(self.lengths, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._jacobians(x, y), strict=True)
        jacobians = [_sum_rightmost(jacobian, self.event_dim - each.event_dim) for each, jacobian in parts]
        dim = self.dim - x.dim() * (self.dim >= 0) + self.event_dim
        return cat(jacobians, dim) if dim < 0 else sum(jacobians)  # type: ignore[return-value]

    def _sets(self, sets: list[Any]) -> constraints.Constraint:
        return constraints.cat(sets, self.dim, self.lengths)


class StackTransform(_Several):
    """Transforms of the slices along `dim`, one each, as `stack` would join them.

    Raises AssertionError for what isn't a transform, and for a tensor of another size.
    """

    _size = "len(transforms)"
    _joined = staticmethod(stack)

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    length = formula(lambda self: len(self.transforms))

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _parts(self, value: Tensor) -> Any:
        return value.unbind(self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return stack(self._jacobians(x, y), self.dim)

    def _sets(self, sets: list[Any]) -> constraints.Constraint:
        return constraints.stack(sets, self.dim)
