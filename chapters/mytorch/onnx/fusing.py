"""Several steps of a trace as the one operation that they are, and constants folded into the layer before them."""

# 20b · Export
from __future__ import annotations

from math import inf
from typing import Any

from .. import Tensor, gathering, pointwise, reduction, views, zeros
from ..dispatch import Function, Operation
from ..graph import Graph, Step, drop_unused, rebuilt
from ..nn import convolution
from ..nn.convolution import conv2d
from ..nn.linear import linear
from ..nn.pooling import max_pool2d


class Whole(Operation):
    """A function of several operations, taken as one."""

    def __init__(self, function: Function) -> None:
        self.function, self.name = function, function.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


CONV2D, LINEAR, MAX_POOL2D = Whole(conv2d), Whole(linear), Whole(max_pool2d)


def recognize(step: Step) -> Step:
    """The last step of a convolution, a linear layer or a maximum pool as the whole; any other step as it is."""
    match step:
        case Step(
            op=pointwise.add, args=(Step(op=reduction.matmul, args=(x, Tensor() as weight)), Tensor() as bias)
        ) if (weight.ndim, bias.ndim) == (2, 1):
            return Step(LINEAR, (x, weight.t(), bias))
        case Step(
            op=views.view,
            args=(Step(op=reduction.matmul, args=(Tensor() as kernels, Step(op=views.view, args=(columns, _)))), size),
        ) if columns.op is convolution.im2col:
            images, windows, _ = columns.args
            weight = kernels.reshape(size[1], -1, *windows.kernel)
            return Step(CONV2D, (images, weight, None, *windows[1:], len(kernels)))
        case Step(op=views.view, args=(Step(op=views.squeeze, args=(Step(op=gathering.gather) as largest, _)), _)):
            columns, _, place = largest.args
            if getattr(place, "op", None) is reduction.argmax and columns.op is convolution.im2col:
                planes, windows, fill = columns.args
                return Step(MAX_POOL2D, (planes.args[0], *windows)) if fill == -inf else step
    return step


def fold(step: Step) -> Step:
    """A layer, then a sum, difference or product with a constant for each channel: the layer with other weights."""
    match step:
        case Step(args=(Step(op=layer, args=(x, Tensor() as weight, bias, *rest)), Tensor() as constant)) if layer in (
            CONV2D,
            LINEAR,
        ) and constant.shape == (len(weight), *(1,) * (weight.ndim - 2)):
            each, bias = constant.flatten(), zeros(len(weight)) if bias is None else bias
            if step.op is pointwise.add:
                return Step(layer, (x, weight, bias + each, *rest))
            if step.op is pointwise.sub:
                return Step(layer, (x, weight, bias - each, *rest))
            if step.op is pointwise.mul:
                scaled = weight * each.reshape(-1, *(1,) * (weight.ndim - 1))
                return Step(layer, (x, scaled, bias * each, *rest))
    return step


def fuse(graph: Graph) -> Graph:
    """The graph with whole layers in the place of their steps, and batch norms in evaluation folded into them."""

    def better(step: Step) -> Step:
        fused = fold(recognize(step))
        step.op, step.args = fused.op, fused.args
        return step

    return drop_unused(rebuilt(graph, better))
