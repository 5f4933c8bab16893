"""The fast path of attention. Source: https://pytorch.org/docs/stable/backends.html#module-torch.backends.mha"""

from __future__ import annotations

_enabled = True


def get_fastpath_enabled() -> bool:
    """Whether encoders leave out padding in eval mode, see `nn.TransformerEncoder`."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Has encoders leave out padding in eval mode, or not."""
    global _enabled
    _enabled = value
