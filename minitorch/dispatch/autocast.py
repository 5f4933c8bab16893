"""Autocast: the precision in which ops compute where it is switched on.

Few ops take part. `applied` wraps them when they are declared, so that the others know nothing of it, and these ask
one question more. Inside such an op autocast is off: it has decided for all that the op is made of.
Source: https://pytorch.org/docs/stable/amp.html#autocast-op-reference
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from minitorch.autograd import node as nodes
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.dispatch import layers
from minitorch.dtypes import bfloat16, dtype, float16, float32, float64
from minitorch.tensor import Tensor

if TYPE_CHECKING:
    from minitorch.dispatch.op import Op

DTYPES = {
    "cpu": bfloat16, "cuda": float16, "xpu": float16, "mps": float16, "ipu": float16, "mtia": float16,
    "privateuseone": float16, "hpu": bfloat16, "xla": bfloat16, "maia": bfloat16,
}  # fmt: skip
"""The device types that have autocast, and the lower precision of each, unless it is set."""


class Autocast(threading.local):
    """The switches of one thread."""

    enabled: frozenset[str] = frozenset()
    cache_enabled = True
    nesting = 0

    def __init__(self) -> None:
        self.dtypes = dict(DTYPES)
        self.cache: dict[tuple[int, bool], tuple[Tensor, Tensor]] = {}


state = Autocast()

Policy = Callable[[list[Tensor], dtype, tuple[Any, ...], dict[str, Any]], dtype | None]
"""The dtype that arguments are cast to, of an op's tensors, the lower precision, and its arguments."""


def _nothing(tensors: list[Tensor], lower: dtype, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The policy of ops that take part on another device only."""


def _lower(tensors: list[Tensor], lower: dtype, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dtype:
    return lower


def _float32(tensors: list[Tensor], lower: dtype, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dtype:
    return float32


def _widest(tensors: list[Tensor], lower: dtype, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dtype:
    widest = lower
    for each in tensors:
        if float32 in (widest, each._dtype):
            widest = float32
        elif each._dtype is not lower:
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return widest


def _float32_at_the_border(
    tensors: list[Tensor], lower: dtype, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dtype | None:
    """Of the paddings, the reflecting one of at most two dimensions and the replicating one."""
    options = dict(zip(("input", "pad", "mode"), args, strict=False)) | kwargs
    mode = options.get("mode", "constant")
    return float32 if mode == "replicate" or (mode == "reflect" and len(options["pad"]) <= 4) else None


def _float32_results(tensors: list[Tensor], lower: dtype, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """For ops that take a `dtype`, which `_run` then gives them: the arguments stay as they are."""


def _float32_unless_averaged(
    tensors: list[Tensor], lower: dtype, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dtype | None:
    """Of the ways to resize images, those that aren't averages of pixels or newer than the list."""
    mode = args[3] if len(args) > 3 else kwargs.get("mode")
    return None if mode in ("area", "lanczos") else float32


def _refused(tensors: list[Tensor], lower: dtype, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dtype:
    raise RuntimeError(
        "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
        "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
        "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
        "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
        "safe to autocast."
    )


POLICIES: dict[str, Policy] = {
    "": _nothing,
    "lower": _lower,
    "float32": _float32,
    "float32 at the border": _float32_at_the_border,
    "float32 results": _float32_results,
    "float32 unless averaged": _float32_unless_averaged,
    "refused": _refused,
    "widest": _widest,
}
"""How ops take part: their option `autocast`, after the lists of the CPU in PyTorch, and `autocast_on_gpu`.

Source: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/autocast_mode.cpp
"""


Casts = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""Calls a function with arguments that are cast as autocast wants them, where it is on for their device."""


def casts_of(policy_name: str, on_gpu: str | None, parameters: Sequence[str]) -> Casts | None:
    """How a function with these parameters takes part in autocast; None if it doesn't.

    `on_gpu` is the policy on GPUs; None if it is the same.
    """
    if not policy_name and not on_gpu:
        return None
    policy = POLICIES[policy_name]
    policies = {"cuda": policy if on_gpu is None else POLICIES[on_gpu]}

    def call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        device = next((each._device.type for each in _tensors((args, *kwargs.values())) if _is_floating(each)), "")
        chosen = policies.get(device, policy)
        if chosen is _nothing:
            return function(*args, **kwargs)
        if chosen is _float32_results:
            args, kwargs = _with_float32_results(parameters, args, kwargs)
        return _run(function, chosen, args, kwargs)

    return call


def applied(
    function: Callable[..., Any], policy_name: str, on_gpu: str | None = None, parameters: Sequence[str] = ()
) -> Callable[..., Any]:
    """A function with casts around it if it takes part in autocast. `parameters` overrides the names of its own."""
    casts = casts_of(policy_name, on_gpu, parameters or tuple(inspect.signature(function).parameters))
    if casts is None:
        return function

    @functools.wraps(function)
    def autocast(*args: Any, **kwargs: Any) -> Any:
        if not state.enabled or kwargs.get("out") is not None:
            return function(*args, **kwargs)
        return casts(function, args, kwargs)

    if policy_name:
        autocast.autocast = policy_name  # type: ignore[attr-defined]
    return autocast


def on_gpu(apply: Callable[..., Any], op: Op, args: tuple[Any, ...]) -> Any:
    """Runs an op that takes part in autocast on GPUs alone. `apply` calls this only while a GPU is in use."""
    policy = POLICIES[op.devices.autocast_on_gpu]
    args = (*args, *op.schema.defaults_from[len(args)])
    if not any(each._device.type == "cuda" for each in _tensors(args)):
        policy = _nothing
    if policy is _float32_results:
        args, _ = _with_float32_results(op.schema.parameters, args, {})
    return _run(lambda *args: apply(op, args), policy, args, {})


def _with_float32_results(names: Sequence[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments with `dtype=float32`, if no dtype is given and the first one is a floating point tensor."""
    place = names.index("dtype")
    given = args[place] if len(args) > place else kwargs.get("dtype")
    if given is not None or not (isinstance(args[0], Tensor) and _is_eligible(args[0])):
        return args, kwargs
    if len(args) > place:
        return (*args[:place], float32, *args[place + 1 :]), kwargs
    return args, {**kwargs, "dtype": float32}


def _run(function: Callable[..., Any], policy: Policy, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    eligible = [each for each in _tensors((args, *kwargs.values())) if _is_eligible(each)]
    target = policy(eligible, state.dtypes[eligible[0]._device.type], args, kwargs) if eligible else None
    if target is not None:
        args = _cast(args, target)
        kwargs = {name: _cast(value, target) for name, value in kwargs.items()}
    with switched_off():
        result = function(*args, **kwargs)
    return result


def lower(tensor: Tensor) -> dtype | None:
    """The type in which a product of this tensor comes out, if autocast casts it."""
    return state.dtypes[tensor._device.type] if _is_eligible(tensor) else None


def one_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function of several ops one kernel, as it is in PyTorch: autocast casts nothing in its backward pass."""

    @functools.wraps(function)
    def whole(*args: Any, **kwargs: Any) -> Any:
        if not grad_mode.enabled:
            return function(*args, **kwargs)
        with layers.pushed(_recorded_without_casts):
            return function(*args, **kwargs)

    return whole


def _recorded_without_casts(op: Op, args: Sequence[Any], below: layers.Below) -> Any:
    """The layer: makes the nodes that are recorded run without autocast."""
    result = below(op, args)
    for each in _tensors(result):
        node = each._grad_fn
        if node is not None and "apply" not in vars(type(node)):
            kind: Any = type(node)  # classes can be hashed, which mypy doubts of their type
            node.__class__ = _uncast(kind)
    return result


@functools.cache
def _uncast(kind: type[nodes.Node]) -> type[nodes.Node]:
    """The subclass of a class of nodes whose instances run without autocast."""

    def apply(self: nodes.Node, grads: nodes.Gradients) -> nodes.Gradients:
        if not state.enabled:
            return kind.apply(self, grads)
        with switched_off():
            return kind.apply(self, grads)

    return type(kind.__name__, (kind,), {"__slots__": (), "__module__": kind.__module__, "apply": apply})


@contextlib.contextmanager
def switched_off() -> Iterator[None]:
    """Autocast has decided, or has nothing to decide, for the ops inside."""
    enabled, state.enabled = state.enabled, frozenset()
    try:
        yield
    finally:
        state.enabled = enabled


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _tensors(each)


def _is_floating(tensor: Tensor) -> bool:
    return tensor._dtype.is_floating_point and tensor._device.type in state.enabled


def _is_eligible(tensor: Tensor) -> bool:
    return _is_floating(tensor) and tensor._dtype is not float64


def _cast(value: Any, target: dtype) -> Any:
    if isinstance(value, Tensor):
        return _cached(value, target) if value._dtype is not target and _is_eligible(value) else value
    if type(value) in (tuple, list):
        return type(value)(_cast(each, target) for each in value)
    if isinstance(value, dict):
        return {name: _cast(each, target) for name, each in value.items()}
    return value


def _cached(tensor: Tensor, target: dtype) -> Tensor:
    """The tensor in the target's precision. A weight is cast once, until autocast ends."""
    lowered = tensor._dtype is float32 and target is state.dtypes[tensor._device.type]
    if not (lowered and state.cache_enabled and tensor._base is None and tensor.requires_grad and tensor.is_leaf):
        return tensor.to(target)
    key = (id(tensor), grad_mode.enabled)  # what was cast without a graph must not serve where one is recorded
    if key not in state.cache:
        state.cache[key] = tensor, tensor.to(target)  # holding the tensor keeps its id its own
    return state.cache[key][1]
