"""What ops say when they can't run: PyTorch's exception types, in its words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from minitorch.dispatch.op import Op
from minitorch.dtypes import SCALAR_TYPES, dtype
from minitorch.tensor import Tensor


def not_a_tensor(op: Op, position: int, value: Any) -> Exception:
    name = op.schema.parameters[position]
    public = "input" if name == "self" else name
    return TypeError(
        f"{op.name.lstrip('_')}(): argument '{public}' (position {position + 1}) must be Tensor, not "
        f"{type(value).__name__}"
    )


def no_tensor(op: Op, args: Sequence[Any]) -> Exception:
    if op.schema.sequences and isinstance(args[op.schema.sequences[0]], (tuple, list)):
        if op.no_tensors:
            return ValueError(op.no_tensors)
        return RuntimeError(f"{op.name} expects a non-empty TensorList")
    return not_a_tensor(op, 0, args[0])


def check_sequence(op: Op, position: int, value: Any) -> list[Tensor | None]:
    """The tensors of a sequence argument. Raises TypeError for anything else."""
    return tensors_of(op.name, op.schema.parameters[position], position, value, position in op.schema.optional)


def tensors_of(function: str, name: str, position: int, value: Any, optional: bool = False) -> list[Any]:
    """The same of any function; where it is `optional`, some may be None."""
    if not isinstance(value, (tuple, list)):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position + 1}) must be tuple of Tensors, not "
            f"{type(value).__name__}"
        )
    for index, each in enumerate(value):
        if not isinstance(each, Tensor) and not (each is None and optional):
            raise TypeError(f"expected Tensor as element {index} in argument {position}, but got {type(each).__name__}")
    return list(value)


def check_out(name: str, out: Any, several: int) -> tuple[Tensor, ...]:
    """The tensors given as `out=`: one, or a tuple of `several`. Raises TypeError for anything else."""
    if not several:
        if not isinstance(out, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
        return (out,)
    if not isinstance(out, (tuple, list)) or not all(isinstance(each, Tensor) for each in out):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    if len(out) != several:
        raise TypeError(f"expected tuple of {several} elements but got {len(out)}")
    return tuple(out)


def translate(op: Op, args: Sequence[Any], error: ValueError) -> Exception:
    """PyTorch's error for an array library's ValueError: the shapes that can't be broadcast, where that is it."""
    clash = _common_shape(args)
    if isinstance(clash, Exception):
        return clash
    return RuntimeError(f"{op.name}(): {error}")


def _common_shape(args: Sequence[Any]) -> tuple[int, ...] | RuntimeError:
    """The shape that all tensors among the arguments expand to, or why there is none."""
    common: tuple[int, ...] = ()
    for shape in [tuple(each.shape) for each in args if isinstance(each, Tensor)]:
        clash = broadcast_clash(common, shape)
        if clash is not None:
            return clash
        common = tuple(b if a == 1 else a for a, b in zip_longest(reversed(common), reversed(shape), fillvalue=1))[::-1]
    return common


def not_implemented(kernel: str, dtype: str) -> NotImplementedError:
    """The error of a kernel that doesn't exist for a dtype, which is given by its name."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{SCALAR_TYPES[dtype]}'")


def no_data(name: str) -> NotImplementedError:
    """The error of PyTorch's op of this name where it needs elements on the meta device, which has none."""
    return NotImplementedError(
        f"aten::{name}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel "
        "registered. You may have run into this message while using an operator with PT2 compilation APIs "
        "(torch.compile/torch.export); in order to use this operator with those APIs you'll need to add a fake impl. "
        "Please see the following for next steps:  https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
    )


def no_derivative(name: str) -> Any:
    """The formula of an op that PyTorch can't differentiate: it raises RuntimeError."""

    def formula(grad: Tensor) -> Tensor:
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return formula


def no_formula(name: str) -> Any:
    """The same for ops of which PyTorch's table of derivatives says so: it raises NotImplementedError."""

    def formula(grads: Any) -> Tensor:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return formula


def floating(array: Any, kernel: str) -> Any:
    """The array itself, for kernels that exist for real floating point numbers only. Raises NotImplementedError."""
    if array.dtype.kind != "f" and array.dtype != "bfloat16":
        raise not_implemented(kernel, array.dtype.name)
    return array


def broadcast_clash(a: tuple[int, ...], b: tuple[int, ...]) -> RuntimeError | None:
    """The error for two shapes that can't be broadcast together; None if they can."""
    longest = max(len(a), len(b))
    for dim in range(longest - 1, -1, -1):
        size_a = a[dim - longest + len(a)] if dim - longest + len(a) >= 0 else 1
        size_b = b[dim - longest + len(b)] if dim - longest + len(b) >= 0 else 1
        if size_a != size_b and 1 not in (size_a, size_b):
            return RuntimeError(
                f"The size of tensor a ({size_a}) must match the size of tensor b ({size_b}) at non-singleton "
                f"dimension {dim}"
            )
    return None


def does_not_fit(target: Tensor, shape: tuple[int, ...]) -> RuntimeError:
    """The error for a tensor that is written to and is smaller than the result."""
    return RuntimeError(f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(shape)}")


def cannot_cast(source: dtype, target: dtype) -> Exception:
    return RuntimeError(
        f"result type {SCALAR_TYPES[source.name]} can't be cast to the desired output type {SCALAR_TYPES[target.name]}"
    )
