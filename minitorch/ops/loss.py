"""Losses with fused kernels."""

from __future__ import annotations
