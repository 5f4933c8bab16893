"""A captured graph as calls of kernels on arrays: the layer of ops records what a run on tensors without data does.

PyTorch traces its graphs to ATen operators the same way: torch/_functorch/aot_autograd.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minitorch.autograd.grad_mode import no_grad
from minitorch.devices import cpu
from minitorch.dispatch import layers
from minitorch.dispatch.apply import apply, apply_in_place
from minitorch.dispatch.op import Op
from minitorch.dtypes import FROM_NUMPY, bool_, float32, float64, int64
from minitorch.fx.graph import Graph
from minitorch.fx.node import Node
from minitorch.library.operators import OpOverload, OpOverloadPacket
from minitorch.ops.creation.filled import empty_strided
from minitorch.tensor import Tensor

TYPES = (float32, float64)
"""The floating point dtypes of operands in lowered code. An op's operands all have the same one: none is converted."""

NAMES = {
    "abs", "acos", "adaptive_avg_pool2d", "add", "add_", "addcdiv", "addcmul", "addmm", "arange", "asin", "atan",
    "avg_pool2d", "batch_norm", "bmm", "cat", "ceil", "chunk", "clamp", "contiguous", "conv2d", "cos", "cosh",
    "cross_entropy", "div", "dropout", "embedding", "eq", "erf", "exp", "expand", "expm1", "flatten", "floor", "ge",
    "gelu", "getitem", "gt", "iadd", "layer_norm", "le", "leaky_relu", "lerp", "linear", "log", "log1p", "log_softmax",
    "lt", "masked_fill", "matmul", "max_pool2d", "maximum", "mean", "minimum", "mm", "mse_loss", "mul", "multiply",
    "ne", "neg", "nll_loss", "ones", "permute", "pos", "pow", "reciprocal", "relu", "reshape", "rms_norm", "rsqrt",
    "scaled_dot_product_attention", "sigmoid", "silu", "sin", "sinh", "softmax", "softplus", "split", "sqrt", "square",
    "squeeze", "stack", "sub", "subtract", "sum", "t", "tan", "tanh", "transpose", "tril", "triu", "truediv",
    "unsqueeze", "view", "zeros",
}  # fmt: skip
"""The functions, methods and operators of graphs that are lowered.

None of them looks at elements, neither forward nor backward, so a run on tensors without data calls every kernel that
a run with data calls. Other functions look at elements in Python, for a check or to choose a formula, and skip that on
the meta device.
"""

ATTRIBUTES = ("T", "mT")
"""The attributes of tensors that lowered graphs read: those that are views."""

DRAWS = ("dropout_noise",)
"""The ops whose kernels draw random numbers from the default generator."""


def check_names(graph: Graph) -> None:
    """Raises CannotLower for a graph that calls something else, or has tensors of its own."""
    for node in graph.nodes:
        if node.op == "get_attr":
            raise CannotLower("a tensor of the graph's own")
        if node.op in ("call_function", "call_method"):
            name = node.target if isinstance(node.target, str) else node.target.__name__
            if isinstance(node.target, (OpOverload, OpOverloadPacket)):
                raise CannotLower(f"{node.target} is the user's")
            if name not in NAMES and not (node.target is getattr and node.args[1] in ATTRIBUTES):
                raise CannotLower(f"{name} is not among the functions that are lowered")
            if name == "getitem" and any(isinstance(each, Node) for each in leaves(node.args[1])):
                raise CannotLower("an index that depends on data")


def leaves(value: Any) -> list[Any]:
    """What a list or tuple contains, and the lists and tuples in it; of anything else itself."""
    return [each for part in value for each in leaves(part)] if type(value) in (list, tuple) else [value]


def replaced(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with `change(leaf)` in the place of each of its leaves."""
    if type(value) in (list, tuple):
        return type(value)([replaced(each, change) for each in value])
    return change(value)


class CannotLower(Exception):  # noqa: N818 - no error: the graph runs op by op
    """A graph can't become calls of kernels on arrays, for this reason. It runs op by op, as in eager mode."""


class Step(NamedTuple):
    """One kernel call: the op, its arguments, in which a `Value` stands for an array, and the arrays that it makes.

    `is_tuple` says that the kernel returns several arrays.
    """

    op: Op
    args: tuple[Any, ...]
    results: tuple[Value, ...]
    is_tuple: bool = False

    @property
    def arrays(self) -> list[Value]:
        """The arrays among the arguments, and in the lists among these."""
        return [each for each in leaves(self.args) if isinstance(each, Value)]


class Value(NamedTuple):
    """An array in lowered code: its name, and a tensor without data that has its metadata.

    The first letter of a name says what the array is: an input (x), a gradient that arrives (g), a constant (k), or the
    result of a step (v).
    """

    name: str
    fake: Tensor


def bases_of(steps: Sequence[Step]) -> dict[str, str]:
    """For each view, by name, the array whose memory it shares."""
    bases: dict[str, str] = {}
    for step in steps:
        if step.op.memory.is_view:
            first = step.args[0].name
            bases.update((each.name, bases.get(first, first)) for each in step.results)
    return bases


class Recorder:
    """Records the ops that run on tensors without data, which come from the inputs.

    A tensor is recognized by its array, because autograd saves and unpacks tensors as other objects. Tensors that the
    graph creates without an input, such as a mask, are the same in every call, so they become `constants`.

    A write is recorded as a step that makes a new array, which stands for the tensor from then on. `written` has these
    arrays for each tensor that was written to, behind its own, and `versions` how many of the writes it counts, both by
    the identity of the tensor's array.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.constants: dict[str, Any] = {}
        self.written: dict[int, list[Value]] = {}
        self.versions: dict[int, int] = {}
        self._values: dict[int, Value] = {}
        self._fakes: dict[int, Tensor] = {}
        self._alive: list[Any] = []

    def input(self, fake: Tensor, name: str) -> Value:
        """An array that lowered code gets."""
        return self._add(fake, Value(name, fake))

    def value(self, fake: Tensor) -> Value:
        """The array of a tensor. Raises CannotLower for one that no recorded op has made."""
        found = self._values.get(id(fake._array))
        if found is None:
            raise CannotLower("a tensor that no recorded op has made")
        return found

    def versions_of(self, fakes: Sequence[Tensor]) -> list[tuple[int, int]]:
        """The positions of those that in-place forms have written to, and how often."""
        counts = [self.versions.get(id(each._array), 0) for each in fakes]
        return [(i, count) for i, count in enumerate(counts) if count]

    def run(self, function: Callable[[], Any]) -> Any:
        """What a function returns; its ops are recorded."""
        creating = layers.created_by(lambda make: self._constant(make(cpu.xp)))
        with layers.pushed(self._layer), creating, layers.overwritten(self._write):
            return function()

    def _add(self, fake: Tensor, value: Value) -> Value:
        if id(fake._array) in self._values:
            raise CannotLower("an op returns one of its arguments")
        self._alive.append(fake._array)
        self._values[id(fake._array)] = value
        return value

    def _layer(self, op: Op, args: Sequence[Any], below: Any) -> Any:
        if not any(isinstance(each, Tensor) and each._device.type == "meta" for each in leaves(tuple(args))):
            return below(op, args)
        if below is apply_in_place and args[0]._device.type == "meta":
            return self._in_place(op, replaced(tuple(args), self._without_data))
        if below is not apply:  # a form with `out=`
            raise CannotLower(f"{op.name} is not a function of arrays")
        given: tuple[Any, ...] = replaced(tuple(args), self._without_data)
        result = below(op, given)
        self._record(op, given, result)
        return result

    def _record(self, op: Op, args: tuple[Any, ...], result: Any) -> None:
        """Adds the step that makes the result."""
        several = isinstance(result, tuple)
        made: tuple[Any, ...] = tuple(result) if several else (result,)
        if not all(isinstance(each, Tensor) for each in made):
            raise CannotLower(f"{op.name} is not a function of arrays")
        self._check_types(op, args, made[0])
        given = replaced(args, lambda each: self.value(each) if isinstance(each, Tensor) else each)
        given += tuple(op.schema.defaults_from[len(given)])
        names = [f"v{len(self.steps)}{f'_{i}' if several else ''}" for i in range(len(made))]
        values = tuple(self._add(each, Value(name, each)) for name, each in zip(names, made, strict=True))
        self.steps.append(Step(op, given, values, several))

    def _in_place(self, op: Op, args: tuple[Any, ...]) -> Any:
        """Records an in-place form as the op itself and a write."""
        target = args[0]
        with no_grad():
            made = apply(op, args)
        self._record(op, args, made)
        if (made.shape, made.stride(), made.dtype) != (target.shape, target.stride(), target.dtype):
            raise CannotLower(f"{op.name}_ writes into another layout")
        apply_in_place(op, args)
        self._write(target, made)
        self.versions[id(target._array)] = self.versions.get(id(target._array), 0) + 1
        return target

    def _write(self, target: Tensor, made: Tensor) -> None:
        """From here on, the tensor's elements are those of another, which nothing else overwrites."""
        stood = self.written.setdefault(id(target._array), [self.value(target)])
        bases = bases_of(self.steps)
        if any(each.name in bases or each.name in bases.values() for each in stood):
            raise CannotLower("a write to memory that several tensors share")
        self._values[id(target._array)] = self.value(made)
        stood.append(self.value(made))

    def _without_data(self, value: Any) -> Any:
        """A tensor without data in the place of one with data, which becomes a constant; anything else as it is."""
        if not isinstance(value, Tensor) or value._device.type == "meta":
            return value
        if value.requires_grad:
            raise CannotLower("a tensor that the graph creates requires a gradient")
        found = self._fakes.get(id(value._array))
        if found is None:
            found = self._fakes[id(value._array)] = self._constant(value._array)
        return found

    def _constant(self, array: Any) -> Tensor:
        """A tensor without data that stands for an array, which is the same in every call."""
        strides = [step // array.itemsize for step in array.strides]
        with layers.created_by(None):
            fake: Tensor = empty_strided(array.shape, strides, dtype=FROM_NUMPY[array.dtype], device="meta")
        name = f"k{len(self.constants)}"
        self.constants[name] = array
        self._add(fake, Value(name, fake))
        return fake

    def _check_types(self, op: Op, args: Sequence[Any], result: Tensor) -> None:
        """Raises CannotLower where operands are converted to another dtype."""
        promoted = {each.dtype for place, each in enumerate(args) if place in op.promoted and isinstance(each, Tensor)}
        kept = {*TYPES, bool_, *({int64} & {result.dtype})}  # integers that stay so are not converted either
        if promoted and (len(promoted) > 1 or not promoted <= kept or result.dtype not in (*promoted, bool_)):
            raise CannotLower(f"{op.name} of several dtypes")
        for place in op.schema.tensors:
            value = args[place] if place < len(args) else None
            if not (value is None or isinstance(value, (Tensor, list, tuple)) or type(value) in (int, float)):
                raise CannotLower(f"{op.name} of a number that decides the type")
