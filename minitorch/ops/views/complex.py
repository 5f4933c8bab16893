"""Complex numbers: their parts, their making, and their views as pairs of real numbers.

Source: https://pytorch.org/docs/stable/complex_numbers.html
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.dispatch.declaration import METHODS, OPS, composite, pointwise, view
from minitorch.dispatch.errors import not_implemented
from minitorch.dispatch.out_types import OBJECT
from minitorch.dtypes import FROM_NUMPY, float16, type_name
from minitorch.layout import restrided
from minitorch.ops.views.conjugation import _conj, _neg_view, is_conj, resolve_conj
from minitorch.ops.views.shape import strided
from minitorch.tensor import Tensor


@view(variants="", derivatives={"self": lambda grad: seen_as_complex(grad.contiguous())})
def _view_as_real(xp: Any, self: Array) -> Array:
    if self.dtype.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    real = self.real
    shape, strides = (*self.shape, 2), (*self.strides, real.dtype.itemsize)
    return xp.lib.stride_tricks.as_strided(real, shape, strides)


@composite(variants="function")
def view_as_real(input: Tensor) -> Tensor:
    """A view of shape (…, 2) of the real and imaginary parts. Raises RuntimeError for conjugate views."""
    if is_conj(input):
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can "
            "view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the "
            "original."
        )
    return _view_as_real(input)


@composite(autocast="float32", variants="function", autocast_on_gpu="")
def view_as_complex(input: Tensor) -> Tensor:
    """A view of a tensor of shape (…, 2) as complex numbers (…).

    Raises RuntimeError for another last size, for strides that don't allow it, and for other dtypes.
    """
    result: Tensor = seen_as_complex(input)
    if input.storage_offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return result


@view(
    variants="",
    node="ViewAsComplexBackward0",
    derivatives={"self": lambda grad: view_as_real(resolve_conj(grad.contiguous()))},
)
def seen_as_complex(xp: Any, self: Array) -> Array:
    if self.dtype not in ("float16", "float32", "float64"):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            + type_name(self)
        )
    if not self.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if self.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    kind = FROM_NUMPY[self.dtype].to_complex().numpy
    if self.strides[-1] != self.dtype.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    steps = zip(self.strides[:-1], self.shape[:-1], strict=True)
    if any(step % (2 * self.dtype.itemsize) and size != 1 for step, size in steps):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if not self.size:
        return strided(xp, strided(xp, self, (0,), (self.itemsize,)).view(kind), self.shape[:-1], self.strides[:-1])
    whole = tuple([step // kind.itemsize * kind.itemsize for step in self.strides[:-1]])
    return restrided(xp, self.view(kind)[..., 0], whole)


@composite(variants="function")
def real(input: Tensor) -> Tensor:
    """The real parts, a view of float dtype. A real tensor is its own."""
    if not input._dtype.is_complex:
        return input
    return view_as_real(_conj(input) if is_conj(input) else input).select(-1, 0)


@composite(variants="function")
def imag(input: Tensor) -> Tensor:
    """The imaginary parts, a view of float dtype; of a conjugate view a negative one.

    Raises RuntimeError for real tensors.
    """
    if not input._dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    parts = _neg_view(view_as_real(_conj(input))) if is_conj(input) else view_as_real(input)
    return parts.select(-1, 1)


METHODS["real"] = property(real, lambda self, value: _assign(real(self), value))  # type: ignore[assignment]
METHODS["imag"] = property(imag, lambda self, value: _assign(imag(self), value))  # type: ignore[assignment]


def _assign(part: Tensor, value: Any) -> None:
    if isinstance(value, Tensor):
        part.copy_(value)
    else:
        part.fill_(value)


@pointwise(
    promotion="to float",
    variants="function method out",
    derivatives={"self": lambda grad, self: _angle_gradient(grad, self)},
)
def angle(xp: Any, self: Array) -> Array:
    """The angle in the complex plane: for real numbers 0 or π."""
    if self.dtype.kind == "c":
        return xp.angle(self)
    return xp.where(xp.isnan(self), self, xp.where(self < 0, xp.asarray(xp.pi, self.dtype), xp.zeros((), self.dtype)))


def _angle_gradient(grad: Tensor, self: Tensor) -> Any:
    """Of atan2(im, re): i x/|x|² in PyTorch's convention, (∂/∂re + i ∂/∂im)."""
    if not self._dtype.is_complex:
        return grad.new_zeros(grad.shape)
    square = (self * self.conj()).real
    return (grad / square).masked_fill(square == 0, 0) * self * 1j


@pointwise(
    variants="",
    # That it keeps the parts too, PyTorch owes to their names.
    derivatives={"real": lambda grad, real: grad.real, "imag": lambda grad, imag: grad.imag},
)
def _complex(xp: Any, real: Array, imag: Array) -> Array:
    parts = xp.broadcast_arrays(real, imag)
    result = xp.empty(parts[0].shape, "complex64" if real.dtype == "float32" else "complex128")
    result.real, result.imag = parts
    return result


@composite(out_type=OBJECT, variants="function out")
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """real + i · imag. Raises RuntimeError for different dtypes, NotImplementedError for float16."""
    _check_parts(real, imag)
    real._dtype.to_complex()  # which float16 has not
    return _complex(real, imag)


@pointwise(
    variants="",
    derivatives={
        "abs": lambda grad, result: (grad.conj() * result.sgn()).real,
        "angle": lambda grad, result: (grad.conj() * (result * 1j)).real,
    },
)
def _polar(xp: Any, abs: Array, angle: Array) -> Array:
    return OPS["_complex"].kernel(xp, abs * xp.cos(angle), abs * xp.sin(angle))


@composite(autocast="float32", out_type=OBJECT, variants="function out", autocast_on_gpu="")
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """abs · (cos angle + i sin angle), a complex tensor of the shape that both broadcast to.

    Raises RuntimeError for different dtypes, NotImplementedError for other dtypes than float32 and float64.
    """
    _check_parts(abs, angle)
    if abs._dtype is float16:
        raise not_implemented("polar_cpu", "float16")
    return _polar(abs, angle)


def _check_parts(real: Tensor, imag: Tensor) -> None:
    names = [each.type().rpartition(".")[2].removesuffix("Tensor") for each in (real, imag)]
    if any(each not in ("Float", "Double", "Half") for each in names):
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {names[0]} and {names[1]}"
        )
    if names[0] != names[1]:
        raise RuntimeError(
            f"Expected object of scalar type {names[0]} but got scalar type {names[1]} for second argument"
        )


METHODS["_view_as_real"], METHODS["_view_as_complex"] = view_as_real, view_as_complex  # for views of tensors
