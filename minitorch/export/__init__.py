"""Modules as programs without Python: one graph of ATen operations, with guards.

Source: https://docs.pytorch.org/docs/stable/export.html
"""

from __future__ import annotations

from minitorch.export.dims import Dim
from minitorch.export.exporting import export
from minitorch.export.program import ExportedProgram
from minitorch.export.saving import load, save
from minitorch.export.signature import ExportGraphSignature

__all__ = ["Dim", "ExportGraphSignature", "ExportedProgram", "export", "load", "save"]
