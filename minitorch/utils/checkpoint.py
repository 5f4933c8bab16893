"""Less memory for more time: a part of the graph that is thrown away after forward, and computed again in backward.

Source: https://pytorch.org/docs/stable/checkpoint.html; Chen et al. 2016, arXiv:1604.06174
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from minitorch import autograd
from minitorch.autograd.engine import count_dependencies
from minitorch.autograd.function import Function
from minitorch.autograd.grad_mode import enable_grad
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.node import AccumulateGrad, gradient_edge
from minitorch.random import default_generator, fork_rng
from minitorch.tensor import Tensor

_REENTRANT = (
    "the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling checkpoint without "
    "use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to preserve the "
    "current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences "
    "between the two variants."
)


class CheckpointFunction(Function):
    """Hands out results that were computed already; its backward computes them again, and differentiates that.

    Its inputs are the function's tensors and the leaves that it uses besides them, such as a module's parameters.
    """

    @staticmethod
    def forward(ctx: Any, run: Callable[..., Any], rng_state: Any, outputs: Any, count: int, *inputs: Tensor) -> Any:
        ctx.run = run
        ctx.rng_state = rng_state
        ctx.count = count
        ctx.save_for_backward(*inputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        if grad_mode.enabled:
            raise NotImplementedError("checkpoint: create_graph=True is not supported")
        needed = ctx.needs_input_grad[4:]
        tensors = ctx.saved_tensors
        args = [each.detach().requires_grad_(needs) for each, needs in zip(tensors[: ctx.count], needed, strict=False)]
        inputs = [*args, *tensors[ctx.count :]]
        with fork_rng(enabled=ctx.rng_state is not None), enable_grad():
            if ctx.rng_state is not None:
                default_generator.set_state_array(ctx.rng_state)
            outputs = ctx.run(args)
        recorded = [pair for pair in zip(_as_tuple(outputs), grads, strict=True) if _is_recorded(pair[0])]
        wanted = [each for each, needs in zip(inputs, needed, strict=True) if needs]
        roots, weights = [each for each, _ in recorded], [each for _, each in recorded]
        results = iter(autograd.grad(roots, wanted, weights, allow_unused=True))
        return (None, None, None, None, *(next(results) if needs else None for needs in needed))


def _as_tuple(outputs: Any) -> tuple[Any, ...]:
    return outputs if isinstance(outputs, tuple) else (outputs,)


def _is_recorded(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _leaves(outputs: Any, besides: Sequence[Tensor]) -> list[Tensor]:
    """The leaves that outputs were computed from."""
    known = {id(each) for each in besides}
    edges = [gradient_edge(each) for each in _as_tuple(outputs) if _is_recorded(each)]
    nodes = count_dependencies([edge[0] for edge in edges if edge is not None])
    return [each.variable for each in nodes if isinstance(each, AccumulateGrad) and id(each.variable) not in known]


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Any = None,
    determinism_check: str = "default",
    debug: bool = False,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, of which only the arguments are kept: backward computes the rest again, with the
    same random numbers unless `preserve_rng_state` is false.

    Tensors count as arguments where they stand in `args` themselves, not in containers. With `use_reentrant=True` there
    can be no keyword arguments (ValueError). Raises NotImplementedError for `context_fn`, `debug` and
    `determinism_check`, and in backward for `create_graph`.
    """
    if use_reentrant is None:
        warnings.warn(f"torch.utils.checkpoint: {_REENTRANT}", stacklevel=2)
        use_reentrant = True
    if kwargs and use_reentrant:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    unsupported = {"context_fn": context_fn, "debug": debug, "determinism_check": determinism_check != "default"}
    for name, value in unsupported.items():
        if value:
            raise NotImplementedError(f"checkpoint: {name} is not supported")
    if use_reentrant and not any(map(_is_recorded, args)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
    if not grad_mode.enabled:
        return function(*args, **kwargs)
    tensors = [each for each in args if isinstance(each, Tensor)]

    def run(replaced: Sequence[Tensor]) -> Any:
        rest = iter(replaced)
        return function(*(next(rest) if isinstance(each, Tensor) else each for each in args), **kwargs)

    rng_state = default_generator.get_state_array() if preserve_rng_state else None
    copies = [each.detach().requires_grad_(each.requires_grad) for each in tensors]
    outputs = run(copies)
    leaves = _leaves(outputs, copies)
    values = tuple(each.detach() if isinstance(each, Tensor) else each for each in _as_tuple(outputs))
    result = CheckpointFunction.apply(
        run, rng_state, values if isinstance(outputs, tuple) else values[0], len(tensors), *tensors, *leaves
    )
    return result


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
) -> Any:
    """The functions, or layers of a Sequential, one after the other: in segments, of which all but the last are
    checkpoints."""
    layers: Sequence[Callable[[Any], Any]] = list(functions)
    size = len(layers) // segments

    def run(part: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
        def forward(value: Any) -> Any:
            for layer in part:
                value = layer(value)
            return value

        return forward

    start = 0
    for _ in range(segments - 1):
        segment = run(layers[start : start + size])
        input = checkpoint(segment, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
        start += size
    return run(layers[start:])(input)
