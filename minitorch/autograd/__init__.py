"""Automatic differentiation: the graph that ops leave behind, and the passes over it.

Source: https://pytorch.org/docs/stable/autograd.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.autograd import engine
from minitorch.autograd.function import Function
from minitorch.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from minitorch.autograd.gradcheck import gradcheck, gradgradcheck
from minitorch.autograd.node import Edge, Node, gradient_edge
from minitorch.tensor import Tensor, make_tensor

__all__ = [
    "Function",
    "Node",
    "backward",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Adds the gradients of `tensors`, weighted by `grad_tensors` and summed, to the `.grad` of the leaves.

    A scalar needs no weight. `retain_graph` (by default `create_graph`) keeps what the nodes saved for a further pass;
    `create_graph` records this pass, so that the gradients can be differentiated; `inputs` restricts the pass to these.
    Raises RuntimeError where no gradient can flow. Source: https://pytorch.org/docs/stable/generated/torch.autograd.backward.html
    """
    roots = _roots(tensors, grad_tensors)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        engine.run(roots, keep, create_graph)
        return
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if not wanted:
        raise RuntimeError("'inputs' argument to backward() cannot be empty.")
    edges = [_edge(each) for each in wanted]
    captured = engine.run(roots, keep, create_graph, frozenset(edges))
    for tensor, edge in zip(wanted, edges, strict=True):
        if not tensor.is_leaf and edge in captured:
            engine.accumulate_grad(tensor, captured[edge], False)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """The gradients of `outputs`, weighted by `grad_outputs` and summed, with respect to `inputs`; no `.grad` changes.

    An input that the outputs don't depend on raises RuntimeError, unless `allow_unused` (its gradient is None) or
    `materialize_grads` (it is zero). Source: https://pytorch.org/docs/stable/generated/torch.autograd.grad.html
    """
    if is_grads_batched:
        raise NotImplementedError("autograd.grad: is_grads_batched is not supported")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if not wanted:
        raise ValueError("grad requires non-empty inputs.")
    roots = _roots(outputs, grad_outputs)
    edges = [_edge(each) for each in wanted]
    keep = create_graph if retain_graph is None else retain_graph
    captured = engine.run(roots, keep, create_graph, frozenset(edges), accumulate_leaves=False)
    results: list[Any] = [captured.get(edge) for edge in edges]
    if not (allow_unused or materialize_grads):
        for number, result in enumerate(results):
            if result is None:
                raise RuntimeError(
                    f"The differentiated Tensor at index {number} appears to not have been used in the graph. Set "
                    "allow_unused=True if this is the desired behavior."
                )
    if materialize_grads:
        results = [
            each.new_zeros(each.shape) if grad is None else grad for each, grad in zip(wanted, results, strict=True)
        ]
    return tuple(results)


def _edge(tensor: Tensor) -> Edge:
    edge = gradient_edge(tensor)
    if edge is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edge


def _roots(tensors: Any, grad_tensors: Any) -> list[tuple[Edge, Tensor]]:
    outputs = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    weights = [grad_tensors] * len(outputs) if grad_tensors is None else grad_tensors
    weights = [weights] if isinstance(weights, Tensor) else list(weights)
    if len(weights) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(weights)} gradients")
    roots = []
    for number, (output, weight) in enumerate(zip(outputs, weights, strict=True)):
        edge = gradient_edge(output)
        if weight is None:
            if output.requires_grad and output.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            ones = output._device.xp.ones(output._array.shape, output._dtype.numpy)
            weight = make_tensor(ones, output._dtype, output._device)
        elif weight.shape != output.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{number}] has a shape of {weight.shape} and output[{number}] has "
                "a shape of "
                f"{output.shape}."
            )
        if edge is None:
            raise RuntimeError(f"element {number} of tensors does not require grad and does not have a grad_fn")
        roots.append((edge, weight))
    return roots
