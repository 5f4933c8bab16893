"""Quantization of models: the names alone, each of which raises NotImplementedError when it is used.

Source: https://docs.pytorch.org/docs/stable/quantization.html
"""

from minitorch.unsupported import function, kind

__all__ = [
    "DeQuantStub", "FakeQuantize", "FakeQuantizeBase", "HistogramObserver", "MinMaxObserver", "ObserverBase", "QConfig",
    "QuantStub", "QuantWrapper", "convert", "fuse_modules", "get_default_qat_qconfig",
    "get_default_qconfig", "prepare", "prepare_qat", "quantize", "quantize_dynamic", "quantize_qat",
]  # fmt: skip

_REASON = "minitorch doesn't quantize; chapter 22b of the course shows how 8-bit weights work"

(
    DeQuantStub, FakeQuantize, FakeQuantizeBase, HistogramObserver, MinMaxObserver, ObserverBase, QConfig, QuantStub,
    QuantWrapper,
) = (kind(f"torch.ao.quantization.{name}", _REASON) for name in __all__[:9])  # fmt: skip
(
    convert, fuse_modules, get_default_qat_qconfig, get_default_qconfig, prepare, prepare_qat,
    quantize, quantize_dynamic, quantize_qat,
) = (function(f"torch.ao.quantization.{name}", _REASON) for name in __all__[9:])  # fmt: skip
