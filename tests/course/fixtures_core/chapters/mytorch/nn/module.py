"""The base of all layers."""

# 09 · Later
from __future__ import annotations


class Module:
    """The base of all layers."""
