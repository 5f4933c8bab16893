"""The element types of tensors and the rules that mix them.

A `dtype` names an element type as PyTorch does; `dtype.numpy` is the NumPy type that stores it. `promote_types` is the
lattice of https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc.
"""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np

BOOL, INTEGER, FLOATING, COMPLEX = range(4)


class dtype:
    """An element type. There is one object for each type, so types are compared with `is`."""

    __slots__ = ("_promotion", "category", "is_low_precision", "is_native", "itemsize", "name", "numpy")

    def __init__(self, name: str, numpy_type: Any, category: int) -> None:
        self.name: Final = name
        self.numpy: Final[np.dtype[Any]] = np.dtype(numpy_type)
        self.itemsize: Final = int(self.numpy.itemsize)
        self.category: Final = category
        self.is_low_precision: Final = category == FLOATING and self.itemsize == 2
        self.is_native: Final = category >= FLOATING and not self.is_low_precision  # every op computes in it
        self._promotion: dict[dtype, dtype] = {}

    @property
    def is_floating_point(self) -> bool:
        return self.category == FLOATING

    @property
    def is_complex(self) -> bool:
        return self.category == COMPLEX

    @property
    def is_signed(self) -> bool:
        return self.category >= FLOATING or self.numpy.kind == "i"

    @property
    def is_differentiable(self) -> bool:
        """Only floating point and complex tensors can require gradients."""
        return self.category >= FLOATING

    def to_real(self) -> dtype:
        """The type of the real part: complex64 → float32."""
        return _REAL.get(self, self)

    def to_complex(self) -> dtype:
        """The complex type whose parts are of this type: float32 → complex64."""
        if self.category == COMPLEX:
            return self
        if self.category != FLOATING:
            raise RuntimeError(f"Unknown Complex ScalarType for {SCALAR_TYPES[self.name]}")
        if self is float16:
            raise NotImplementedError("minitorch has no complex32, the complex type of float16")
        return complex128 if self is float64 else complex64

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> Any:
        return _by_name, (self.name,)


uint8 = dtype("uint8", np.uint8, INTEGER)
int8 = dtype("int8", np.int8, INTEGER)
int16 = short = dtype("int16", np.int16, INTEGER)
int32 = int_ = dtype("int32", np.int32, INTEGER)
int64 = long = dtype("int64", np.int64, INTEGER)
float16 = half = dtype("float16", np.float16, FLOATING)
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, FLOATING)
float32 = float_ = dtype("float32", np.float32, FLOATING)
float64 = double = dtype("float64", np.float64, FLOATING)
complex64 = cfloat = dtype("complex64", np.complex64, COMPLEX)
complex128 = cdouble = dtype("complex128", np.complex128, COMPLEX)
bool_ = dtype("bool", np.bool_, BOOL)

uint16 = dtype("uint16", np.uint16, INTEGER)
uint32 = dtype("uint32", np.uint32, INTEGER)
uint64 = dtype("uint64", np.uint64, INTEGER)
float8_e4m3fn = dtype("float8_e4m3fn", ml_dtypes.float8_e4m3fn, FLOATING)
float8_e4m3fnuz = dtype("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, FLOATING)
float8_e5m2 = dtype("float8_e5m2", ml_dtypes.float8_e5m2, FLOATING)
float8_e5m2fnuz = dtype("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, FLOATING)
float8_e8m0fnu = dtype("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu, FLOATING)
complex32 = chalf = dtype("complex32", [("real", np.float16), ("imag", np.float16)], COMPLEX)

STORED: Final = (
    uint16, uint32, uint64, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu,
)  # fmt: skip
"""Types that tensors can be made of, copied and converted in; few ops compute in them."""
DTYPES: Final = (bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128)
SCALAR_TYPES: Final = {
    "bool": "Bool",
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float32": "Float",
    "float64": "Double",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "complex32": "ComplexHalf",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "float8_e4m3fn": "Float8_e4m3fn",
    "float8_e4m3fnuz": "Float8_e4m3fnuz",
    "float8_e5m2": "Float8_e5m2",
    "float8_e5m2fnuz": "Float8_e5m2fnuz",
    "float8_e8m0fnu": "Float8_e8m0fnu",
}
"""The names that PyTorch's older messages and its tensor types use."""
C_NAMES: Final = {
    "bool": "bool",
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "complex32": "c10::complex<c10::Half>",
    "uint16": "uint16_t",
    "uint32": "uint32_t",
    "uint64": "uint64_t",
    **{f"float8_{name}": f"c10::Float8_{name}" for name in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")},
}
"""Names of dtypes in error messages that come from C++."""


def type_name(values: Any) -> str:
    """PyTorch's name of the element type of a tensor or an array in most errors, such as "Float"."""
    return SCALAR_TYPES[values.dtype.name]


def c_type_name(values: Any) -> str:
    """Its name in others, which is that of C++: "float"."""
    return C_NAMES[values.dtype.name]


class Numpys(dict[Any, dtype]):
    """The dtypes by NumPy's types."""

    def __missing__(self, numpy_type: Any) -> dtype:
        if numpy_type == complex32.numpy:
            raise NotImplementedError("minitorch has no tensors of complex32: NumPy has no such type")
        raise KeyError(numpy_type)


FROM_NUMPY: Final = Numpys({each.numpy: each for each in DTYPES + STORED})
_REAL: Final = {complex64: float32, complex128: float64}


def _by_name(name: str) -> dtype:
    return next(each for each in (*DTYPES, *STORED, complex32) if each.name == name)


def from_numpy_dtype(numpy_type: Any) -> dtype:
    """The dtype that stores elements of a NumPy type.

    Raises TypeError when there is none, and ValueError for another byte order than the machine's.
    """
    try:
        return FROM_NUMPY[np.dtype(numpy_type)]
    except KeyError:
        if not np.dtype(numpy_type).isnative:
            raise ValueError(
                "given numpy array has byte order different from the native byte order. Conversion between byte "
                "orders is currently not supported."
            ) from None
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{np.dtype(numpy_type).type.__name__}. The only supported types "
            "are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, "
            "uint8, and bool."
        ) from None


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """Returns the smallest dtype that both can be cast to without losing their kind.

    https://pytorch.org/docs/stable/generated/torch.promote_types.html
    """
    if type1 is type2:
        return type1
    promoted = type1._promotion.get(type2)
    if promoted is None:
        _refuse_stored(type1, type2)
        promoted = type1._promotion[type2] = _promote(type1, type2)
    return promoted


def _refuse_stored(a: dtype, b: dtype) -> None:
    """Raises RuntimeError for types that have no common one: float8 and any, long unsigned ones and integers."""
    stored = [each for each in (a, b) if each in STORED]
    names = f"attempted to promote {SCALAR_TYPES[a.name]} and {SCALAR_TYPES[b.name]}"
    if any(each.is_floating_point for each in stored):
        raise RuntimeError(f"Promotion for Float8 Types is not supported, {names}")
    if stored and a.category < FLOATING and b.category < FLOATING:
        raise RuntimeError(f"Promotion for uint16, uint32, uint64 types is not supported, {names}")


def _promote(a: dtype, b: dtype) -> dtype:
    if a.category > b.category:
        a, b = b, a
    if b.category == COMPLEX:
        wide = a in (float64, complex128) or b is complex128
        return complex128 if wide else complex64
    if b.category == FLOATING:
        if a.category < FLOATING:
            return b
        if {a, b} == {float16, bfloat16}:
            return float32
        return a if a.itemsize > b.itemsize else b
    if a.category == BOOL:
        return b
    if a.is_signed == b.is_signed:
        return a if a.itemsize > b.itemsize else b
    unsigned, signed = (b, a) if a.is_signed else (a, b)
    if signed.itemsize > unsigned.itemsize:
        return signed
    return int16  # uint8 with int8: the only pair of equal width


def scalar_type(value: Any) -> dtype:
    """The dtype a Python number has before promotion: bool, int64, the default dtype, or its complex type."""
    if isinstance(value, (bool, np.bool_)):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    if isinstance(value, (float, np.floating)):
        return _default
    return _default.to_complex()


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a cast keeps the category: no complex → real, floating → integer, or integer → bool.

    Source: https://pytorch.org/docs/stable/generated/torch.can_cast.html
    """
    return from_.category <= to.category


_default = float32


def within_range(xp: Any, array: Any, numpy_type: Any) -> Any:
    """What a cast to `numpy_type` begins with: float8_e4m3fn has no infinity, so larger numbers become ±448, its last.

    NaN stays NaN. https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.dtype
    """
    if numpy_type != float8_e4m3fn.numpy or numpy_type == array.dtype:
        return array
    return xp.clip((array.real if array.dtype.kind == "c" else array).astype("float32", copy=False), -448, 448)


def get_default_dtype() -> dtype:
    """Returns the dtype of new floats. https://pytorch.org/docs/stable/generated/torch.get_default_dtype.html"""
    return _default


def set_default_dtype(d: dtype, /) -> None:
    """Sets the dtype of new floating point tensors and of integer → float promotion.

    Raises TypeError unless `d` is a floating point dtype.
    Source: https://pytorch.org/docs/stable/generated/torch.set_default_dtype.html
    """
    global _default
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _default = d


def _checked(function: str, type: Any) -> dtype:
    if type in (int, float, complex):
        return {int: int64, float: float64, complex: complex128}[type]
    if not isinstance(type, dtype):
        raise TypeError(
            f"{function}(): argument 'type' (position 1) must be torch.dtype, not {type.__class__.__name__}"
        )
    return type


class finfo:
    """The limits of a floating point dtype. Source: https://pytorch.org/docs/stable/type_info.html"""

    def __init__(self, type: dtype | None = None) -> None:
        type = _checked("finfo", _default if type is None else type)
        if not type.is_differentiable:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        limits = ml_dtypes.finfo(type.to_real().numpy)  # type: ignore[no-untyped-call]
        self.dtype = type.to_real().name
        self.bits = type.to_real().itemsize * 8
        self.eps = float(limits.eps)
        self.max = float(limits.max)
        self.min = float(limits.min)
        self.tiny = self.smallest_normal = float(limits.tiny)
        # Decimal, as PyTorch's: not its rounding to the type.
        self.resolution = 1.0 if self.bits == 8 else float(f"1e-{limits.precision}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __repr__(self) -> str:
        values = (
            f"{name}={getattr(self, name):g}" for name in ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        )
        return f"finfo({', '.join(values)}, dtype={self.dtype})"


class iinfo:
    """The limits of an integer dtype. Source: https://pytorch.org/docs/stable/type_info.html"""

    def __init__(self, type: dtype) -> None:
        type = _checked("iinfo", type)
        if type is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.category != INTEGER:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        limits = np.iinfo(type.numpy)
        self.dtype = type.name
        self.bits = limits.bits
        self.max = int(limits.max)
        self.min = int(limits.min)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
