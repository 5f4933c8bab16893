"""A compiler: guards choose a graph, elementwise steps share a loop, and the backward pass is made in advance."""

# 08b · A compiler
from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Collection
from itertools import groupby
from typing import Any

import numpy as np

from .autograd import Function, enable_grad, grad, is_grad_enabled, no_grad
from .creation import empty_like, ones_like
from .dispatch import LAYERS, Operation, replace, tensors_in
from .graph import Compiled, Graph, Step, drop_unused, key, run, simplify, steps_in, trace
from .settings import float32, float64
from .tensor import Tensor

BLOCK = 2**16
"""The elements of a block: few enough to stay in the cache, and enough to make up for the calls of NumPy."""

RECOMPILE_LIMIT = 8
"""So many variants of a function are compiled; arguments that fit none of them run eagerly."""

UFUNCS = {
    name: name
    for name in ("abs", "maximum", "minimum", "exp", "log", "sqrt", "tanh", "sin", "cos", "floor", "reciprocal")
}
UFUNCS |= {"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "neg": "negative"}
"""The operations that a kernel can contain, and NumPy's functions for them, which can write into a given buffer."""

CHEAP = {"add", "sub", "mul", "div", "neg", "abs", "maximum", "minimum", "floor", "reciprocal"}
"""What the backward pass computes again rather than read it from memory."""

Meta = namedtuple("Meta", "shape dtype contiguous")
"""What a compiler knows of a value in advance."""


def meta(x: Tensor) -> Meta:
    """The shape, the dtype and the layout of a tensor."""
    return Meta(tuple(x.shape), x.dtype, x.is_contiguous())


def metas(graph: Graph, *examples: Tensor) -> dict[Step, Meta]:
    """The meta of each step's result. PyTorch runs the graph on fake tensors for this; here it runs on the examples."""
    every = [*graph.inputs, *graph.steps]
    values = run(Graph(graph.inputs, graph.steps, every), *examples)
    return {step: meta(x) for step, x in zip(every, values, strict=True)}


def fits(step: Step, known: dict[Step, Meta]) -> Meta | None:
    """The meta of a step that a kernel can contain, and None for any other step.

    Its result is contiguous, of a float type, and each operand is either a number or a tensor of the same meta.
    """
    mine = known[step]
    tensors = [known[each] for each in steps_in(step.args)] + [meta(each) for each in tensors_in(step.args)]
    is_plain = mine.contiguous and mine.dtype in (float32, float64) and all(each == mine for each in tensors)
    return mine if step.op.name in UFUNCS and is_plain else None


def groups(graph: Graph, known: dict[Step, Meta]) -> list[list[Step]]:
    """The steps in order, in groups: neighbours that fit into one kernel, or a step by itself."""
    found: list[list[Step]] = []
    for what, neighbours in groupby(graph.steps, lambda step: fits(step, known)):
        group = list(neighbours)
        found += [[step] for step in group] if what is None else [group]
    return found


def kept_of(group: list[Step], graph: Graph) -> list[Step]:
    """The steps of a group whose results are used outside it: by another step, or as the output."""
    inside = set(group)
    outside = set(steps_in([graph.output, *(step.args for step in graph.steps if step not in inside)]))
    return [step for step in group if step in outside]


def slots(group: list[Step], kept: list[Step]) -> dict[Step, int]:
    """A slot for each result that stays inside the kernel, as few as possible; `kept` ones go to their own buffers.

    A slot is free again from the step on that reads its value for the last time, which may write over it.
    """
    last = {each: step for step in group for each in steps_in(step.args)}
    place: dict[Step, int] = {}
    free: list[int] = []
    for step in group:
        free += [place[each] for each in dict.fromkeys(steps_in(step.args)) if each in place and last[each] is step]
        if step not in kept:
            place[step] = free.pop() if free else len(set(place.values()))
    return place


def operands(group: list[Step]) -> list[Any]:
    """The values that a group reads and doesn't compute: steps and tensors, each once."""
    inside, found = set(group), dict[int, Any]()
    for step in group:
        for each in step.args:
            if isinstance(each, (Step, Tensor)) and each not in inside:
                found[id(each)] = each
    return list(found.values())


def source(group: list[Step], kept: list[Step]) -> str:
    """The kernel of a group in Python: `kernel(y0, …, x0, …)` reads the flat arrays x and writes the flat arrays y.

    It goes through the elements in blocks, with a line for each step. The slots are the rows of `t`.
    """
    place = slots(group, kept)
    names = {id(each): f"x{number}[b]" for number, each in enumerate(operands(group))}
    names |= {id(step): f"t[{slot}, c]" for step, slot in place.items()}
    names |= {id(step): f"y{number}[b]" for number, step in enumerate(kept)}
    parameters = [f"y{number}" for number in range(len(kept))] + [f"x{n}" for n in range(len(operands(group)))]
    lines = [
        f"def kernel({', '.join(parameters)}):",
        f"    t = np.empty(({len(set(place.values()))}, {BLOCK}), y0.dtype)",
        f"    for start in range(0, y0.size, {BLOCK}):",
        f"        b, c = slice(start, start + {BLOCK}), slice(0, y0.size - start)",
    ]
    for step in group:
        read = [names.get(id(each), repr(each)) for each in step.args]
        lines.append(f"        np.{UFUNCS[step.op.name]}({', '.join(read)}, out={names[id(step)]})")
    return "\n".join(lines)


class Kernel(Operation):
    """A generated operation: it takes the buffers that it fills, and what it reads, and returns the first buffer."""

    def __init__(self, group: list[Step], kept: list[Step]) -> None:
        space: dict[str, Any] = {"np": np, "inf": np.inf, "nan": np.nan}
        self.source = source(group, kept)
        exec(self.source, space)
        self.kernel, self.run, self.writes = space["kernel"], run_flat, True
        self.name = "_".join(["fused", *dict.fromkeys(step.op.name for step in group)])
        self.parameters = tuple(map(str, range(len(kept) + len(operands(group)))))


def run_flat(op: Operation, args: tuple[Tensor, ...]) -> Tensor:
    """Run a kernel on flat arrays. Raises RuntimeError for sizes that have come apart since it was made."""
    if len({x.shape for x in args}) > 1:
        raise RuntimeError(f"{op.name} was compiled for equal shapes, got {[tuple(x.shape) for x in args]}")
    op.kernel(*[x.array.reshape(-1) for x in args])
    return args[0]


class Empty:
    """The step that makes a buffer: a tensor like its argument, with nothing in it yet."""

    name = "empty_like"

    def __call__(self, x: Tensor) -> Tensor:
        return empty_like(x)


def fuse(graph: Graph, *examples: Tensor) -> Graph:
    """The graph with a kernel, and the buffers that it fills, in the place of each group of several steps."""
    instead: dict[Step, Step] = {each: each for each in graph.inputs}
    steps: list[Step] = []

    def newest(argument: Any) -> Any:
        return instead[argument] if isinstance(argument, Step) else argument

    for group in groups(graph, metas(graph, *examples)):
        if len(group) == 1:
            instead[group[0]] = Step(group[0].op, replace(group[0].args, newest))
            steps.append(instead[group[0]])
        else:
            kept, read = kept_of(group, graph), replace(operands(group), newest)
            buffers = [Step(Empty(), (read[0],)) for _ in kept]
            steps += [*buffers, Step(Kernel(group, kept), (*buffers, *read))]
            instead |= dict(zip(kept, buffers, strict=True))
    return Graph(graph.inputs, steps, replace(graph.output, newest))


def partition(joint: Graph, again: Collection[str] = ()) -> tuple[Graph, Graph]:
    """Divide a joint graph, from inputs and the result's gradient to (result, *gradients), into its two passes.

    The forward graph returns (result, saved), and the backward graph takes what was saved and the result's gradient.
    A step of the forward pass that the backward pass needs is saved, or computed again if `again` names its operation.
    """
    *inputs, arriving = joint.inputs
    result, *gradients = joint.output
    forward = drop_unused(Graph(inputs, joint.steps, result)).steps
    kept = {*inputs, *(step for step in forward if step.op.name not in again)}
    saved: list[Step] = []
    backward: list[Step] = []
    needed = set(steps_in(gradients))
    for step in reversed([*inputs, *joint.steps]):
        if step in needed and step in kept:
            saved.insert(0, step)
        elif step in needed:
            backward.insert(0, step)
            needed.update(steps_in(step.args))
    return Graph(inputs, forward, (result, saved)), Graph([*saved, arriving], backward, gradients)


class Fused(Compiled):
    """A function of tensors without gradients, traced once for each set of guards, its pieces fused."""

    def lower(self, graph: Graph, *examples: Tensor) -> Graph:
        """What runs for a piece."""
        return fuse(simplify(graph), *examples)


class TwoPasses:
    """A function of tensors as a forward and a backward graph for each set of sizes; `outside` are weights it uses."""

    def __init__(self, function: Callable[..., Any], outside: list[Tensor]) -> None:
        self.function, self.outside, self.graphs = function, outside, list[Graph]()
        self.passes: dict[Any, Callable[..., Any]] = {}

    def __call__(self, *tensors: Tensor) -> Any:
        """Run the pass for these sizes; make it, and the one back, where it is missing."""
        sizes = tuple(x.shape for x in tensors)
        if sizes not in self.passes:
            self.passes[sizes] = self.ahead_of_time(*tensors)
        return self.passes[sizes](*tensors, *self.outside)

    def ahead_of_time(self, *examples: Tensor) -> Callable[..., Any]:
        """Both passes as one differentiable function. It is the function itself where a graph can't hold all of it."""
        count, given = len(examples), (*examples, *self.outside)
        result = self.function(*examples)

        def joint(*values: Tensor) -> Any:
            fresh = [x.detach().requires_grad_(each.requires_grad) for x, each in zip(values, examples, strict=False)]
            with enable_grad():
                result = self.function(*fresh)
            sources = [x for x in (*fresh, *self.outside) if x.requires_grad]
            return (result, *grad(result, sources, values[-1], allow_unused=True))

        if not (isinstance(result, Tensor) and result.requires_grad):
            return lambda *tensors: self.function(*tensors[:count])
        traced = trace(joint, *given, ones_like(result))
        if any(each.read != "shape" for each in traced.guards):
            return lambda *tensors: self.function(*tensors[:count])
        forward, backward = partition(simplify(traced), CHEAP)
        forward = fuse(forward, *given)
        backward = fuse(backward, *run(forward, *given)[1], ones_like(result))
        self.graphs += [forward, backward]
        return differentiable(forward, backward)


def differentiable(forward: Graph, backward: Graph) -> Callable[..., Tensor]:
    """A function of a forward graph's inputs, whose gradients come from the backward graph."""

    class CompiledFunction(Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Tensor) -> Tensor:
            result, saved = run(forward, *inputs)
            ctx.save_for_backward(*saved)
            return result

        @staticmethod
        def backward(ctx: Any, *grads: Tensor) -> Any:
            found = iter(run(backward, *ctx.saved_tensors, *grads))
            return tuple(next(found) if each else None for each in ctx.needs_input_grad)

    return CompiledFunction.apply


def guards(args: tuple[Any, ...]) -> dict[str, Any]:
    """What a variant takes for granted, by name: the grad mode, and for each argument what is checked of it."""
    found: dict[str, Any] = {"is_grad_enabled()": is_grad_enabled()}
    symbols: dict[int, str] = {}
    first: dict[Any, str] = {}
    for number, x in enumerate(args):
        name = f"args[{number}]"
        if not isinstance(x, Tensor):
            found[name] = type(x).__name__, repr(x)
            continue
        for each in ("dtype", "device", "requires_grad"):
            found[f"{name}.{each}"] = getattr(x, each)
        found[f"{name}.is_contiguous()"] = x.is_contiguous()
        found[f"{name}.shape"] = tuple(n if n < 2 else symbols.setdefault(n, f"s{len(symbols)}") for n in x.shape)
        found[f"{name} is"] = first.setdefault(key(x), name)
    return found


class CompiledCallable:
    """A function and its compiled variants, by guards; a call that fits none compiles another one, up to a limit."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.reasons = function, list[str]()
        self.variants: dict[tuple[Any, ...], Fused | TwoPasses] = {}

    @property
    def graphs(self) -> list[Graph]:
        """The graphs of all variants."""
        return [graph for each in self.variants.values() for graph in each.graphs]

    def __call__(self, *args: Any) -> Any:
        """Run the variant whose guards hold. Inside another trace the function runs itself, so that it is inlined."""
        found = tuple(guards(args).items())
        if found not in self.variants:
            if LAYERS["trace"] is not None or len(self.variants) == RECOMPILE_LIMIT:
                return self.function(*args)
            if self.variants:
                last = next(reversed(self.variants))
                self.reasons.append(next((each[0] for each in found if each not in last), "the number of arguments"))
            self.variants[found] = self.capture(args)
        return self.variants[found](*[x for x in args if isinstance(x, Tensor)])

    def capture(self, args: tuple[Any, ...]) -> Fused | TwoPasses:
        """A variant for these arguments, with two passes if a tensor requires a gradient."""

        def call(*tensors: Tensor) -> Any:
            rest = iter(tensors)
            return self.function(*[next(rest) if isinstance(x, Tensor) else x for x in args])

        examples = [x for x in args if isinstance(x, Tensor)]
        with no_grad():
            constants = tensors_in([each for step in trace(call, *examples).steps for each in step.args])
        outside = list({id(x): x for x in constants if x.requires_grad}.values())
        if not (is_grad_enabled() and any(x.requires_grad for x in (*examples, *outside))):
            return Fused(call)
        return TwoPasses(call, outside)


def compile(function: Callable[..., Any]) -> CompiledCallable:
    """The function, compiled when it is called: `compile(f)(x, 2.0)`. Its arguments are tensors and Python's values."""
    return CompiledCallable(function)
