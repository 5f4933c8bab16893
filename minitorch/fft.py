"""Fourier transforms. The ops themselves are in `minitorch.ops.fft`.

Source: https://pytorch.org/docs/stable/fft.html
"""

from __future__ import annotations

from minitorch.ops.fft.forms import (
    fft,
    fft2,
    fftn,
    hfft,
    hfft2,
    hfftn,
    ifft,
    ifft2,
    ifftn,
    ihfft,
    ihfft2,
    ihfftn,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftn,
)  # fmt: skip
from minitorch.ops.fft.frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from minitorch.tensor import Tensor

__all__ = [
    "Tensor", "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn",
    "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip
