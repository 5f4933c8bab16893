"""Ops that answer with booleans."""

from __future__ import annotations
