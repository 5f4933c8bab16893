"""Captured graphs as generated code over arrays, the default backend of `torch.compile`."""

from __future__ import annotations

from minitorch._inductor.lowering import inductor

__all__ = ["inductor"]
