"""Casts, copies, and moves between devices."""

from __future__ import annotations
