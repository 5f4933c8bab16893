"""The types that programs write in scripts, under the name where PyTorch keeps them."""

from typing import Dict, List, Optional, Tuple, Union  # noqa: UP035

from minitorch.tensor import Tensor

__all__ = ["Dict", "List", "Optional", "Tensor", "Tuple", "Union"]
