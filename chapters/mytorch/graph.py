"""Tracing: a function becomes a list of steps, which can be looked at and simplified before it runs."""

# 08 · Static and dynamic graphs
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .autograd import no_grad
from .dispatch import Function, Operation, layer
from .tensor import Tensor
from .views import run_write


class Step:
    """One call of an operation. Steps among its arguments stand for their results; an input has no operation."""

    def __init__(self, op: Operation | None, args: tuple[Any, ...] = ()) -> None:
        self.op, self.args = op, args


class Graph:
    """A function as steps, each after those that it needs; `output` is a step, a value, or a tuple of these."""

    def __init__(self, inputs: list[Step], steps: list[Step], output: Any) -> None:
        self.inputs, self.steps, self.output = inputs, steps, output

    def __repr__(self) -> str:
        names = {step: f"%{number}" for number, step in enumerate([*self.inputs, *self.steps])}

        def written(argument: Any) -> str:
            if isinstance(argument, (list, tuple)):
                return f"({', '.join(map(written, argument))})"
            if isinstance(argument, Tensor):
                return f"constant{tuple(argument.shape)}"
            return names[argument] if isinstance(argument, Step) else repr(argument)

        lines = [f"{names[step]} = {step.op.name}{written(step.args)}" for step in self.steps if step.op]
        return "\n".join([f"inputs {written(self.inputs)}", *lines, f"return {written(self.output)}"])


def replace(argument: Any, change: Function) -> Any:
    """An argument with `change(each)` in the place of each thing in it; lists and tuples stay what they are."""
    if type(argument) in (list, tuple):
        return type(argument)(replace(each, change) for each in argument)
    return change(argument)


def steps_in(argument: Any) -> list[Step]:
    """The steps in an argument."""
    found: list[Step] = []
    replace(argument, lambda each: found.append(each) if isinstance(each, Step) else None)
    return found


class Recorder:
    """Notes the operations that run, and which step each tensor came from.

    A tensor is known by its storage and walk: `key(x)`. So an alias of it, as autograd keeps one, is known
    too.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.known: dict[Any, Step] = {}
        self.alive: list[Tensor] = []  # a storage that is gone could give its id to another

    def know(self, x: Tensor, step: Step) -> Step:
        """Remember that a tensor is the result of a step, and return the step."""
        self.alive.append(x)
        self.known[key(x)] = step
        return step

    def symbol(self, argument: Any) -> Any:
        """The step that a tensor came from; a tensor from outside, and anything else, is a constant."""
        return self.known.get(key(argument), argument) if isinstance(argument, Tensor) else argument

    def note(self, op: Operation, args: tuple[Any, ...], result: Tensor) -> None:
        """Append a step for a call that has run, and remember that `result` came from it.

        In the step, each argument that came from a step is that step, also inside lists and tuples.

        Raises:
            RuntimeError: "a trace can't follow a write: copy_", if `op.run` is `run_write`.
        """
        if op.run is run_write:
            raise RuntimeError(f"a trace can't follow a write: {op.name}")
        step = Step(op, replace(args, self.symbol))
        self.steps.append(step)
        self.know(result, step)


def key(x: Tensor) -> Any:
    """What tells whether two tensors show the same numbers: storage and walk."""
    return id(x.storage), tuple(x.shape), x.strides, x.offset


RECORDERS: list[Recorder] = []
"""Those that are listening; the last one hears what runs."""


@layer
def tracer(op: Operation, args: tuple[Any, ...], below: Function) -> Any:
    """Run an operation, and have the last recorder, if there is one, note it."""
    result = below(op, args)
    if RECORDERS:
        RECORDERS[-1].note(op, args, result)
    return result


def trace(function: Callable[..., Any], *examples: Tensor) -> Graph:
    """Call a function once, on examples, and keep the operations that ran.

    What Python did is not in the graph: a loop is unrolled, of an `if` one way is left, and a tensor that
    came from outside, or from no operation, is a constant.
    """
    recorder = Recorder()
    inputs = [recorder.know(example, Step(None)) for example in examples]
    RECORDERS.append(recorder)
    try:
        result = function(*examples)
    finally:
        RECORDERS.pop()
    return Graph(inputs, recorder.steps, replace(result, recorder.symbol))


def run(graph: Graph, *inputs: Tensor) -> Any:
    """The function's result for other inputs: each step runs once, on the results of earlier steps.

    Autograd records nothing of it, also where an input requires a gradient: a trace may hold the backward
    pass itself.

    Raises:
        ValueError: if there are more or fewer inputs than the graph has.
    """
    values: dict[Step, Any] = dict(zip(graph.inputs, inputs, strict=True))

    def value(argument: Any) -> Any:
        return values[argument] if isinstance(argument, Step) else argument

    with no_grad():
        for step in graph.steps:
            if step.op is not None:
                values[step] = step.op(*replace(step.args, value))
    return replace(graph.output, value)


def rebuilt(graph: Graph, better: Callable[[Step], Any]) -> Graph:
    """The graph, with `better(step)` in the place of each step, in order.

    What `better` is given has better steps among its arguments already. It returns it, or another step or
    a value that has the same result; then the step is left out.
    """
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
    """The graph in which every step that depends on no input is a constant: its result, computed now.

    Such a step has no step among its arguments (`steps_in(step.args)`). Then those that use it may be
    constant, too. A constant has no history.
    """

    def better(step: Step) -> Any:
        return step if steps_in(step.args) or step.op is None else step.op(*step.args)

    with no_grad():
        return rebuilt(graph, better)


def share_equal(graph: Graph) -> Graph:
    """The graph in which a step that repeats an earlier one is left out: the earlier one takes its place.

    Two steps are equal if they call the same operation on the same arguments: `signature(step)`.
    """
    first: dict[Any, Step] = {}
    return rebuilt(graph, lambda step: first.setdefault(signature(step), step))


def signature(step: Step) -> Any:
    """Equal for steps that compute the same: the operation and its arguments, steps and tensors by identity.

    1, 1.0 and True are different arguments. Lists and slices are written out.
    """

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
