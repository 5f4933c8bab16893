"""What sparse matrices have in common, however they list what is not zero.

Source: https://pytorch.org/docs/stable/sparse.html
"""

from __future__ import annotations

from typing import Any

from minitorch.devices import device as Device
from minitorch.dtypes import dtype as DType
from minitorch.size import Size
from minitorch.tensor import Tensor


class SparseMatrix:
    """A matrix whose listed elements are `_numbers`, (n). Of these are its dtype, its device and its gradient."""

    shape: Size
    _numbers: Tensor

    @property
    def dtype(self) -> DType:
        return self._numbers.dtype

    @property
    def device(self) -> Device:
        return self._numbers.device

    @property
    def requires_grad(self) -> bool:
        return self._numbers.requires_grad

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        return 2

    def _nnz(self) -> int:
        """How many elements are listed."""
        return len(self._numbers)
