"""The functions of `torch.fft`: their arguments are checked and the input is cut or padded, then it is transformed.

Source: https://pytorch.org/docs/stable/fft.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.dispatch.declaration import composite
from minitorch.dispatch.op import CASTS
from minitorch.dtypes import SCALAR_TYPES, float32, float64, get_default_dtype, type_name
from minitorch.ops.fft.transforms import BY_COUNT, BY_ROOT, UNSCALED, Ints, c2c, c2r, r2c
from minitorch.ops.nn.padding import constant_pad
from minitorch.ops.views.conjugation import conj, conj_physical
from minitorch.size import check_dim, checked_ints, each_dim, is_whole
from minitorch.tensor import Tensor

Sizes = int | Sequence[int] | None


def _form(function: Any) -> Any:
    """Makes a function of this file public."""
    name = function.__name__
    casts: dict[str, Any] = {} if name in _AS_THEY_ARE else {"autocast": "float32", "autocast_on_gpu": ""}
    return composite(variants="function out", namespace="fft", named=f"fft_{name}", out_type=CASTS, **casts)(function)


_AS_THEY_ARE = ("hfft2", "ihfft2", "hfftn", "ihfftn")
"""Of the functions, those to which autocast leaves their arguments."""


def promoted(input: Tensor, to_complex: bool = False) -> Tensor:
    """The input as floats, or as complex numbers. Raises RuntimeError for two-byte floats."""
    kind = input.dtype
    if kind.is_complex:
        return input
    kind = kind if kind.is_floating_point else get_default_dtype()
    if kind not in (float32, float64):
        raise RuntimeError(f"Unsupported dtype {SCALAR_TYPES[kind.name]}")
    return input.to(kind.to_complex() if to_complex else kind)


def normalization_of(name: str, norm: Any, forward: bool) -> int:
    """What the argument `norm` means. Raises RuntimeError for an unknown name."""
    if norm is not None and not isinstance(norm, str):
        raise TypeError(f"fft_{name}(): argument 'norm' must be str, not {type(norm).__name__}")
    modes = {"backward": UNSCALED if forward else BY_COUNT, "forward": BY_COUNT if forward else UNSCALED}
    mode = {**modes, "ortho": BY_ROOT}.get("backward" if norm is None else norm)
    if mode is None:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return mode


def resized(input: Tensor, dims: Ints, sizes: Ints) -> Tensor:
    """The input with these sizes: cut off, or padded with zeros."""
    pads = [(0, 0)] * input.dim()
    for dim, size in zip(dims, sizes, strict=True):
        if input.shape[dim] > size:
            input = input.narrow(dim, 0, size)
        elif input.shape[dim] < size:
            pads[dim] = (0, size - input.shape[dim])
    return constant_pad(input, tuple(pads), 0) if any(after for _, after in pads) else input


def _checked_dim(dim: int, ndim: int) -> int:
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return check_dim(dim, ndim)


def _checked_count(n: int) -> int:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def _of_one(name: str, input: Tensor, n: int | None, dim: int, half: bool = False) -> tuple[int, int]:
    """The dimension, and how many points it is transformed from, or to if the input is a `half`."""
    if n is not None and not is_whole(n):
        raise TypeError(f"fft_{name}(): argument 'n' must be int, not {type(n).__name__}")
    dim = _checked_dim(dim, input.dim())
    size = input.shape[dim]
    return dim, _checked_count((2 * (size - 1) if half else size) if n is None else n)


def _complex(name: str, input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    if not input.is_complex():
        return _real(name, input, n, dim, norm, forward, False)
    axis, size = _of_one(name, input, n, dim)
    return c2c(resized(input, (axis,), (size,)), (axis,), normalization_of(name, norm, forward), forward)


def _real(
    name: str, input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool, onesided: bool = True
) -> Tensor:
    if input.is_complex():
        raise RuntimeError(f"{name} expects a real input tensor, but got {type_name(input)}")
    input = promoted(input)
    axis, size = _of_one(name, input, n, dim)
    result = r2c(resized(input, (axis,), (size,)), (axis,), normalization_of(name, norm, forward), onesided)
    return result if forward else conj(result)


def _to_real(name: str, input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    input = promoted(input, to_complex=True)
    axis, size = _of_one(name, input, n, dim, half=True)
    if n is not None:
        input = resized(input, (axis,), (size // 2 + 1,))
    return c2r(conj(input) if forward else input, (axis,), normalization_of(name, norm, forward), size)


@_form
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Xₖ = Σⱼ xⱼ exp(−2πi jk/n) along a dimension, of n elements: the input is cut off or padded with zeros.

    `norm` is "backward" (nothing is divided), "ortho" (by √n) or "forward" (by n).
    """
    return _complex("fft", input, n, dim, norm, True)


@_form
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`, which it is with the same `norm`: complex, of n elements.

    By default the sum is divided by n.
    """
    return _complex("ifft", input, n, dim, norm, False)


@_form
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first n/2 + 1 elements of `fft` of real numbers: the others are their conjugates, in reverse."""
    return _real("rfft", input, n, dim, norm, True)


@_form
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`: n real elements, by default an even number of them, 2 (m − 1)."""
    return _to_real("irfft", input, n, dim, norm, False)


@_form
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """`fft` of a signal whose second half mirrors and conjugates the first, which is given.

    The result is real, of size n, by default 2 (m − 1).
    """
    return _to_real("hfft", input, n, dim, norm, True)


@_form
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`: the first half of the signal, complex, of size n/2 + 1."""
    return _real("ihfft", input, n, dim, norm, False)


# Several dimensions


def _ints(value: Any) -> Ints | None:
    return None if value is None else checked_ints("fft", (value,), 0)


def _of_several(input: Tensor, s: Sizes, dim: Sizes) -> tuple[Ints, Ints]:
    """The dimensions and their sizes: all by default, and as many of the last as there are sizes."""
    sizes, dims, ndim = _ints(s), _ints(dim), input.dim()
    if dims is not None:
        if dims and not ndim:
            raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
        dims = each_dim(dims, ndim)
        if len(set(dims)) < len(dims):
            raise RuntimeError("FFT dims must be unique")
    if sizes is None:
        sizes = (-1,) * (ndim if dims is None else len(dims))
    elif dims is not None and len(dims) != len(sizes):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    elif len(sizes) > ndim:
        raise RuntimeError(f"Got shape with {len(sizes)} values but input tensor only has {ndim} dimensions.")
    dims = tuple(range(ndim - len(sizes), ndim)) if dims is None else dims
    given = zip(sizes, dims, strict=True)
    return dims, tuple(_checked_count(input.shape[axis] if size == -1 else size) for size, axis in given)


def _of_half(name: str, input: Tensor, s: Sizes, dim: Sizes) -> tuple[Ints, Ints, int]:
    """The same for a half of what is transformed, and the size of its last dimension as a whole."""
    dims, sizes = _of_several(input, s, dim)
    _check_some(name, dims)
    given = _ints(s)
    whole = sizes[-1] if given is not None and given[-1] != -1 else 2 * (input.shape[dims[-1]] - 1)
    return dims, (*sizes[:-1], _checked_count(whole) // 2 + 1), whole


def _check_some(name: str, dims: Ints) -> None:
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")


def _complex_of_several(name: str, input: Tensor, s: Sizes, dim: Sizes, norm: str | None, forward: bool) -> Tensor:
    dims, sizes = _of_several(input, s, dim)
    input = resized(promoted(input, to_complex=True), dims, sizes)
    return c2c(input, dims, normalization_of(name, norm, forward), forward)


@_form
def fftn(input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """`fft` along several dimensions, by default all, of the sizes `s`."""
    return _complex_of_several("fftn", input, s, dim, norm, True)


@_form
def ifftn(input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """The inverse of `fftn`: complex, of the sizes `s`."""
    return _complex_of_several("ifftn", input, s, dim, norm, False)


@_form
def rfftn(input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """`fftn` of real numbers: complex, of the last of the dimensions its first half, of size n/2 + 1.

    Raises RuntimeError for complex inputs and for no dimensions.
    """
    if input.is_complex():
        raise RuntimeError(f"rfftn expects a real-valued input tensor, but got {type_name(input)}")
    dims, sizes = _of_several(input, s, dim)
    _check_some("rfftn", dims)
    return r2c(resized(promoted(input), dims, sizes), dims, normalization_of("rfftn", norm, True), True)


@_form
def irfftn(input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """The inverse of `rfftn`: real, the last of the dimensions of size 2 (m − 1) unless `s` says otherwise."""
    dims, sizes, whole = _of_half("irfftn", input, s, dim)
    input = resized(promoted(input, to_complex=True), dims, sizes)
    return c2r(input, dims, normalization_of("irfftn", norm, False), whole)


@_form
def hfftn(input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """`hfft` along the last of several dimensions, and `fft` along the others."""
    dims, sizes, whole = _of_half("hfftn", input, s, dim)
    input = resized(promoted(input, to_complex=True), dims, sizes)
    mode = normalization_of("hfftn", norm, True)
    if len(dims) > 1:
        input = c2c(input, dims[:-1], mode, True)
    return c2r(conj(input), dims[-1:], mode, whole)


@_form
def ihfftn(input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """The inverse of `hfftn`: complex, the last of the dimensions of size n/2 + 1."""
    dims, sizes = _of_several(input, s, dim)
    _check_some("ihfftn", dims)
    mode = normalization_of("ihfftn", norm, False)
    half = r2c(resized(promoted(input), dims, sizes), dims[-1:], mode, True)
    return conj(half) if len(dims) == 1 else c2c(conj_physical(half), dims[:-1], mode, False)


@_form
def fft2(input: Tensor, s: Sizes = None, dim: Sizes = (-2, -1), norm: str | None = None) -> Tensor:
    """`fftn` along two dimensions, by default the last two."""
    return fftn(input, s, dim, norm)


@_form
def ifft2(input: Tensor, s: Sizes = None, dim: Sizes = (-2, -1), norm: str | None = None) -> Tensor:
    """`ifftn` along two dimensions, by default the last two."""
    return ifftn(input, s, dim, norm)


@_form
def rfft2(input: Tensor, s: Sizes = None, dim: Sizes = (-2, -1), norm: str | None = None) -> Tensor:
    """`rfftn` along two dimensions, by default the last two."""
    return rfftn(input, s, dim, norm)


@_form
def irfft2(input: Tensor, s: Sizes = None, dim: Sizes = (-2, -1), norm: str | None = None) -> Tensor:
    """`irfftn` along two dimensions, by default the last two."""
    return irfftn(input, s, dim, norm)


@_form
def hfft2(input: Tensor, s: Sizes = None, dim: Sizes = (-2, -1), norm: str | None = None) -> Tensor:
    """`hfftn` along two dimensions, by default the last two."""
    return hfftn(input, s, dim, norm)


@_form
def ihfft2(input: Tensor, s: Sizes = None, dim: Sizes = (-2, -1), norm: str | None = None) -> Tensor:
    """`ihfftn` along two dimensions, by default the last two."""
    return ihfftn(input, s, dim, norm)
