"""Decompositions and solvers."""

from __future__ import annotations
