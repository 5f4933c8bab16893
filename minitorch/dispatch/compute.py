"""What an op computes: its arguments' arrays are read, their types promoted, and the kernel runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.arrays import gpus
from minitorch.arrays.errors import NoDataError
from minitorch.arrays.quiet import NOISE, quiet
from minitorch.devices import cpu, device
from minitorch.dispatch import errors, promotion
from minitorch.dispatch.common_device import common_device, there
from minitorch.dispatch.op import Op
from minitorch.dtypes import dtype
from minitorch.layout import contiguous_format, copy_in, preserve_format
from minitorch.tensor import Tensor, make_tensor

FAILURES = (ValueError, TypeError, RuntimeError)


def compute(
    op: Op, args: Sequence[Any], target: Tensor | None = None, is_quiet: bool = False
) -> tuple[Any, device, int]:
    """The kernel's result on the arguments' arrays, the device, and the bit set of arguments that require gradients.

    `target` is the tensor that the op is to overwrite, if any: its first argument. `is_quiet` says that NumPy has been
    told to say nothing of infinities.
    """
    if len(args) < op.schema.count:
        args = (*args, *op.schema.defaults_from[len(args)])
    if op.memory.is_view and isinstance(args[0], Tensor) and not args[0]._array.size:
        args[0].untyped_storage()  # which settles where it is: the view begins there
    values = [*args]
    where: device | None = None
    common: dtype | None = None
    mask = 0
    mixed = False
    number = None
    promoted = op.promoted
    for position in op.schema.tensors:
        value = values[position]
        if isinstance(value, Tensor):
            if value._bits and not op.memory.is_view:
                return compute(op, [_resolved(each) for each in args], target)
            if value._requires_grad or (value._base is not None and value._base._requires_grad):
                mask |= 1 << position
            if value._device is not where:
                where = value._device if where is None else common_device(op, args, target)
            if value._dtype is not common and position in promoted:
                mixed = common is not None
                common = value._dtype
            values[position] = value._array
        elif value is None:
            if position not in op.schema.optional:
                raise errors.not_a_tensor(op, position, value)
        elif position in op.schema.scalars and promotion.is_number(value):
            mixed = mixed or number is not None
            number = value
        else:
            raise errors.not_a_tensor(op, position, value)
    for position in op.schema.sequences:
        tensors = errors.check_sequence(op, position, args[position])
        for tensor in tensors:
            if tensor is None:
                continue
            if tensor._bits:
                return compute(op, [_resolved(each) for each in args], target)
            if tensor._requires_grad or (tensor._base is not None and tensor._base._requires_grad):
                mask |= 1 << position
            if tensor._device is not where:
                where = tensor._device if where is None else common_device(op, args, target)
            if position in promoted:
                mixed = mixed or (common is not None and tensor._dtype is not common)
                common = tensor._dtype
        values[position] = [None if tensor is None else tensor._array for tensor in tensors]
    if where is None:
        if op.types.takes_numbers and promotion.is_number(args[0]):  # of numbers alone, the first becomes a tensor
            kind = promotion.common_type(args[:1])
            return compute(op, [make_tensor(cpu.xp.asarray(args[0], kind.numpy), kind, cpu), *args[1:]], target)
        raise errors.no_tensor(op, args)
    if where is not cpu:
        values = [there(where, each) for each in values]
    if op.writes.edits and target is None:
        kept = preserve_format if op.memory.elementwise else contiguous_format
        values[0] = copy_in(where.xp, values[0], values[0].dtype, kept)
    try:
        restored = None
        if common is not None:
            mixed = mixed or (number is not None and not promotion.fits(number, common))
            if mixed and op.types.check is not None:
                op.types.check(*args)
            if mixed or common not in op.computes_in:
                restored = promotion.convert(where.xp, op, values, args)
        try:
            if is_quiet or not op.writes.edits:
                result = op.kernel(where.xp, *values)
            else:
                with quiet():  # from the beginning, since what has been overwritten is lost
                    result = op.kernel(where.xp, *values)
        except FAILURES as error:
            raise explained(op, args, error) from None
        except MemoryError as error:
            raise gpus.out_of_memory(error) from None
        return (result if restored is None else _restore(where.xp, result, restored)), where, mask
    except NOISE:
        if is_quiet:
            raise
        with quiet():
            return compute(op, args, target, True)


def with_dense(args: Sequence[Any]) -> Sequence[Any]:
    """The operands of a sum, with a matrix in place of a sparse second one.

    Raises RuntimeError where the first alone is sparse or shapes differ, and TypeError where both are sparse, whereupon
    their `__torch_function__` is asked. https://pytorch.org/docs/stable/sparse.html
    """
    first, other, *rest = args
    if getattr(first, "is_sparse", False) and getattr(other, "is_sparse", False):
        raise TypeError("the operands are sparse matrices, not tensors")
    if getattr(first, "is_sparse", False):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if not getattr(other, "is_sparse", False):
        return args
    shape = tuple(first.shape) if isinstance(first, Tensor) else ()
    if shape != other.shape:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(shape)} while other has size "
            f"{list(other.shape)} (FYI: dense-sparse addition does not currently support broadcasting)"
        )
    return first, other.to_dense(), *rest


def explained(op: Op, args: Sequence[Any], error: Exception) -> Exception:
    """What PyTorch says where a kernel has failed."""
    if len(args) < op.schema.count:
        args = (*args, *op.schema.defaults_from[len(args)])
    if isinstance(error, ValueError):
        return errors.translate(op, args, error)
    if isinstance(error, NoDataError):
        return NotImplementedError(op.no_elements) if op.no_elements else errors.no_data(op.aten_name(args))
    return error


def _resolved(value: Any) -> Any:
    """An argument as kernels see it: tensors with elements in place of conjugate and negative views."""
    if isinstance(value, Tensor) and value._bits:
        tensor = make_tensor(value._elements, value._dtype, value._device)
        tensor._requires_grad = value.requires_grad
        return tensor
    if isinstance(value, (tuple, list)) and any(isinstance(each, Tensor) for each in value):
        return [_resolved(each) for each in value]
    return value


def _restore(xp: Any, result: Any, target: dtype) -> Any:
    """Casts what a kernel computed in float32 on behalf of a two-byte float back to that."""
    if isinstance(result, (tuple, list)):
        return tuple(_restore(xp, each, target) for each in result)
    return promotion.cast(xp, result, target) if result.dtype == "float32" else result
