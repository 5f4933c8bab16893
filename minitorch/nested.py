"""Tensors of rows of several lengths: the names alone, each of which raises NotImplementedError when it is used.

Source: https://docs.pytorch.org/docs/stable/nested.html
"""

from minitorch.unsupported import function

__all__ = [
    "as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor",
]  # fmt: skip

_REASON = "minitorch has no nested tensors; nn.utils.rnn.pad_sequence and a mask hold rows of several lengths"

as_nested_tensor, masked_select, narrow, nested_tensor, nested_tensor_from_jagged, to_padded_tensor = (
    function(f"torch.nested.{name}", _REASON) for name in __all__
)
