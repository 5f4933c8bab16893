"""A mode that transformers imports from the compiler. Indexing by a tensor of `vmap` needs no help here."""

from __future__ import annotations

import contextlib

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(contextlib.nullcontext[None]):
    """Turns indexing by a 0-d tensor into an operation, which it is already: changes nothing."""
