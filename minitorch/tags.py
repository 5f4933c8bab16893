"""What the author of an operator says about it.

Source: https://docs.pytorch.org/docs/stable/torch.html#operator-tags
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Tag(Enum):
    """A property of an operator. minitorch keeps tags for those who read them, and decides nothing by them."""

    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19

    def __int__(self) -> int:
        return self.value


Tag.__module__ = "torch"


def listed(tags: Tag | Iterable[Tag]) -> list[Tag]:
    """One tag, or several, as a list.

    Raises:
        TypeError: something else.
    """
    found = [tags] if isinstance(tags, Tag) else [*tags]
    if not all(isinstance(each, Tag) for each in found):
        raise TypeError(
            "define(): incompatible function arguments. The following argument types are supported:\n"
            "    1. (self: object, schema: str, alias_analysis: str = '', tags: "
            "collections.abc.Sequence[torch._C.Tag] = []) -> str"
        )
    return found
