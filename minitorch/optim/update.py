"""What the updates are written with: one formula, which overwrites arrays or is recorded on tensors.

A formula says `x -= lr * g` of what `blocks` gives it: arrays, so that a step is fast, or with `differentiable=True`
tensors, so that it is in the graph. What else it calls is in `functions_for`: NumPy's or minitorch's `sqrt`.
Source: https://pytorch.org/docs/stable/optim.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import minitorch
from minitorch.arrays import gpus
from minitorch.arrays.blocks import blocks_of
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.devices import cpu
from minitorch.dtypes import float32, float64, get_default_dtype
from minitorch.ops.views.complex import view_as_real
from minitorch.tensor import Tensor, make_tensor

Group = dict[str, Any]
"""Parameters and their options."""

LIVE = 4
"""The arrays that an update reads and writes: a block of each stays in the second-level cache."""


def blocks(parameter: Tensor, *others: Tensor) -> Iterator[tuple[Any, ...]]:
    """What a formula overwrites and reads: `elements`, in pieces that fit in the cache together.

    So an update of several passes reads memory once. On a GPU, where memory is not contiguous, and while ops are
    recorded, there is one piece.
    """
    for whole in elements(parameter, *others):
        if grad_mode.enabled:
            yield whole
        else:
            yield from map(tuple, blocks_of(parameter.device.xp, *whole, live=LIVE))


def elements(parameter: Tensor, *others: Tensor) -> Iterator[tuple[Any, ...]]:
    """The elements of tensors of one shape, the parameter first: one tuple, after whose use the step is complete.

    While ops are recorded that is the tensors themselves, else it is arrays. Complex numbers come as pairs of real
    ones.
    """
    if grad_mode.enabled:
        yield tuple(map(as_real, (parameter, *others)))
        return
    value = parameter._elements
    arrays = (value, *[each._elements for each in others])
    if value.dtype.kind == "c":
        arrays = tuple(each[..., None].view(each.real.dtype) for each in arrays)
    elif not value.ndim:  # NumPy makes numbers of what is computed from it
        arrays = tuple(each.reshape(1) for each in arrays)
    if gpus.in_use and (elsewhere := gpus.elsewhere([parameter])):
        with elsewhere:  # the formula runs before it ends
            yield arrays
    else:
        yield arrays
    if parameter._bits:
        parameter._put(value)
    parameter._bump_version()


def as_real(tensor: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones, in the same memory; other tensors as they are."""
    return view_as_real(tensor) if tensor.is_complex() else tensor


class _Recorded:
    """minitorch's functions on tensors, which are recorded, also where `out` is given."""

    def __getattr__(self, name: str) -> Callable[..., Tensor]:
        def function(*args: Any, out: Tensor | None = None) -> Tensor:
            result: Tensor = getattr(minitorch, name)(*args)
            return result if out is None else out.copy_(result)

        return function


def functions_for(parameter: Tensor) -> Any:
    """Where a formula finds the functions that it calls on what `blocks` gives."""
    return _Recorded() if grad_mode.enabled else parameter.device.xp


def number(value: Any) -> Any:
    """An option as formulas take it: a Python number, or while ops are recorded, a tensor without dimensions."""
    if isinstance(value, tuple):
        return tuple(map(number, value))
    if not isinstance(value, Tensor) or value.numel() != 1:
        return value
    return to_scalar(value) if grad_mode.enabled else value.item()


_PLAIN = frozenset({bool, float, int, list, type(None)})


def with_numbers(group: Group) -> Group:
    """A group with its options as formulas take them."""
    return {name: value if type(value) in _PLAIN else number(value) for name, value in group.items()}


def to_scalar(value: Any) -> Any:
    """A tensor of one element without its dimensions; anything else as it is."""
    return value.squeeze() if isinstance(value, Tensor) and value.dim() else value


def constant(value: Any) -> Any:
    """What is never differentiated: the number in a tensor of one element; anything else as it is."""
    return value.item() if isinstance(value, Tensor) else value


def detached(value: Any) -> Any:
    """An array as it is, a tensor without its history: a constant to the graph."""
    return value.detach() if isinstance(value, Tensor) else value


# State


def zeros_like(parameter: Tensor, value: complex = 0) -> Tensor:
    """State of a parameter: a tensor of its shape, strides, dtype and device, filled with a number."""
    array = parameter.device.xp.full_like(parameter._array, value)
    return make_tensor(array, parameter.dtype, parameter.device)


def scalar(group: Group, parameter: Tensor, value: float) -> Tensor:
    """State that is one number: a 0-dim tensor, float64 where that is the default dtype, else float32.

    It is on the CPU, but with `capturable` or `fused` on the parameter's device. `fused` also makes it float32.
    """
    fused = group.get("fused")
    where = parameter.device if fused or group.get("capturable") else cpu
    kind = float64 if get_default_dtype() is float64 and not fused else float32
    return make_tensor(where.xp.full((), value, kind.numpy), kind, where)


def started(state: dict[str, Any], group: Group, parameter: Tensor, *zeros: str, **scalars: float) -> dict[str, Any]:
    """The state of a parameter: at first a count of steps, other numbers, and tensors of zeros."""
    if not state:
        state.update({name: scalar(group, parameter, value) for name, value in {"step": 0, **scalars}.items()})
        state.update({name: zeros_like(parameter) for name in zeros})
    return state


def counted(group: Group, state: dict[str, Any]) -> float:
    """Counts a step in `state["step"]` and returns its number. Raises AssertionError for `capturable` on the CPU."""
    step = state["step"]
    if group.get("capturable") and not group.get("fused") and not step.is_cuda:
        raise AssertionError("If capturable=True, params and state_steps must be on a GPU.")
    if step.device is not cpu:
        return float(step.add_(1))
    array = step._array
    array += 1
    return float(array)


# Options


def stated(arguments: dict[str, Any], names: str) -> Group:
    """The arguments of a constructor that are options, in the order in which they are shown."""
    return {name: arguments[name] for name in names.split()}


_WORDS = {"lr": "learning rate", "eps": "epsilon value"}


def check_options(**options: Any) -> None:
    """Raises ValueError for a negative option, for betas outside [0, 1), for a tensor `lr` of several elements."""
    for name, value in options.items():
        if name == "betas":
            for index in (0, 1):
                if not 0.0 <= value[index] < 1.0:
                    raise ValueError(f"Invalid beta parameter at index {index}: {value[index]}")
            continue
        if name == "lr":
            check_one_element(value)
        check_at_least(0.0, value, f"Invalid {_WORDS.get(name, name + ' value')}: ")


def check_at_least(least: float, value: Any, words: str) -> None:
    """Raises ValueError for a number below `least` and for NaN, TypeError for what can't be compared with it."""
    if not least <= value:
        raise ValueError(f"{words}{value}")


def check_one_element(lr: Any) -> None:
    """Raises ValueError for a tensor `lr` of several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_fused(options: dict[str, Any]) -> None:
    """Raises RuntimeError where `fused` meets what excludes it. It is a hint about speed, and so is `foreach`:

    neither changes a number here.
    """
    if options["fused"] and options["differentiable"]:
        raise RuntimeError("`fused` does not support `differentiable`")
    if options["fused"] and options["foreach"]:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_fused_type(parameter: Tensor) -> None:
    """Raises RuntimeError for a parameter that is not of real numbers: for `fused`."""
    if not parameter.is_floating_point():
        raise RuntimeError(f"`fused=True` requires all the params to be floating point Tensors, not {parameter.dtype}")
