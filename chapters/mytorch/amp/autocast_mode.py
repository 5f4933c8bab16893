"""autocast: operations choose their precision, by lists, in a layer that the first block puts into the stack."""

# 22 · Mixed precision
from __future__ import annotations

from contextlib import ContextDecorator
from threading import local
from typing import Any

from .. import Tensor, bfloat16, dtype, float16, float32, float64
from ..autograd.node import Mode
from ..dispatch import Function, Operation, fill, tensors_in
from ..graph import replace

LOWER = {"cpu": bfloat16, "cuda": float16}
"""The lower precision of each type of device, where none is named."""


def lower(tensors: list[Tensor], precision: dtype) -> dtype:
    """The lower precision: for products, which gain most by it."""
    return precision


def full(tensors: list[Tensor], precision: dtype) -> dtype:
    """float32: for what adds many numbers up, or leaves the range of 16 bits."""
    return float32


def widest(tensors: list[Tensor], precision: dtype) -> dtype:
    """float32 if one of the tensors has it, otherwise the lower precision: for what joins tensors."""
    types = {each.dtype for each in tensors}
    if types - {float32, precision}:
        raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return float32 if float32 in types else precision


PRODUCTS = ("matmul", "linear", "conv2d", "conv_transpose2d", "scaled_dot_product_attention")
LOSSES = ("mse_loss", "l1_loss", "nll_loss", "cross_entropy", "binary_cross_entropy_with_logits")
FULL_ON_CUDA = {"exp", "log", "log1p", "pow", "reciprocal", "rsqrt"}
FULL_ON_CUDA |= {"sum", "cumsum", "softmax", "log_softmax", "layer_norm"}
LISTS: dict[str, dict[str, Function]] = {
    "cpu": dict.fromkeys(PRODUCTS, lower)
    | dict.fromkeys((*LOSSES, "prod"), full)
    | dict.fromkeys(("cat", "stack"), widest),
    "cuda": dict.fromkeys(PRODUCTS, lower) | dict.fromkeys((*LOSSES, "prod", *FULL_ON_CUDA), full),
}
"""What an operation's tensors are cast to, if anything: https://docs.pytorch.org/docs/stable/amp.html"""


class ThreadState(local):
    """One thread's: the device types where autocast is on, with their lower precision, and the weights it has cast."""

    def __init__(self) -> None:
        self.on: dict[str, dtype] = {}
        self.outer: list[dict[str, dtype]] = []  # what was on outside of each block that is open
        self.cast_weights: dict[tuple[int, dtype, bool], tuple[Tensor, Tensor]] = {}


State = ThreadState()


def cast_as_listed(op: Operation, args: tuple[Any, ...], below: Function) -> Any:
    """The layer: cast the tensors among the arguments as the list of their device says, and go on without autocast."""
    tensors = [each for each in tensors_in(args) if may_be_cast(each)]
    if not tensors:
        return below(op, args)
    kind = tensors[0].device.type
    if rule := LISTS[kind].get(op.__name__):
        target = rule(tensors, State.on[kind])
        args = replace(args, lambda each: cast(each, target))
    with autocast(kind, enabled=False):
        return below(op, args)


def may_be_cast(x: Any) -> bool:
    """Whether this is a floating-point tensor, but not of float64, on a device where autocast is on."""
    return isinstance(x, Tensor) and x.device.type in State.on and x.is_floating_point() and x.dtype is not float64


def cast(x: Any, target: dtype) -> Any:
    """What may be cast in the target's precision, a weight as the same copy until autocast ends; the rest as it is."""
    if not may_be_cast(x) or x.dtype is target:
        return x
    if x.dtype is not float32 or not (x.is_leaf and x.requires_grad):
        return x.to(target)
    key = id(x), target, Mode.enabled  # a copy that was made without a graph has no path back to its weight
    if key not in State.cast_weights:
        State.cast_weights[key] = x, x.to(target)  # x itself, too: as long as it lives, nothing else has its id
    return State.cast_weights[key][1]


class autocast(ContextDecorator):
    """Inside, operations on this type of device choose their precision: `with autocast("cpu"): ...`, or a decorator."""

    def __init__(self, device_type: str, dtype: dtype | None = None, enabled: bool = True) -> None:
        if device_type not in LISTS:
            raise RuntimeError("unsupported scalarType")
        self.device_type, self.enabled = device_type, enabled
        self.precision = LOWER[device_type] if dtype is None else dtype

    def __enter__(self) -> autocast:
        """Begin a block: remember what was on outside, then switch this type of device on or off."""
        State.outer.append(State.on)
        State.on = {kind: precision for kind, precision in State.on.items() if kind != self.device_type}
        if self.enabled:
            State.on[self.device_type] = self.precision
            fill("autocast", cast_as_listed)
        return self

    def __exit__(self, *error: object) -> None:
        """End the innermost block: what was on outside is on again. The outermost one forgets the cast weights."""
        State.on = State.outer.pop()
        if not State.outer:
            State.cast_weights.clear()
