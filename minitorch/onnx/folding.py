"""What a trace can do without: calls whose results nobody uses, and batch norms behind a convolution or a layer."""

from __future__ import annotations

from typing import Any

from minitorch.onnx.tracing import Trace, TracedCall, TracedValue, values_in
from minitorch.tensor import Tensor


def drop_unused(trace: Trace) -> None:
    """Take out the calls that the outputs don't need."""
    needed = set(values_in(trace.outputs))
    kept = []
    for call in reversed(trace.calls):
        if needed.intersection(call.outputs):
            kept.append(call)
            needed.update(values_in(call.args))
    trace.calls = kept[::-1]


def fold_batch_norms(trace: Trace) -> None:
    """Take out each batch norm in evaluation that only normalizes a convolution: it is a scale and shift per channel.

    The convolution gets another weight and bias. A value that somebody else uses, too, is left alone.
    """
    makers = {value: call for call in trace.calls for value in call.outputs}
    users: dict[TracedValue, int] = {}
    for value in [each for call in trace.calls for each in values_in(call.args)] + values_in(trace.outputs):
        users[value] = users.get(value, 0) + 1
    kept: list[TracedCall] = []
    for call in trace.calls:
        source = call.args[0] if call.op == "standardize_with" else None
        maker = makers.get(source) if isinstance(source, TracedValue) else None
        constant = all(each is None or isinstance(each, Tensor) for each in call.args[1:5])
        if maker is None or maker.op != "convolution" or users[maker.outputs[0]] > 1 or not constant:
            kept.append(call)
            continue
        x, weight, bias, geometry = maker.args
        gamma, beta, mean, var, _, eps = call.args[1:]
        maker.args = (x, *_folded(weight, bias, gamma, beta, mean, var, eps), geometry)
        maker.outputs = call.outputs
    trace.calls = kept


def _folded(weight: Any, bias: Any, gamma: Any, beta: Any, mean: Any, var: Any, eps: float) -> tuple[Tensor, Tensor]:
    """The weight and bias of a convolution whose result is normalized."""
    weight, mean, var = weight.detach(), mean.detach(), var.detach()
    scale = (var + eps).rsqrt() * (1 if gamma is None else gamma.detach())
    shift = (0 if bias is None else bias.detach()) - mean
    return weight * scale.reshape(-1, *(1,) * (weight.ndim - 1)), shift * scale + (0 if beta is None else beta.detach())
