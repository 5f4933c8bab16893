"""Ops that order elements."""

from __future__ import annotations
