"""Numbers with a shape."""

# 02 · Strides
from __future__ import annotations

import numpy as np


class Tensor:
    """Numbers with a shape."""

    def __init__(self, values: object) -> None:
        self.values = np.array(values, dtype=float)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.values)

    def describe(self, name: str = "tensor") -> str:
        """Two lines: the name and the number of rows."""
        return f"""{name}
  rows: {self.rows}"""
