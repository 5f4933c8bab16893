"""The short-time Fourier transform: that of windows that slide over a signal; and its inverse.

Source: https://pytorch.org/docs/stable/generated/torch.stft.html
"""

from __future__ import annotations

from typing import Any

from minitorch.autograd.saved import type_with_device
from minitorch.dispatch.declaration import composite
from minitorch.ops.fft.transforms import BY_COUNT, BY_ROOT, UNSCALED, c2c, c2r, r2c
from minitorch.ops.nn.padding import constant_pad, pad
from minitorch.ops.views.complex import real, view_as_real
from minitorch.ops.views.slicing import unfold_backward
from minitorch.size import as_int, check_dim
from minitorch.tensor import Tensor
from minitorch.warn_once import warn_once

_NOT_COMPLEX = (
    "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors for "
    "all inputs, and return_complex=False will raise an error.\n"
    "Note: you can still call torch.view_as_real on the complex output to recover the old return format."
)
_NO_WINDOW = (
    "A window was not provided. A rectangular window will be applied{}To suppress this warning and use a rectangular "
    "window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
)
_LEAKS = (
    ",which is known to cause spectral leakage. Other windows such as torch.hann_window or torch.hamming_window are "
    "recommended to reduce spectral leakage."
)
_LOSES = ".Please provide the same window used by stft to make the inversion lossless."
_ONESIDED = "Cannot have onesided output if window or input is complex"


class _Call:
    """A call with its arguments, as errors show it."""

    def __init__(self, name: str, input: Tensor, **arguments: Any) -> None:
        self.given = f"{name}({type_with_device(input)}{list(input.shape)}"
        self.add(**arguments)

    def add(self, **arguments: Any) -> None:
        """Adds arguments."""
        self.given += "".join(f", {key}={_shown(value)}" for key, value in arguments.items())

    def check(self, holds: bool, fault: str) -> None:
        """Raises RuntimeError with the fault unless the condition holds."""
        if not holds:
            raise RuntimeError(f"{self.given}) : {fault}")


def _shown(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{type_with_device(value)}{{{list(value.shape)}}}"
    return str(int(value)) if isinstance(value, bool) else str(value)


def _centred(window: Tensor, n_fft: int) -> Tensor:
    """A window in the middle of a frame."""
    left = (n_fft - window.shape[0]) // 2
    return constant_pad(window, ((left, n_fft - window.shape[0] - left),), 0)


@composite(autocast="float32", autocast_on_gpu="")
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The transforms (…, frequencies, frames) of frames of `n_fft` samples, one every `hop_length`, times a window.

    The signal (…, samples) is padded by half a frame at both ends if frames are to `center` on their samples; frames of
    real numbers are `onesided`: half of their transform is left out. With `normalized` they are divided by √n_fft.
    Without `return_complex` real and imaginary parts are a last dimension; for real signals one has to say which.
    Raises RuntimeError for other numbers of dimensions, sizes that aren't positive, and windows longer than a frame.
    """
    n_fft = as_int(n_fft)
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center:
        extended = input.view([1] * (3 - input.dim()) + list(input.shape))
        padded = pad(extended, [n_fft // 2, n_fft // 2], pad_mode)
        input = padded.view(padded.shape[-input.dim() :])
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    call = _Call("stft", input, n_fft=n_fft, hop_length=hop, win_length=width, window=window, normalized=normalized)
    call.add(onesided=onesided, return_complex=return_complex, align_to_window=align_to_window)
    if window is None:
        warn_once(_NO_WINDOW.format(_LEAKS))
    if return_complex is None and not input.is_complex() and (window is None or not window.is_complex()):
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further require that "
            "return_complex=True in a future PyTorch release."
        )
    if return_complex is False:
        warn_once(_NOT_COMPLEX)
    call.check(input.is_floating_point() or input.is_complex(), "expected a tensor of floating point or complex values")
    call.check(input.dim() in (1, 2), "expected a 1D or 2D tensor")
    batch = input if input.dim() == 2 else input.unsqueeze(0)
    length = batch.shape[1]
    call.check(0 < n_fft <= length, f"expected 0 < n_fft < {length}, but got n_fft={width}")
    call.check(hop > 0, f"expected hop_length > 0, but got hop_length={hop}")
    call.check(0 < width <= n_fft, f"expected 0 < win_length <= n_fft, but got win_length={width}")
    call.check(
        window is None or tuple(window.shape) == (width,),
        f"expected a 1D window tensor of size equal to win_length={width}, but got window with size "
        f"{[] if window is None else list(window.shape)}",
    )
    if align_to_window:
        left = (n_fft - width) // 2
        batch = constant_pad(batch, ((0, 0), (left, n_fft - width - left)), 0)
        length = batch.shape[1]
    if width < n_fft:
        window = _centred(input.new_ones(width) if window is None else window, n_fft)
    along, across = batch.stride(1), batch.stride(0)
    frames = batch.as_strided((batch.shape[0], 1 + (length - n_fft) // hop, n_fft), (across, hop * along, along))
    if window is not None:
        frames = frames * window
    mode = BY_ROOT if normalized else UNSCALED
    if not frames.is_complex():
        result = r2c(frames, (2,), mode, onesided is not False)
    elif onesided:
        raise RuntimeError(_ONESIDED)
    else:
        result = c2c(frames, (2,), mode, True)
    result.transpose_(1, 2)
    if input.dim() == 1:
        result.squeeze_(0)
    return result if return_complex is not False else view_as_real(result)


@composite()
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal of which `stft` with the same arguments gives the input: (…, frequencies, frames) → (…, samples).

    Raises RuntimeError where the squares of overlapping windows add up to zero: there is nothing to reconstruct from.
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    if window is None:
        warn_once(_NO_WINDOW.format(_LOSES))
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    call = _Call("istft", input, n_fft=n_fft, hop_length=hop, win_length=width, window=window, center=center)
    call.add(normalized=normalized, onesided=onesided, length=length, return_complex=return_complex)
    check_dim(-3, input.dim() + 1)  # of real and imaginary parts
    call.check(input.numel() > 0, "input tensor cannot be empty.")
    call.check(input.dim() in (2, 3), f"expected a tensor with 3 or 4 dimensions, but got {input.dim() + 1}")
    frequencies, count = input.shape[-2:]
    half = frequencies != n_fft if onesided is None else onesided
    call.check(
        frequencies == (n_fft // 2 + 1 if half else n_fft),
        "expected the frequency dimension (3rd to the last) of the input tensor to match "
        f"{'n_fft / 2 + 1' if half else 'n_fft'} when onesided={half}, but got {frequencies}",
    )
    call.check(0 < hop <= width, "expected 0 < hop_length <= win_length")
    call.check(0 < width <= n_fft, "expected 0 < win_length <= n_fft")
    call.check(
        window is None or tuple(window.shape) == (width,),
        "Invalid window shape. window has to be 1D and length of `win_length`",
    )
    weights = _centred(real(input).new_ones(width) if window is None else window, n_fft) if width < n_fft else window
    weights = real(input).new_ones(n_fft) if weights is None else weights
    spectra = (input if input.dim() == 3 else input.unsqueeze(0)).transpose(1, 2)
    mode = BY_ROOT if normalized else BY_COUNT
    if return_complex:
        if half:
            raise RuntimeError(_ONESIDED)
        frames = c2c(spectra, (2,), mode, False)
    elif weights.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    else:
        frames = c2r(spectra if half else spectra.narrow(2, 0, n_fft // 2 + 1), (2,), mode, n_fft)
    total = n_fft + hop * (count - 1)
    signal = unfold_backward(frames * weights.view(1, 1, n_fft), (frames.shape[0], total), 1, n_fft, hop)
    squares = weights.pow(2).expand(1, count, n_fft)
    envelope = unfold_backward(squares, (1, total), 1, n_fft, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - start
    signal, envelope = signal[:, start:end], envelope[:, start:end]
    if envelope.abs().min().item() < 1e-11:
        raise RuntimeError(f"{call.given}) window overlap add min: 1\n[ {input.device.type.upper()}BoolType{{}} ]")
    signal = signal / envelope
    if input.dim() == 2:
        signal = signal.squeeze(0)
    if end > total:
        warn_once(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
            "Please check your center and hop_length settings."
        )
        signal = constant_pad(signal, ((0, 0),) * (signal.dim() - 1) + ((0, end - total),), 0)
    return signal
