"""The one place where ops run.

`apply` does for every op, in this order, what no kernel does itself: it reads the arguments' arrays, promotes their
types and runs the kernel (`compute`), gives the results their order in memory, wraps them (as views where they are
views), and records the node that will run the derivatives. `apply_in_place` and `apply_out` add writing, version
counting and the rewriting of history.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.arrays import gpus
from minitorch.arrays.quiet import NOISE, quiet, quietly
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.inplace import check_writable, rebase_history
from minitorch.autograd.views import INFERENCE, MULTIPLE
from minitorch.devices import cpu, device
from minitorch.dispatch import autocast, errors, layers, overriding, promotion
from minitorch.dispatch.arguments import with_numbers, wrong_argument
from minitorch.dispatch.common_device import at_least_two, common_device
from minitorch.dispatch.compute import FAILURES, compute, explained, with_dense
from minitorch.dispatch.op import COMPUTES, COMPUTES_FLOATS, Op
from minitorch.dispatch.out_types import check_out_type, in_type_of
from minitorch.dispatch.overlap import check_sources, check_target, check_write, tensors_in
from minitorch.dtypes import FLOATING, FROM_NUMPY, can_cast
from minitorch.interop import from_numpy
from minitorch.size import checked_ints
from minitorch.tensor import Tensor, make_tensor, make_view

# Infinities and NaN are results. A filter takes less time than `quiet`, and concerns this package's kernels alone.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minitorch\.")


def apply(op: Op, args: Sequence[Any]) -> Any:
    """Runs an op and records it where a gradient is needed.

    The arguments come in the order of the signature; those omitted at the end have their defaults.
    """
    first, count, result = args[0], len(args), None
    if gpus.in_use:
        if op.devices.autocast_on_gpu and autocast.state.enabled:
            return autocast.on_gpu(apply, op, tuple(args))
        if elsewhere := gpus.elsewhere(args):
            with elsewhere:
                return apply(op, args)
    if layers.count and layers.stack.layers:
        return layers.call(apply, op, args)
    if op.leading and isinstance(first, Tensor) and not first._bits and first._dtype in op.computes_in:
        # Most small ops have one tensor, or two of one type, that need nothing else. Hence these lines are no function.
        where = first._device
        mask = 1 if first._requires_grad or (first._base is not None and first._base._requires_grad) else 0
        try:
            if op.leading == 1:
                if op.memory.is_view and not first._array.size:
                    first.untyped_storage()  # which settles where it is: the view begins there
                result = op.kernel(where.xp, first._array, *args[1:])
            elif count > 1:
                other, operand = args[1], None
                if isinstance(other, Tensor):
                    if other._dtype is first._dtype and other._device is where and not other._bits:
                        operand = other._array
                        if other._requires_grad or (other._base is not None and other._base._requires_grad):
                            mask |= 2
                elif op.is_binary and (other.__class__ is float or other.__class__ is int) and first._dtype.is_native:
                    operand = other
                if operand is not None:
                    if count == 2:
                        result = op.kernel(where.xp, first._array, operand)
                    else:
                        result = op.kernel(where.xp, first._array, operand, *args[2:])
        except FAILURES as error:
            raise explained(op, args, error) from None
        except MemoryError as error:
            raise gpus.out_of_memory(error) from None
        except NOISE:
            with quiet():
                result, where, mask = compute(op, args, None, True)
    if result is None:
        if op.takes_sparse:
            args = with_dense(args)
        result, where, mask = compute(op, args)
    if result.__class__ is not where.array_type:
        if result.__class__ is tuple or result.__class__ is list:
            return _several(op, args, result, where, mask)
        result = where.xp.asarray(result)
    if op.memory.is_view:
        output = make_view(first, result)
    else:
        if result.ndim > 1 and op.memory.order is not None:
            result = op.memory.order(op, where.xp, args, result)
        output = make_tensor(result, FROM_NUMPY[result.dtype], where)
    if mask and grad_mode.enabled:
        record(op, args, (output,), mask)
    return output


def _several(op: Op, args: Sequence[Any], results: Sequence[Any], where: device, mask: int) -> Any:
    """The results of an op that has several, wrapped and recorded."""
    outputs = []
    for array in results:
        if op.memory.is_view:
            view = make_view(args[0], array)
            if grad_mode.enabled and view._base is not None and view._view_made != INFERENCE:
                view._view_made = MULTIPLE
            outputs.append(view)
        else:
            array = _ordered(op, where, args, array)
            outputs.append(make_tensor(array, FROM_NUMPY[array.dtype], where))
    if mask and grad_mode.enabled:
        record(op, args, outputs, mask)
    return tuple(outputs) if op.outputs is None else op.outputs(*outputs)


def _ordered(op: Op, where: device, args: Sequence[Any], array: Any) -> Any:
    """A result as an array, whose elements lie in memory in the order that the op declares."""
    if array.__class__ is not where.array_type:
        array = where.xp.asarray(array)
    return array if op.memory.order is None or array.ndim < 2 else op.memory.order(op, where.xp, args, array)


def record(op: Op, args: Sequence[Any], outputs: Sequence[Tensor], mask: int) -> None:
    """Makes a node the history of the outputs, where the inputs in the bit set `mask` need gradients."""
    if len(args) < op.schema.count:
        args = (*args, *op.schema.defaults_from[len(args)])
    plan = op.recording.plans.get(mask) or op.recording.plan(op, mask, args)
    if not plan.inputs:
        return
    if len(outputs) > 1:
        for number, output in enumerate(outputs):
            output._output_nr = number  # before the node saves any of them
    node = None
    for output in outputs:
        if output._dtype.category >= FLOATING:
            if node is None:
                node = plan.node(plan, args, outputs)
            output._grad_fn = node
            output._requires_grad = True


def apply_in_place(op: Op, args: Sequence[Any]) -> Any:
    """Runs an op and writes its result into the first argument, which keeps its memory, shape and dtype."""
    if gpus.in_use and (elsewhere := gpus.elsewhere(args)):
        with elsewhere:
            return apply_in_place(op, args)
    if layers.count and layers.stack.layers:
        return layers.call(apply_in_place, op, args)
    if len(args) < op.schema.count:
        args = (*args, *op.schema.defaults_from[len(args)])
    if op.takes_sparse:
        args = with_dense(args)
    target = args[0]
    if not isinstance(target, Tensor):
        raise errors.not_a_tensor(op, 0, target)
    check_writable(target, args)
    before = None
    if op.writes.edits and grad_mode.enabled:
        for each in tensors_in(args):
            _ = each.grad_fn  # raises for a view that may not be used any more, before anything is written
        before = _before_write(target) if op.recording.saves_self else None
    if op.writes.edits or target._storage is not None or 0 in target._array.strides:
        check_write(op, args)
    array, _, mask = compute(op, args, target)
    node = None
    if mask and grad_mode.enabled and target._dtype.is_differentiable:
        plan = op.recording.plan(op, mask, args)
        if plan.saves(0):
            args = [_before_write(target) if before is None else before, *args[1:]]
        if plan.inputs:
            node = plan.node(plan, args, ())  # before the write, since the arguments are saved as they were
    if op.writes.edits and not target._bits:
        target._bump_version()
    else:
        if array.shape != target._array.shape and not op.memory.elementwise:
            raise RuntimeError(
                f"Bad in-place call: input tensor size {list(target.shape)} and output tensor size {list(array.shape)} "
                "should match"
            )
        _write(target, array, target._array.shape)
    if node is not None:
        node.save_results((target,))
        rebase_history(target, node)
    return target


def apply_out(op: Op, args: Sequence[Any], out: Any) -> Any:
    """Runs an op and writes its results into `out`, which is resized to fit."""
    if gpus.in_use and (elsewhere := gpus.elsewhere((*args, out))):
        with elsewhere:
            return apply_out(op, args, out)
    if layers.count and layers.stack.layers:
        return layers.call(lambda op, args: apply_out(op, args, out), op, args)
    if grad_mode.enabled and any(each.requires_grad for each in tensors_in((*args, out))):
        raise RuntimeError(
            f"{op.name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    if op.takes_sparse:
        args = with_dense(args)
    if op.writes.out_type in (COMPUTES, COMPUTES_FLOATS):
        args = in_type_of(out, op, args)
    computed, where, _ = compute(op, args)
    several = isinstance(computed, (tuple, list))
    arrays = [_ordered(op, where, args, each) for each in (computed if several else (computed,))]
    for target, array in zip(errors.check_out(op.name, out, len(arrays) if several else 0), arrays, strict=True):
        if target._device is not where:
            raise at_least_two(common_device(op, args, target), where)
        check_writable(target)
        check_target(target._array)
        check_sources(op, target, args)
        resized = target._array.shape != array.shape
        if resized and op.memory.elementwise and any(each is target for each in args):
            raise errors.does_not_fit(target, array.shape)
        check_out_type(op.writes.out_type, op.name, target, array)
        if not can_cast(FROM_NUMPY[array.dtype], target._dtype):
            raise errors.cannot_cast(FROM_NUMPY[array.dtype], target._dtype)
        if resized:
            target._resize_output(array)
            check_sources(op, target, args)
        _write(target, array, array.shape)
    return out if op.outputs is None else op.outputs(*out)


def write_out(name: str, out: Any, result: Any, out_type: str = "") -> Any:
    """Writes what a function computed into the tensor, or the tensors, given as `out=`, which are resized to fit.

    `out_type` says what another dtype of `out` means, as in `declare`.
    """
    results, several = (result, len(result)) if isinstance(result, tuple) else ((result,), 0)
    for target, each in zip(errors.check_out(name, out, several), results, strict=True):
        if grad_mode.enabled and (target.requires_grad or each.requires_grad):
            raise RuntimeError(
                f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                "arguments requires grad."
            )
        check_writable(target)
        check_target(target._array)
        check_out_type(out_type, name, target, each._array)
        if target._device is not each._device:
            raise at_least_two(*sorted((target._device, each._device), key=lambda device: device is cpu))
        if target._array.shape != each._array.shape:
            target._resize_output(each._array)
        _write(target, each._elements, each._array.shape)
    return type(result)(*out) if several else out


def _before_write(target: Tensor) -> Tensor:
    """A copy with the target's history, for formulas that need the value which is about to be overwritten."""
    array = target._elements if target._bits else target._array.copy()
    copy = make_tensor(array, target._dtype, target._device)
    copy._grad_fn, copy._output_nr, copy._requires_grad = target.grad_fn, target._output_nr, target.requires_grad
    return copy


def _write(target: Tensor, array: Any, shape: tuple[int, ...]) -> None:
    """Overwrites the elements of `target` with what was computed."""
    target._put(_fitting(target, array, shape))
    target._bump_version()


def _fitting(target: Tensor, array: Any, shape: tuple[int, ...]) -> Any:
    """The computed array in the dtype of `target`. Raises RuntimeError unless it has this shape and can be cast."""
    if array.shape != shape:
        raise errors.does_not_fit(target, array.shape)
    if array.dtype != target._dtype.numpy:
        source = FROM_NUMPY[array.dtype]
        if not can_cast(source, target._dtype):
            raise errors.cannot_cast(source, target._dtype)
        array = quietly(array.astype, target._dtype.numpy)
    return array


REFUSALS = (AttributeError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError)
"""What a call raises if an op can't take its arguments."""


def function_of(op: Op, with_out: bool) -> Callable[..., Any]:
    """The function and method of an op."""
    unchecked, required, variadic, ints = op.schema.unchecked, op.schema.required, op.schema.variadic, op.schema.ints

    def function(*args: Any, **kwargs: Any) -> Any:
        out = None
        try:
            if variadic is not None and len(args) > variadic:
                args = (
                    *args[:variadic],
                    checked_ints(op.name, args[variadic:], variadic, op.schema.parameters[variadic]),
                )
            if not kwargs and required <= len(args) <= unchecked and not (ints and bool in map(type, args)):
                return apply(op, args)
            out = kwargs.pop("out", None) if with_out else None
            bound = op.schema.bind(args, kwargs)
            return apply(op, bound) if out is None else apply_out(op, bound, out)
        except REFUSALS as error:
            if (result := overriding.handle_refused(error, op.functions["apply"], args, kwargs)) is not NotImplemented:
                return result
            if (plain := with_numbers(op, args, kwargs)) is not None:
                return function(*plain[0], **plain[1], **({} if out is None else {"out": out}))
            if (wrong := wrong_argument(op, args, kwargs)) is not None:
                raise wrong from None
            raise

    return function


def in_place_of(op: Op) -> Callable[..., Any]:
    """The method `name_` of an op."""
    unchecked, required, ints = op.schema.unchecked, op.schema.required, op.schema.ints

    def method(*args: Any, **kwargs: Any) -> Any:
        try:
            if not kwargs and required <= len(args) <= unchecked and not (ints and bool in map(type, args)):
                return apply_in_place(op, args)
            return apply_in_place(op, op.schema.bind(args, kwargs))
        except REFUSALS:
            if (plain := with_numbers(op, args, kwargs)) is not None:
                return method(*plain[0], **plain[1])
            if (wrong := wrong_argument(op, args, kwargs, in_place=True)) is None:
                raise
            raise wrong from None

    return method


def operator_of(op: Op, operator: str) -> Callable[..., Any]:
    """A special method: it returns NotImplemented for operands that are neither tensors nor numbers."""
    if op.schema.count == 1:
        return lambda self: apply(op, (self,))
    run = apply_in_place if operator.startswith("__i") else apply
    reflected = operator.startswith("__r") and operator not in ("__rshift__", "__radd__", "__rmul__")

    def method(self: Tensor, other: Any) -> Any:
        if other.__class__ is not Tensor and not isinstance(other, _OPERANDS) and not promotion.is_number(other):
            if operator == "__eq__" and hasattr(other, "__array__"):
                other = from_numpy(other)  # PyTorch compares with arrays; other operators are NumPy's
            elif not (op.takes_sparse and getattr(other, "is_sparse", False)):
                return NotImplemented
        return run(op, (other, self) if reflected else (self, other))

    return method


_OPERANDS = (Tensor, float, int)
