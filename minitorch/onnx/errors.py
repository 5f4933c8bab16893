"""What can go wrong when a model is exported. Source: https://pytorch.org/docs/stable/onnx.html"""

from __future__ import annotations

__all__ = ["OnnxExporterError", "UnsupportedOperatorError"]


class OnnxExporterError(RuntimeError):
    """A model can't be exported."""


class UnsupportedOperatorError(OnnxExporterError):
    """An op for which there is no ONNX operator here."""
