"""Warnings that PyTorch gives once in a process, however often their reason occurs."""

from __future__ import annotations

import warnings

_given: set[str] = set()
_always = False


def set_warn_always(b: bool, /) -> None:
    """Whether such warnings come each time. https://pytorch.org/docs/stable/generated/torch.set_warn_always.html

    Raises RuntimeError for anything but a bool.
    """
    global _always
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _always = b


def is_warn_always_enabled() -> bool:
    """Whether such warnings come each time. Returns a bool.

    https://pytorch.org/docs/stable/generated/torch.is_warn_always_enabled.html
    """
    return _always


def warn_once(message: str, category: type[Warning] = UserWarning, stacklevel: int = 2) -> None:
    """Warns, unless this message was given before and `set_warn_always` hasn't asked for it again.

    `stacklevel` counts as in `warnings.warn`, from the caller.
    """
    if _always or message not in _given:
        _given.add(message)
        warnings.warn(message, category, stacklevel + 1)
