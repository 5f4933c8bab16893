"""How a LinearCrossEntropyLoss divides its batch.

Source: https://pytorch.org/docs/stable/generated/torch.nn.LinearCrossEntropyOptions.html
"""

from __future__ import annotations

import dataclasses

from minitorch.dtypes import bfloat16, dtype, float16, float32, float64

__all__ = ["LinearCrossEntropyOptions"]


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """Has `linear_cross_entropy` go through its batch in chunks, so that never all logits exist at once.

    - `allow_retain_graph`: whether the gradients, which the forward pass computes, survive the first backward pass.
    - `batch_chunk_size`: rows a chunk.
    - `chunking_method`: "aspect_ratio:n" chooses it so that a chunk's logits are as large as the input, over n; "auto"
      chooses n; None leaves it to `batch_chunk_size`.
    - `acc_policy`: what PyTorch's kernels keep in `acc_dtype`. Here all that is summed is, whatever the policy.
    - `acc_dtype`: the type of the sums; by default float32 for two-byte floats and the input's for others.

    Raises ValueError for values that none of these take.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: dtype | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in {"auto", "accurate", "balanced", "compact"}:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method is not None and self.chunking_method != "auto":
            name, separator, factor = self.chunking_method.partition(":")
            if name != "aspect_ratio" or (separator and not (factor.isdigit() and int(factor))):
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in (None, float16, bfloat16, float32, float64):
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, torch.float64}, got "
                f"{self.acc_dtype!r}. Pass acc_dtype=None to let the op pick automatically."
            )

    def _rows(self, num_batches: int, in_features: int, num_classes: int, kind: dtype) -> int:
        """How many rows a chunk has. Raises ValueError where size and method are given and disagree."""
        size, method = self.batch_chunk_size, self.chunking_method
        if method is None or (method == "auto" and size is not None):
            return max(1, num_batches if size is None else min(size, num_batches))
        if method == "auto":
            method = "aspect_ratio" if kind.is_low_precision else "aspect_ratio:2"
        target = -(-num_batches // -(-num_classes // in_features))
        rows = min((1 << (target - 1).bit_length()) // int(method.partition(":")[2] or 1), num_batches)
        if size is not None and size != rows:
            raise ValueError(
                f"batch_chunk_size (={size}) and chunking_method ('{method}') give different chunk sizes ({size} vs "
                f"{rows}); pass only one."
            )
        return max(1, rows)

    def _sums_in(self, kind: dtype) -> dtype:
        if self.acc_dtype is not None:
            return self.acc_dtype
        return float32 if kind.is_low_precision and self.acc_policy == "auto" else kind
