"""Tracing: a function becomes a list of steps, which can be looked at and simplified before it runs."""

# 08 · Static and dynamic graphs
from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .autograd import no_grad
from .dispatch import LAYERS, Function, Operation, fill, replace
from .tensor import Tensor, extend


class Step:
    """One call of an operation. Steps among its arguments stand for their results; an input has no operation."""

    def __init__(self, op: Any, args: tuple[Any, ...] = ()) -> None:
        self.op, self.args = op, args


Guard = namedtuple("Guard", "at step read value")
"""What Python read while tracing: after `at` steps, the shape or the numbers of the result of `step`."""


class Graph:
    """A function as steps, each after those that it needs; `output` is a step, a value, or a tuple of these."""

    def __init__(self, inputs: list[Step], steps: list[Step], output: Any, guards: list[Guard] | None = None) -> None:
        self.inputs, self.steps, self.output, self.guards = inputs, steps, output, guards or []

    def __repr__(self) -> str:
        names = {step: f"%{number}" for number, step in enumerate([*self.inputs, *self.steps])}

        def written(argument: Any) -> str:
            if isinstance(argument, (list, tuple)):
                return f"({', '.join(map(written, argument))})"
            if isinstance(argument, Tensor):
                return f"constant{tuple(argument.shape)}"
            return names[argument] if isinstance(argument, Step) else repr(argument)

        lines = [f"{names[step]} = {step.op.name}{written(step.args)}" for step in self.steps if step.op]
        lines += [f"guard {names[each.step]}.{each.read} == {each.value!r}" for each in self.guards]
        return "\n".join([f"inputs {written(self.inputs)}", *lines, f"return {written(self.output)}"])


def steps_in(argument: Any) -> list[Step]:
    """The steps in an argument."""
    found: list[Step] = []
    replace(argument, lambda each: found.append(each) if isinstance(each, Step) else None)
    return found


class Recorder:
    """A layer that notes the operations that run, and by `key(x)` which step each tensor, or an alias, came from."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.known: dict[Any, Step] = {}
        self.alive: list[Tensor] = []  # a storage that is gone could give its id to another
        self.guards: list[Guard] = []

    def know(self, x: Tensor, step: Step) -> Step:
        """Remember that a tensor is the result of a step, and return the step."""
        self.alive.append(x)
        self.known[key(x)] = step
        return step

    def symbol(self, argument: Any) -> Any:
        """The step that a tensor came from; a tensor from outside, and anything else, is a constant."""
        return self.known.get(key(argument), argument) if isinstance(argument, Tensor) else argument

    def __call__(self, op: Operation, args: tuple[Any, ...], below: Function) -> Any:
        """Run an operation, and note it. What a kernel reads isn't guarded, but autograd may keep a shape for later."""
        before = len(self.guards)
        result = below(op, args)
        if not result.requires_grad:
            del self.guards[before:]
        self.note(op, args, result)
        return result

    def read(self, x: Tensor, name: str, get: Function) -> Any:
        """What Python reads, `get(x)`. It is a guard if x came from a step, and stands for what `get` itself read."""
        before, value, step = len(self.guards), get(x), self.symbol(x)
        self.guards[before:] = [Guard(len(self.steps), step, name, value)] if isinstance(step, Step) else []
        return value

    def note(self, op: Operation, args: tuple[Any, ...], result: Tensor) -> None:
        """Append a step for a call that has run, and remember that `result` came from it."""
        if op.writes:
            raise RuntimeError(f"a trace can't follow a write: {op.name}")
        step = Step(op, replace(args, self.symbol))
        self.steps.append(step)
        self.know(result, step)


def key(x: Tensor) -> Any:
    """What tells whether two tensors show the same numbers: storage, shape, strides and offset."""
    return id(x.storage), tuple(vars(x)["shape"]), x.strides, x.offset


@contextmanager
def heard(recorder: Recorder) -> Iterator[None]:
    """Inside, tensors tell the recorder when Python reads their shape or their numbers."""
    names = ("item", "tolist", "__bool__", "ndim", "shape")
    members: dict[str, Any] = {name: vars(Tensor)[name] for name in names if name in vars(Tensor)}

    def told(name: str, get: Function) -> Function:
        return lambda x: recorder.read(x, name, get)

    shape = property(told("shape", lambda x: vars(x)["shape"]), lambda x, size: vars(x).update(shape=size))
    ndim = property(lambda x: len(vars(x)["shape"]))  # guarded in any case
    extend(Tensor, shape=shape, ndim=ndim, **{name: told(name, members[name]) for name in names[:3]})
    try:
        yield
    finally:
        del Tensor.shape
        extend(Tensor, **members)


def trace(function: Callable[..., Any], *examples: Tensor) -> Graph:
    """What runs when a function is called on examples, as a graph: loops are unrolled, one branch of an `if` stays."""
    recorder, outer = Recorder(), LAYERS["trace"]
    inputs = [recorder.know(example, Step(None)) for example in examples]
    fill("trace", recorder)
    try:
        with heard(recorder):
            result = function(*examples)
    finally:
        fill("trace", outer)
    return Graph(inputs, recorder.steps, replace(result, recorder.symbol), recorder.guards)


def run(graph: Graph, *inputs: Tensor) -> Any:
    """The function's result for other inputs: each step runs once, on the results of earlier steps."""
    values: dict[Step, Any] = dict(zip(graph.inputs, inputs, strict=True))

    def value(argument: Any) -> Any:
        return values[argument] if isinstance(argument, Step) else argument

    with no_grad():
        for step in graph.steps:
            values[step] = step.op(*replace(step.args, value))
    return replace(graph.output, value)


def rebuilt(graph: Graph, better: Callable[[Step], Any]) -> Graph:
    """The graph, with `better(step)` in the place of each step, in order: that step, or what has the same result."""
    instead: dict[Step, Any] = {step: step for step in graph.inputs}

    def newest(argument: Any) -> Any:
        return instead[argument] if isinstance(argument, Step) else argument

    steps = []
    for step in graph.steps:
        candidate = Step(step.op, replace(step.args, newest))
        instead[step] = better(candidate)
        if instead[step] is candidate:
            steps.append(candidate)
    return Graph(graph.inputs, steps, replace(graph.output, newest))


def fold_constants(graph: Graph) -> Graph:
    """The graph in which every step that depends on no input is a constant: its result, computed now."""
    with no_grad():
        return rebuilt(graph, lambda step: step if steps_in(step.args) else step.op(*step.args))


def share_equal(graph: Graph) -> Graph:
    """The graph in which a step that repeats an earlier one is left out: the earlier one takes its place."""
    first: dict[Any, Step] = {}
    return rebuilt(graph, lambda step: first.setdefault(signature(step), step))


def signature(step: Step) -> Any:
    """Equal for steps that compute the same: the operation and its arguments, steps and tensors by identity."""

    def part(argument: Any) -> Any:
        is_object = isinstance(argument, (Step, Tensor))
        return ("object", id(argument)) if is_object else (type(argument).__name__, repr(argument))

    return id(step.op), repr(replace(step.args, part))


def drop_unused(graph: Graph) -> Graph:
    """The graph without the steps that the output doesn't need, neither itself nor through other steps."""
    needed = set(steps_in(graph.output))
    kept: list[Step] = []
    for step in reversed(graph.steps):
        if step in needed:
            kept.insert(0, step)
            needed.update(steps_in(step.args))
    return Graph(graph.inputs, kept, graph.output)


def simplify(graph: Graph) -> Graph:
    """The graph with constants folded, repetitions shared, and what nobody needs dropped."""
    return drop_unused(share_equal(fold_constants(graph)))


class Compiled:
    """A function that is traced once for each set of guards. Its graph breaks where Python reads a number."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.graphs = function, list[Graph]()
        self.pieces: dict[Any, tuple[Graph, str]] = {}  # by kinds, sizes or None, and the numbers read so far

    def __call__(self, *inputs: Tensor) -> Any:
        """Run the pieces one after the other, each chosen by the numbers read so far; trace where one is missing."""
        kinds = tuple((x.dtype, x.device, x.ndim, x.is_contiguous()) for x in inputs)
        sizes = tuple(x.shape for x in inputs)
        path: tuple[Any, ...] = (kinds, sizes if (kinds, sizes) in self.pieces else None)
        values = inputs
        while path in self.pieces:
            piece, read = self.pieces[path]
            result, made = run(piece, *values)
            if not read:
                return result
            path, values = (*path, repr(getattr(result, read)())), (*values, *made)
        return self.compile(inputs, kinds, sizes)

    def compile(self, inputs: tuple[Tensor, ...], kinds: Any, sizes: Any) -> Any:
        """Trace the function, cut the trace where Python read a number, and keep the pieces that are new.

        The first trace for these kinds serves these sizes only. A later one serves all sizes, unless Python read one.
        """
        with no_grad():
            graph = trace(self.function, *inputs)
        breaks = [each for each in graph.guards if each.read != "shape"]
        reads_sizes = len(breaks) < len(graph.guards)
        is_first = (kinds, sizes) in self.pieces or all(path[0] != kinds for path in self.pieces)
        path: Any = kinds, sizes if is_first or reads_sizes else None
        values, examples, start = graph.inputs, inputs, 0
        for at, result, read, value in [*breaks, Guard(len(graph.steps), graph.output, "", None)]:
            steps = graph.steps[start:at]
            if path not in self.pieces:
                self.pieces[path] = self.lower(Graph(values, steps, (result, steps if read else [])), *examples), read
                if steps:
                    self.graphs.append(self.pieces[path][0])
            answer, made = run(self.pieces[path][0], *examples)
            path, values, examples, start = (*path, repr(value)), values + steps, (*examples, *made), at
        return answer

    def lower(self, graph: Graph, *examples: Tensor) -> Graph:
        """What runs for a piece; chapter 08b makes more of it."""
        return simplify(graph)
