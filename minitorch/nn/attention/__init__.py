"""Which kernel attention uses: there is one. Source: https://pytorch.org/docs/stable/nn.attention.html"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """PyTorch's kernels of scaled_dot_product_attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """Lets attention choose among these kernels only. Here it changes nothing.

    Raises TypeError for what names no kernel. https://pytorch.org/docs/stable/generated/torch.nn.attention.sdpa_kernel.html
    """
    chosen = backends if isinstance(backends, list) else [backends]
    if not all(isinstance(each, SDPBackend) for each in chosen):
        raise TypeError("sdpa_kernel(): backends must be an SDPBackend or a list of them")
    yield
