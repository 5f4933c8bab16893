"""The one place where ops run.

`apply` does for every op, in this order, what no kernel does itself: it checks devices, promotes types, runs the kernel
on the strided arrays, wraps the results (as views where they are views), and records the node that will run the
derivatives. `apply_in_place` and `apply_out` add writing, version counting and the rewriting of history.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.inplace import INFERENCE, MULTIPLE, check_writable, rebase_history
from minitorch.autograd.node import check_saved
from minitorch.devices import device
from minitorch.dtypes import FLOATING, FROM_NUMPY, can_cast, dtype
from minitorch.layout import contiguous_format, copy_in, laid_out, preserve_format, suggested_format
from minitorch.ops import errors, promotion
from minitorch.ops.declaration import Op
from minitorch.ops.iteration import arranged
from minitorch.ops.out_types import check_out_type
from minitorch.ops.overlap import check_sources, check_target, check_write, tensors_in
from minitorch.tensor import Tensor, from_numpy, make_tensor, make_view

# Infinities and NaN are results, not warnings. The filter concerns this package's kernels alone.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minitorch\.")


def apply(op: Op, args: Sequence[Any]) -> Any:
    """Runs an op and records it where a gradient is needed.

    The arguments come in the order of the signature; what is left out at the end has its default.
    """
    if len(args) < op.count:
        args = (*args, *op.defaults[len(args) :])
    result, where, mask = _run(op, args)
    if op.row_major or op.format_from:
        result = _ordered(op, where.xp, args, result)
    if result.__class__ is tuple or result.__class__ is list:
        outputs = [_wrap(op, args, each, where) for each in result]
        if op.is_view and grad_mode.enabled:
            for output in outputs:
                if output._view_made != INFERENCE:
                    output._view_made = MULTIPLE
        if mask and grad_mode.enabled:
            _record(op, args, outputs, mask)
        return tuple(outputs) if op.outputs is None else op.outputs(*outputs)
    if result.__class__ is where.array_type and not op.is_view:
        output = make_tensor(result, FROM_NUMPY[result.dtype], where)
    else:
        output = _wrap(op, args, result, where)
    if mask and grad_mode.enabled:
        _record(op, args, (output,), mask)
    return output


def apply_to_two(op: Op, self: Any, other: Any) -> Any:
    """`apply` on two operands, with a short cut for what most small ops are: no view, and nothing to convert."""
    operand = None
    if op.is_binary and self.__class__ is Tensor and self._dtype.is_native and self._base is None and not self._bits:
        mask = 1 if self._requires_grad else 0
        if other.__class__ is float:
            operand = other
        elif (
            other.__class__ is Tensor
            and other._dtype is self._dtype
            and other._device is self._device
            and other._base is None
            and not other._bits
        ):
            operand = other._array
            if other._requires_grad:
                mask |= 2
    if operand is not None:
        where = self._device
        try:
            result = op.kernel(where.xp, self._array, operand)
        except (ValueError, TypeError):
            result = None  # `apply` fails on it too, and explains it
        if result.__class__ is where.array_type:
            if result.ndim > 1 and not (
                self._array.flags.c_contiguous
                and result.flags.c_contiguous
                and 1 not in (shape := result.shape)
                and 0 not in shape
                and (shape == self._array.shape or other._array.flags.c_contiguous)
            ):
                result = arranged(where.xp, result, (self, other), op)
            kind = self._dtype  # of most results too, and quicker to compare than to look up
            output = make_tensor(result, kind if result.dtype is kind.numpy else FROM_NUMPY[result.dtype], where)
            if mask and grad_mode.enabled:
                _record(op, (self, other, *op.defaults[2:]), (output,), mask)
            return output
    return apply(op, (self, other))


def apply_in_place(op: Op, args: Sequence[Any]) -> Any:
    """Runs an op and writes its result into the first argument, which keeps its memory, shape and dtype."""
    if len(args) < op.count:
        args = (*args, *op.defaults[len(args) :])
    target = args[0]
    if not isinstance(target, Tensor):
        raise errors.not_a_tensor(op, 0, target)
    check_writable(target, args)
    before = None
    if op.edits and grad_mode.enabled:
        for each in tensors_in(args):
            _ = each.grad_fn  # raises for a view that may not be used any more, before anything is written
        before = _before_write(target) if op.saves_self else None
    if op.edits or target._storage is not None or 0 in target._array.strides:
        try:
            check_write(op, args)
        except RuntimeError:
            _raise_earlier(op, args)
            raise
    array, _, mask = _run(op, args, in_place=True)
    node = None
    if mask and grad_mode.enabled and target._dtype.is_differentiable:
        plan = op.plan(mask, args)
        if plan.saves(0):
            args = [_before_write(target) if before is None else before, *args[1:]]
        if plan.inputs:
            node = plan.node(plan, args, ())  # before the write, since the arguments are saved as they were
    if op.edits and not target._bits:
        target._bump_version()
    else:
        if array.shape != target._array.shape and not op.elementwise:
            raise RuntimeError(
                f"Bad in-place call: input tensor size {list(target.shape)} and output tensor size {list(array.shape)} "
                "should match"
            )
        _write(target, array, target._array.shape)
    if node is not None:
        node.save_results((target,))
        rebase_history(target, node)
    return target


def _raise_earlier(op: Op, args: Sequence[Any]) -> None:
    """Raises what is wrong with the arguments before memory matters.

    For an op by index that are dimensions; for scatter, all. What is written to a conjugate or negative view is
    computed first, in other memory, and has to fit.
    """
    if args[0]._bits:
        _fitting(args[0], _run(op, args)[0], args[0]._array.shape)
    if "index" in op.positions and "dim" in op.positions:
        errors.check_dim(args[op.positions["dim"]], args[0].dim())
        if op.name.startswith("scatter"):
            place = op.positions["index"]
            apply(op, [each.new_zeros(each.shape) if n == place else each for n, each in enumerate(args)])


def apply_out(op: Op, args: Sequence[Any], out: Any) -> Any:
    """Runs an op and writes its results into `out`, which is resized to fit."""
    if grad_mode.enabled and any(each.requires_grad for each in tensors_in((*args, out))):
        raise RuntimeError(
            f"{op.name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    arrays, where, _ = _run(op, args)
    if op.row_major or op.format_from:
        arrays = _ordered(op, where.xp, args, arrays)
    targets = errors.check_out(op.name, out, isinstance(arrays, (tuple, list)))
    for target, array in zip(targets, arrays if isinstance(arrays, (tuple, list)) else (arrays,), strict=True):
        check_writable(target)
        check_target(target._array)
        check_sources(op, target, args)
        resized = target._array.shape != array.shape
        if resized and op.elementwise and any(each is target for each in args):
            raise errors.does_not_fit(target, array.shape)
        check_out_type(op.name, op.elementwise, target, array)
        if not can_cast(FROM_NUMPY[array.dtype], target._dtype):
            raise errors.cannot_cast(FROM_NUMPY[array.dtype], target._dtype)
        if resized:
            target._resize_output(array, op.name)
            check_sources(op, target, args)
        _write(target, array, array.shape)
    return out if op.outputs is None else op.outputs(*out)


def write_out(name: str, out: Any, result: Any) -> Any:
    """Puts what a function computed into the tensor, or the tensors, given as `out=`, which are resized to fit."""
    several = isinstance(result, tuple)
    for target, each in zip(errors.check_out(name, out, several), result if several else (result,), strict=True):
        if grad_mode.enabled and (target.requires_grad or each.requires_grad):
            raise RuntimeError(
                f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                "arguments requires grad."
            )
        check_writable(target)
        check_target(target._array)
        check_out_type(name, False, target, each._array)
        if target._array.shape != each._array.shape:
            target._resize_output(each._array, name)
        _write(target, each._elements, each._array.shape)
    return type(result)(*out) if several else out


def _run(op: Op, args: Sequence[Any], in_place: bool = False) -> tuple[Any, device, int]:
    """The kernel's result on the arguments' arrays, the device, and the bit set of arguments that require gradients."""
    if op.is_view and isinstance(args[0], Tensor) and not args[0]._array.size:
        args[0].untyped_storage()  # which settles where it is: the view begins there
    values = [*args]
    where: device | None = None
    common: dtype | None = None
    mask = 0
    mixed = False
    number = None
    promoted = op.promoted
    for position in op.tensors:
        value = values[position]
        if isinstance(value, Tensor):
            if value._bits and not op.is_view:
                return _run(op, [_resolved(each) for each in args], in_place)
            if value._requires_grad or (value._base is not None and value._base._requires_grad):
                mask |= 1 << position
            if value._device is not where:
                if where is not None:
                    raise errors.devices_differ(where, value._device)
                where = value._device
            if value._dtype is not common and position in promoted:
                mixed = common is not None
                common = value._dtype
            values[position] = value._array
        elif value is None:
            if position not in op.optional:
                raise errors.not_a_tensor(op, position, value)
        elif position in op.scalars and promotion.is_number(value):
            mixed = mixed or number is not None
            number = value
        else:
            raise errors.not_a_tensor(op, position, value)
    for position in op.sequences:
        tensors = errors.check_sequence(op, position, args[position])
        for tensor in tensors:
            if tensor is None:
                continue
            if tensor._bits:
                return _run(op, [_resolved(each) for each in args], in_place)
            if tensor._requires_grad or (tensor._base is not None and tensor._base._requires_grad):
                mask |= 1 << position
            if where is not None and tensor._device is not where:
                raise errors.devices_differ(where, tensor._device)
            where = tensor._device
            if position in op.promoted:
                mixed = mixed or (common is not None and tensor._dtype is not common)
                common = tensor._dtype
        values[position] = [None if tensor is None else tensor._array for tensor in tensors]
    if where is None:
        raise errors.no_tensor(op, args)
    if op.edits and not in_place:
        kept = preserve_format if op.elementwise else contiguous_format
        values[0] = copy_in(where.xp, values[0], values[0].dtype, kept)

    restored = None
    if common is not None:
        mixed = mixed or (number is not None and not promotion.fits(number, common))
        if mixed and op.check is not None:
            op.check(*args)
        if mixed or (op.to_float and common.category < FLOATING) or (op.upcast and common.is_low_precision):
            restored = promotion.convert(where.xp, op, values, args)
    try:
        result = op.kernel(where.xp, *values)
    except (ValueError, TypeError, RuntimeError) as error:
        if mask and grad_mode.enabled:
            check_saved(op.plan(mask, args), args)  # PyTorch saves before it computes: what can't be saved comes first
        if isinstance(error, ValueError):
            raise errors.translate(op, args, error) from None
        cause = errors.unsupported(op, args, error) if isinstance(error, TypeError) else error
        if op.elementwise and '" not implemented for' in str(cause):
            errors.check_operands(args, common, args[0] if in_place else None)
        raise cause from None
    if restored is not None:
        result = _restore(where.xp, result, restored)
    if op.elementwise and not in_place and not op.edits and result.__class__ is where.array_type and result.ndim > 1:
        first = args[op.tensors[0]]
        if not (
            first.__class__ is Tensor
            and first._array.flags.c_contiguous
            and result.flags.c_contiguous
            and 1 not in (shape := result.shape)
            and 0 not in shape
            and shape == first._array.shape
        ):
            result = arranged(where.xp, result, [args[position] for position in op.tensors], op)
    return result, where, mask


def _resolved(value: Any) -> Any:
    """An argument as kernels see it: tensors with elements in place of conjugate and negative views."""
    if isinstance(value, Tensor) and value._bits:
        tensor = make_tensor(value._elements, value._dtype, value._device)
        tensor._requires_grad = value.requires_grad
        return tensor
    if isinstance(value, (tuple, list)) and any(isinstance(each, Tensor) for each in value):
        return [_resolved(each) for each in value]
    return value


def _before_write(target: Tensor) -> Tensor:
    """A copy with the target's history, for formulas that need the value which is about to be overwritten."""
    array = target._elements if target._bits else target._array.copy()
    copy = make_tensor(array, target._dtype, target._device)
    copy._grad_fn, copy._output_nr, copy._requires_grad = target.grad_fn, target._output_nr, target.requires_grad
    return copy


def _restore(xp: Any, result: Any, target: dtype) -> Any:
    """Casts what a kernel computed in float32 on behalf of a two-byte float back to that."""
    if isinstance(result, (tuple, list)):
        return tuple(_restore(xp, each, target) for each in result)
    return promotion.cast(xp, result, target) if result.dtype == "float32" else result


def _ordered(op: Op, xp: Any, args: Sequence[Any], result: Any) -> Any:
    """The results in the order in memory that their op declares."""
    return _row_major(xp, result) if op.row_major else _channels_last(op, xp, args, result)


def _row_major(xp: Any, result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(_row_major(xp, each) for each in result)
    if result.ndim < 2 or (result.flags.c_contiguous and 1 not in result.shape):
        return result
    return laid_out(xp, result, contiguous_format)


def _channels_last(op: Op, xp: Any, args: Sequence[Any], result: Any) -> Any:
    """The results with the channels last, where the arguments whose format counts have them there; else by rows."""
    formats = [suggested_format(args[position]._array) for position in op.format_from]
    format = next((each for each in formats if each is not contiguous_format), None)
    if format is None or format.order is None:
        return _row_major(xp, result)
    rank = len(format.order)
    arrays = result if isinstance(result, (tuple, list)) else (result,)
    moved = tuple(laid_out(xp, each, format) if each.ndim == rank else each for each in arrays)
    return moved if isinstance(result, (tuple, list)) else moved[0]


def _wrap(op: Op, args: Sequence[Any], array: Any, where: device) -> Tensor:
    if op.is_view:
        return make_view(args[0], array)
    if array.__class__ is not where.array_type:
        array = where.xp.asarray(array)
    return make_tensor(array, FROM_NUMPY[array.dtype], where)


def _record(op: Op, args: Sequence[Any], outputs: Sequence[Tensor], mask: int) -> None:
    plan = op.plan(mask, args)
    if not plan.inputs:
        return
    for number in range(1, len(outputs)):
        outputs[number]._output_nr = number  # before the node saves any of them
    node = None
    for output in outputs:
        if output._dtype.category >= FLOATING:
            if node is None:
                node = plan.node(plan, args, outputs)
            output._grad_fn = node
            output._requires_grad = True


def _write(target: Tensor, array: Any, shape: tuple[int, ...]) -> None:
    """Overwrites the elements of `target` with what was computed."""
    target._put(_fitting(target, array, shape))
    target._bump_version()


def _fitting(target: Tensor, array: Any, shape: tuple[int, ...]) -> Any:
    """What was computed, in the dtype of `target`: it must have this shape, and a dtype that can be cast."""
    if array.shape != shape:
        raise errors.does_not_fit(target, array.shape)
    if array.dtype != target._dtype.numpy:
        source = FROM_NUMPY[array.dtype]
        if not can_cast(source, target._dtype):
            raise errors.cannot_cast(source, target._dtype)
        array = array.astype(target._dtype.numpy)
    return array


def function_of(op: Op, with_out: bool) -> Callable[..., Any]:
    """The function and method of an op."""
    positional, required, variadic = op.keyword_only_from, op.required, op.variadic

    def function(*args: Any, **kwargs: Any) -> Any:
        if variadic is not None and len(args) > variadic and not isinstance(args[variadic], (tuple, list)):
            args = (*args[:variadic], args[variadic:])
        if not kwargs and required <= len(args) <= positional:
            return apply_to_two(op, args[0], args[1]) if len(args) == 2 else apply(op, args)
        out = kwargs.pop("out", None) if with_out else None
        bound = op.bind(args, kwargs)
        return apply(op, bound) if out is None else apply_out(op, bound, out)

    return function


def in_place_of(op: Op) -> Callable[..., Any]:
    """The method `name_` of an op."""

    def method(*args: Any, **kwargs: Any) -> Any:
        return apply_in_place(op, op.bind(args, kwargs))

    return method


def operator_of(op: Op, operator: str) -> Callable[..., Any]:
    """A special method: it returns NotImplemented for operands that are neither tensors nor numbers."""
    if op.count == 1:
        return lambda self: apply(op, (self,))
    in_place = operator.startswith("__i")
    reflected = operator.startswith("__r") and operator not in ("__rshift__", "__radd__", "__rmul__")

    def method(self: Tensor, other: Any) -> Any:
        if not isinstance(other, _OPERANDS) and not promotion.is_number(other):
            if operator != "__eq__" or not hasattr(other, "__array__"):
                return NotImplemented
            other = from_numpy(other)  # PyTorch compares so, else it leaves arrays to NumPy
        if in_place:
            return apply_in_place(op, (self, other))
        return apply_to_two(op, other, self) if reflected else apply_to_two(op, self, other)

    return method


_OPERANDS = (Tensor, float, int)
