"""Attention whose scores a function changes: the names alone, each of which raises NotImplementedError when it is used.

Source: https://docs.pytorch.org/docs/stable/nn.attention.flex_attention.html
"""

from minitorch.unsupported import function, kind

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention",
    "noop_mask", "or_masks",
]  # fmt: skip

_REASON = "minitorch has no flex_attention; nn.functional.scaled_dot_product_attention takes any mask"
_DEFAULT_SPARSE_BLOCK_SIZE = 128

AuxOutput, AuxRequest, BlockMask = (
    kind(f"torch.nn.attention.flex_attention.{name}", _REASON) for name in ("AuxOutput", "AuxRequest", "BlockMask")
)
and_masks, create_block_mask, create_mask, flex_attention, noop_mask, or_masks = (
    function(f"torch.nn.attention.flex_attention.{name}", _REASON) for name in __all__[3:]
)
