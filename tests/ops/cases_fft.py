"""Sample inputs of Fourier transforms."""

from __future__ import annotations

from tests.ops.case import Make, Sample, args, case

# Two-byte floats have no transform on the CPU; complex numbers have other ones.
DTYPES = "bool uint8 int64 float16 bfloat16 float32 float64 complex64 complex128"


def one(make: Make) -> list[Sample]:
    return [
        args(make(6)),
        args(make(2, 5)),
        args(make(3, 4), 6),
        args(make(3, 4), 3),
        args(make(3, 4), dim=0),
        args(make(3, 4, 2), 5, 1, "ortho"),
        args(make(2, 4), norm="forward"),
        args(make(2, 4), norm="backward", n=5),
        args(make(4, 3, layout="transposed"), 3),
        args(input=make(1, 4)),
    ]


def wrong_one(make: Make) -> list[Sample]:
    return [
        args(make(3), 0),
        args(make(3), -2),
        args(make(3), norm="other"),
        args(make(3), norm=1),
        args(make(3), 2.5).type_only(),
        args(make(3), dim=2),
        args(make(3), dim="a").type_only(),
        args(make()),
        args("x"),
        args(make(0)),
        args(make(3), out=make(3, dtype="int64")).type_only(),
    ]


def several(make: Make) -> list[Sample]:
    return [
        args(make(3, 4)),
        args(make(2, 3, 4), (4, 3)),
        args(make(2, 3, 4), (2, 5), (0, 2)),
        args(make(2, 3, 4), dim=(2, 0), norm="ortho"),
        args(make(3, 4), norm="forward"),
        args(make(3, 4), s=(-1, 3)),
        args(make(3, 4), s=(4, -1), dim=(0, 1)),
        args(make(4, 3, layout="transposed"), dim=(1, 0)),
        args(make(3, 4), dim=(-1,)),
    ]


def wrong_several(make: Make) -> list[Sample]:
    return [
        args(make(3, 4), (1, 2, 3)).type_only(),
        args(make(3, 4), (2,), (0, 1)),
        args(make(3, 4), dim=(0, 0)),
        args(make(3, 4), dim=(0, 3)),
        args(make(3, 4), (0, 2)),
        args(make(3, 4), norm="other"),
    ]


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    case(f"fft.{_name}", one, errors=wrong_one, dtypes=DTYPES)
for _name in ("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"):
    case(
        f"fft.{_name}",
        lambda make: [*several(make), args(make(2, 3, 4)), args(make(4), 3)],
        errors=lambda make, half=_name not in ("fftn", "ifftn"): [  # type: ignore[misc]
            *wrong_several(make),
            *([args(make(3, 4), dim=())] if half else []),
        ],
        dtypes=DTYPES,
    )
    case(f"fft.{_name[:-1]}2", several, errors=lambda make: [*wrong_several(make), args(make(3))], dtypes=DTYPES)


def frequencies(make: Make) -> list[Sample]:
    return [
        args(5),
        args(6),
        args(7, 0.25),
        args(0),
        args(n=4, d=2),
        args(5, dtype=make.dtype),
        args(5, 0.1, dtype=make.dtype),
        args(3, requires_grad=True, device="cpu"),
    ]


def no_frequencies(make: Make) -> list[Sample]:
    return [args(2.5), args(3, dtype=make.lib.int32), args("x").type_only()]


TYPES = "int32 float16 bfloat16 float32 float64 complex64"
case("fft.fftfreq", frequencies, errors=lambda make: [*no_frequencies(make), args(-3).type_only()], dtypes=TYPES)
case("fft.rfftfreq", lambda make: [*frequencies(make), args(-3)], errors=no_frequencies, dtypes=TYPES)
case(
    "fft.fftshift fft.ifftshift",
    lambda make: [
        args(make(5)),
        args(make(4)),
        args(make(3, 4)),
        args(make(3, 4), 0),
        args(make(3, 4), dim=-1),
        args(make(2, 3, 4), (0, 2)),
        args(make(0, 3)),
    ],
    errors=lambda make: [args(make(3), 2), args("x"), args(make())],
)


def frames(make: Make) -> list[Sample]:
    window = make(4, low=0.5, high=2.0, dtype="float64" if make.dtype is make.lib.float64 else "float32")
    whole = {"return_complex": True}
    return [
        args(make(9), 4, **whole),
        args(make(2, 9), 4, **whole),
        args(make(2, 9), 4, 2, 3, **whole),
        args(make(2, 9), 4, 3, window=window, **whole),
        args(make(9), 4, window=window, center=False, **whole),
        args(make(9), 5, 2, win_length=4, window=window, pad_mode="constant", **whole),
        args(make(9), 4, normalized=True, onesided=False, **whole),
        args(make(9), 4, 1, 2, center=False, align_to_window=True, **whole),
        args(make(9), 4, 1, 2, center=False, align_to_window=False, **whole),
        args(make(2, 9, layout="transposed"), 4, center=False, **whole),
        args(make(9), 4, return_complex=False),
    ]


def wrong_frames(make: Make) -> list[Sample]:
    return [
        args(make(9), 4),
        args(make(9), 20, center=False, return_complex=True),
        args(make(9), 20, return_complex=True).type_only(),
        args(make(9), 4, 0, return_complex=True),
        args(make(9), 4, 1, 5, return_complex=True),
        args(make(9), 4, window=make(3), return_complex=True),
        args(make(2, 2, 9), 4, center=False, return_complex=True),
        args(make(9, dtype="int64"), 4, center=False, return_complex=True),
        args(make(9), 4, align_to_window=True, return_complex=True),
        args(make(9, dtype="complex64"), 4, onesided=True, return_complex=True),
    ]


case("stft", frames, errors=wrong_frames, dtypes="float32 float64 complex64")


def spectra(make: Make) -> list[Sample]:
    window = make(4, low=0.5, high=2.0, dtype="float64" if make.dtype is make.lib.complex128 else "float32")
    return [
        args(make(3, 4), 4),
        args(make(2, 3, 4), 4),
        args(make(2, 3, 4), 4, 2, 3),
        args(make(3, 4), 4, 2, window=window),
        args(make(3, 4), 4, window=window, center=False),
        args(make(3, 4), 5, win_length=4, window=window, normalized=True),
        args(make(4, 3), 4, onesided=False),
        args(make(4, 3), 4, return_complex=True),
        args(make(3, 4), 4, length=9),
        args(make(3, 4), 4, length=3),
    ]


def wrong_spectra(make: Make) -> list[Sample]:
    return [
        args(make(3, 4, dtype="float32"), 4),
        args(make(3), 4),
        args(make(0, 3, 4), 4),
        args(make(1, 1, 3, 4), 4),
        args(make(3, 4), 8),
        args(make(3, 4), 4, onesided=False),
        args(make(3, 4), 4, 5),
        args(make(3, 4), 4, 2, 5),
        args(make(3, 4), 4, window=make(3, dtype="float32")),
        args(make(3, 4), 4, window=make.of([0.0, 1.0, 1.0, 0.0]).real, center=False),
        args(make(3, 4), 4, return_complex=True),
        args(make(3, 4), 4, window=make(4)),
    ]


case("istft", spectra, errors=wrong_spectra, dtypes="complex64 complex128")
