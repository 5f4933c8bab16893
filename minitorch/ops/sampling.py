"""Ops that draw random numbers."""

from __future__ import annotations
