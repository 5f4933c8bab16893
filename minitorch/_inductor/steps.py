"""A captured graph as calls of kernels on arrays: the layer of ops records what a run on tensors without data does.

PyTorch traces its graphs to ATen operators the same way: torch/_functorch/aot_autograd.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minitorch.dispatch import layers
from minitorch.dispatch.apply import apply
from minitorch.dispatch.op import Op
from minitorch.dtypes import float32, float64
from minitorch.fx.graph import Graph
from minitorch.library.operators import OpOverload, OpOverloadPacket
from minitorch.tensor import Tensor

TYPES = (float32, float64)
"""The dtypes of tensors that are promoted in lowered code, where promotion changes nothing."""


NAMES = {
    "abs", "acos", "add", "addcdiv", "addcmul", "addmm", "asin", "atan", "avg_pool2d", "bmm", "ceil", "clamp",
    "contiguous", "conv2d", "cos", "cosh", "div", "erf", "exp", "expand", "expm1", "flatten", "floor", "gelu",
    "layer_norm", "leaky_relu", "lerp", "linear", "log", "log1p", "log_softmax", "matmul", "maximum", "mean",
    "minimum", "mm", "mse_loss", "mul", "multiply", "neg", "permute", "pos", "pow", "reciprocal", "relu", "reshape",
    "rsqrt", "sigmoid", "silu", "sin", "sinh", "softmax", "softplus", "sqrt", "square", "squeeze", "sub", "subtract",
    "sum", "t", "tan", "tanh", "transpose", "truediv", "unsqueeze", "view",
}  # fmt: skip
"""The functions, methods and operators of graphs that are lowered.

What they do never depends on data, forward and backward, and so tensors without data show all of it. Others look at
values in Python, for a check or to choose a formula, and do without where there are none.
"""

ATTRIBUTES = ("T", "mT")


def check_names(graph: Graph) -> None:
    """Raises CannotLower for a graph that calls something else."""
    for node in graph.nodes:
        if node.op in ("call_function", "call_method"):
            name = node.target if isinstance(node.target, str) else node.target.__name__
            if isinstance(node.target, (OpOverload, OpOverloadPacket)):
                raise CannotLower(f"{node.target} is the user's")
            if name not in NAMES and not (node.target is getattr and node.args[1] in ATTRIBUTES):
                raise CannotLower(f"{name} may depend on data")


class CannotLower(Exception):  # noqa: N818 - no error: the graph runs op by op
    """A graph does more than calling kernels on arrays: it runs with dispatch."""


class Step(NamedTuple):
    """One kernel call: the op, its arguments, in which a `Value` stands for an array, and the arrays that it makes."""

    op: Op
    args: tuple[Any, ...]
    results: tuple[Value, ...]
    is_tuple: bool = False


class Value(NamedTuple):
    """An array in lowered code: its name, and a tensor without data that has its metadata."""

    name: str
    fake: Tensor


class Recorder:
    """Records the ops that run on tensors without data, all of which come from the inputs.

    A tensor is known by its array, because autograd saves and unpacks tensors as other objects.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._values: dict[int, Value] = {}
        self._alive: list[Any] = []

    def input(self, fake: Tensor, name: str) -> Value:
        """An array that lowered code gets."""
        return self._add(fake, Value(name, fake))

    def value(self, fake: Tensor) -> Value:
        """The array of a tensor. Raises CannotLower for one that no recorded op has made."""
        found = self._values.get(id(fake._array))
        if found is None:
            raise CannotLower("a tensor that no op made")
        return found

    def run(self, function: Callable[[], Any]) -> Any:
        """What a function returns; its ops are recorded."""
        with layers.pushed(self._layer):
            return function()

    def _add(self, fake: Tensor, value: Value) -> Value:
        if id(fake._array) in self._values:
            raise CannotLower("an op returns one of its arguments")
        self._alive.append(fake._array)
        self._values[id(fake._array)] = value
        return value

    def _layer(self, op: Op, args: Sequence[Any], below: Any) -> Any:
        result = below(op, args)
        several = isinstance(result, tuple)
        made: tuple[Any, ...] = tuple(result) if several else (result,)
        if below is not apply or op.writes.edits or not all(isinstance(each, Tensor) for each in made):
            raise CannotLower(f"{op.name} is not a function of arrays")
        given = tuple(self._argument(op, place, each, made[0]) for place, each in enumerate(args))
        given += tuple(op.schema.defaults_from[len(given)])
        names = [f"v{len(self.steps)}{'abcdefgh'[i] if several else ''}" for i in range(len(made))]
        values = tuple(self._add(each, Value(name, each)) for name, each in zip(names, made, strict=True))
        self.steps.append(Step(op, given, values, several))
        return result

    def _argument(self, op: Op, place: int, value: Any, result: Tensor) -> Any:
        if isinstance(value, Tensor):
            if place in op.promoted and (value.dtype is not result.dtype or value.dtype not in TYPES):
                raise CannotLower(f"{op.name} of several dtypes")
            return self.value(value)
        if (
            place in op.schema.tensors
            and value is not None
            and (isinstance(value, bool) or not isinstance(value, (int, float)))
        ):
            raise CannotLower(f"{op.name} of a number that decides the type")
        if isinstance(value, (list, tuple)) and any(isinstance(each, Tensor) for each in value):
            raise CannotLower(f"{op.name} of a list")
        return value
