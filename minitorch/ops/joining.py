"""Ops that put tensors together and take them apart."""

from __future__ import annotations
