"""Fourier transforms beyond the table of ops: `out=`, the default type, autocast, warnings and signals that return."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch
from tests.same import attempt, errors, same, warned


@same
def test_results_are_written_into_tensors(torch: Any) -> Any:
    x, fft = torch.arange(12.0).reshape(3, 4), torch.fft
    complex_ones = torch.zeros(3, 4, dtype=torch.complex64)
    wide, resized = torch.zeros(3, 3, dtype=torch.complex128), torch.empty(0)
    results = [fft.fft(x, out=complex_ones), fft.rfft(x, out=wide), fft.irfft(x, out=resized)]
    needs = torch.ones(3, requires_grad=True)
    return [
        [each.shape for each in results],
        results[0] is complex_ones,
        results,
        attempt(lambda: fft.fft(needs, out=torch.zeros(3, dtype=torch.complex64)))[0],
    ]


@same
def test_types_follow_the_default_type(torch: Any) -> Any:
    integers, found = torch.arange(4), []
    torch.set_default_dtype(torch.float64)
    try:
        found += [torch.fft.fft(integers), torch.fft.irfft(integers), torch.fft.fftfreq(3), torch.fft.rfftn(integers)]
        torch.set_default_dtype(torch.bfloat16)
        found += errors(lambda: torch.fft.fft(integers), lambda: torch.fft.fftn(integers.half()))
    finally:
        torch.set_default_dtype(torch.float32)
    return found


@same
def test_autocast_transforms_floats(torch: Any) -> Any:
    x = torch.arange(8).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        found = [torch.fft.fft(x), torch.fft.rfft2(x[None]), torch.fft.hfft(x), torch.stft(x, 4, return_complex=True)]
        return found, errors(lambda: torch.fft.hfftn(x), lambda: torch.fft.ihfft2(x[None]))


@same
def test_a_spectrum_is_learned(torch: Any) -> Any:
    """Two derivatives through windows, frames, the transform and its inverse."""
    signal = torch.linspace(0, 3, 32, dtype=torch.float64).sin().requires_grad_()
    window = torch.hann_window(8, dtype=torch.float64).requires_grad_()
    spectrum = torch.stft(signal, 8, 2, window=window, return_complex=True)
    again = torch.istft(spectrum, 8, 2, window=window, length=32)
    loss = spectrum.abs().pow(2).mean() + (again * signal).sum()
    first = torch.autograd.grad(loss, [signal, window], create_graph=True)
    second = torch.autograd.grad(first[0].pow(2).sum() + first[1].pow(2).sum(), [signal, window])
    return again, loss, first, second


@same
def test_products_of_transforms_are_convolutions(torch: Any) -> Any:
    x, kernel = torch.randn(2, 3, 9, requires_grad=True), torch.randn(3, 9, requires_grad=True)
    filtered = torch.fft.irfft(torch.fft.rfft(x, n=17) * torch.fft.rfft(kernel, n=17), n=17)[..., :9]
    filtered.pow(2).sum().backward()
    return filtered, x.grad, kernel.grad


def test_the_meta_device_knows_shapes_types_and_strides() -> None:
    x = minitorch.ones(2, 3, 5)
    forms = [
        lambda t: minitorch.fft.rfftn(t, dim=(2, 0)),
        lambda t: minitorch.fft.irfft(t, 7, 1),
        lambda t: minitorch.fft.hfft2(t),
        lambda t: minitorch.fft.fft(t, dim=0),
        lambda t: minitorch.stft(t[0], 4, return_complex=True),
    ]
    for form in forms:
        real, meta = form(x), form(x.to("meta"))
        assert meta.is_meta
        assert (meta.shape, meta.dtype, meta.stride()) == (real.shape, real.dtype, real.stride())


def test_warnings_are_torchs() -> None:
    torch = pytest.importorskip("torch", reason="the expected warnings are torch's")

    def of(lib: Any) -> Any:
        x, window = lib.ones(16), lib.ones(4)
        spectrum = lib.stft(x, 4, window=window, return_complex=True)
        return warned(
            lib,
            lambda: lib.stft(x, 4, return_complex=True),
            lambda: lib.stft(x, 4, window=window, return_complex=False),
            lambda: lib.stft(x, 4, window=window, return_complex=True),
            lambda: lib.istft(spectrum, 4, length=20),
            lambda: lib.istft(spectrum, 4),
        )

    assert of(minitorch) == of(torch)
