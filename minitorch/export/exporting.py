"""`torch.export.export`: a module becomes one graph, or there is an error that says why not.

Source: https://docs.pytorch.org/docs/stable/export.html
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

from minitorch._dynamo.capture import Capture, unchanged
from minitorch._dynamo.exc import Break, NeedsStatic, Unsupported, UserError
from minitorch._dynamo.recording import PLAIN
from minitorch._dynamo.values import Items, Known, Symbol, TensorValue, Value
from minitorch._dynamo.values import Mapping as MappingValue
from minitorch.export.dims import Dim, by_source
from minitorch.export.program import CallSpec, ExportedProgram, ValueRanges, leaves_of
from minitorch.export.shapes import types, works
from minitorch.export.signature import ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec
from minitorch.fx.aten import named, overload
from minitorch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from minitorch.fx.graph import Graph
from minitorch.fx.node import Node, map_arg
from minitorch.nn.modules.module import Module
from minitorch.tensor import Tensor

FAR = 1 << 20
"""A size that stands for all large ones, where a dimension has no upper bound."""


def export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
) -> ExportedProgram:
    """Captures a module as one graph of ATen operations. Nothing is computed.

    Args:
        mod: the module.
        args, kwargs: an example of its arguments.
        dynamic_shapes: which sizes may change, as `Dim`s by dimension, in the structure of the arguments: a dict by
            name, or a tuple. Other sizes are constants of the program.
        strict: accepted; the capture reads bytecode in either case.
        preserve_module_call_signature: accepted, and changes nothing.

    Raises:
        ValueError: `mod` is no module.
        UserError: `dynamic_shapes` doesn't fit, or the code works for one size of a named `Dim` only.
        GuardOnDataDependentSymNode: Python decides something by a tensor's data.
        Unsupported: the module does something else that a graph can't hold.
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    signature = inspect.signature(type(mod).forward)
    bound = signature.bind(mod, *args, **(kwargs or {}))
    given = {name: each for name, each in bound.arguments.items() if name != next(iter(signature.parameters))}
    if any(signature.parameters[name].kind.name.startswith("VAR") for name in given):
        raise NotImplementedError("export of a module whose forward has *args or **kwargs")
    bound.apply_defaults()
    asked = by_source(given, dynamic_shapes)
    positional = list(given)[: len(args)]
    try:
        exporting = Exporting(mod, bound.arguments, given, asked)
        program = exporting.program(positional)
        constant = exporting.constant_sizes()
    except NeedsStatic:  # the code looks at a size: which one isn't known
        constant = [(source, dim) for source, dims in asked.items() for dim in dims]
    for source, dim in constant:
        if asked[source][dim] is not Dim.AUTO:
            raise _specialized(source, dim, asked[source][dim], given)
        del asked[source][dim]
    if constant:
        return Exporting(mod, bound.arguments, given, asked).program(positional)
    exporting.check_ranges()
    return program


class Exporting:
    """One export.

    Args:
        mod: the module.
        arguments: the arguments of `forward`, with defaults and the module itself.
        given: those that the caller gave.
        asked: what is asked of each dimension, by the source of the tensor.
    """

    def __init__(
        self, mod: Module, arguments: Mapping[str, Any], given: Mapping[str, Any], asked: dict[str, dict[int, Any]]
    ) -> None:
        self.mod, self.arguments, self.given, self.asked = mod, arguments, given, asked
        self.capture = Capture({source: set(dims) for source, dims in asked.items()}, set(), effects=False)
        self.graph = Graph()
        self.specs: list[InputSpec] = []
        self.constants: dict[str, Any] = {}
        self.examples: dict[str, Tensor] = {}
        self.symbols: dict[str, dict[int, str]] = {}
        self.sizes: dict[str, str] = {}
        self.nodes: dict[Node, Any] = {}

    @unchanged
    def program(self, positional: list[str]) -> ExportedProgram:
        """Captures, and makes the program."""
        arguments = {**self.arguments, "self": self.mod}
        try:
            result = self.capture.start(self.mod, arguments).run()
            outputs: list[Any] = []
            structure = self._structure(result, outputs)
        except Break as error:
            raise _error(error) from None
        leaves = leaves_of(self.given)
        guards = self._guards(leaves)
        self._inputs(leaves)
        self._operations()
        self.graph.output(map_arg(tuple(outputs), self.nodes.__getitem__))
        named_outputs = [self.nodes[each] if isinstance(each, Node) else each for each in outputs]
        specs = [
            OutputSpec(OutputKind.USER_OUTPUT, each.name) if isinstance(each, Node)
            else OutputSpec(OutputKind.USER_OUTPUT, value=each)
            for each in named_outputs
        ]  # fmt: skip
        return ExportedProgram(
            self.graph,
            ExportGraphSignature(self.specs, specs),
            {**dict(self.mod.named_parameters()), **dict(self.mod.named_buffers())},
            self.constants,
            CallSpec(positional, [name for name in self.given if name not in positional], leaves, guards, structure),
            self._ranges(),
            types(self.graph, self.examples, self.symbols),
            (tuple(self.given.values()), {}),
        )

    def _structure(self, value: Value, outputs: list[Any]) -> Any:
        """The structure of a result, whose tensors and constants are added to the outputs."""
        value = self.capture.looked_at(value)
        if isinstance(value, Items) and value.kind in (list, tuple):
            return value.kind(self._structure(each, outputs) for each in value.items)
        if isinstance(value, MappingValue):
            return {key: self._structure(each, outputs) for key, each in value.items.items()}
        if isinstance(value, (TensorValue, Symbol)):
            outputs.append(value.node)
        elif isinstance(value, Known) and isinstance(value.value, PLAIN):
            outputs.append(value.value)
        else:
            raise Break(f"returns a {type(value).__name__.lower()}")
        return len(outputs) - 1

    # Inputs

    def _inputs(self, leaves: list[str]) -> None:
        """The placeholders: parameters, buffers, other tensors that the module has, and what the caller gives."""
        by_id: dict[int, Node] = {}
        persistent = set(self.mod.state_dict(keep_vars=True))
        for kind, letter, tensors in (
            (InputKind.PARAMETER, "p", self.mod.named_parameters()),
            (InputKind.BUFFER, "b", self.mod.named_buffers()),
        ):
            for target, each in tensors:
                held = None if kind is InputKind.PARAMETER else target in persistent
                name = f"{letter}_{target.replace('.', '_')}"
                by_id[id(each)] = self._placeholder(InputSpec(kind, name, target, held), each)
        scope = dict(self.given)
        examples = {where: eval(where, {}, scope) for where in leaves}
        own = {id(each) for each in examples.values()}
        for each in self.capture.examples:
            if isinstance(each, Tensor) and id(each) not in by_id and id(each) not in own:
                name = f"lifted_tensor_{len(self.constants)}"
                self.constants[name] = each
                by_id[id(each)] = self._placeholder(InputSpec(InputKind.CONSTANT_TENSOR, f"c_{name}", name), each)
        for where, each in examples.items():
            name = re.sub(r"\W+", "_", where.replace("'", "")).strip("_")
            node = self._placeholder(InputSpec(InputKind.USER_INPUT, name), each, self._names_of(where))
            by_id.setdefault(id(each), node)
        placeholders = [node for node in self.capture.graph.nodes if node.op == "placeholder"]
        for node, source, example in zip(placeholders, self.capture.inputs, self.capture.examples, strict=True):
            if isinstance(example, Tensor):
                self.nodes[node] = by_id[id(example)]
            else:
                tensor, dim = _size_of(source)
                size = overload("sym_size", "int")
                owner = by_id[id(eval(_readable(tensor), {}, scope))]
                self.nodes[node] = self.graph.create_node("call_function", size, (owner, dim), {}, "sym_size_int_1")

    def _placeholder(self, spec: InputSpec, example: Any, sizes: dict[int, str] | None = None) -> Node:
        node = self.graph.placeholder(spec.name)
        if spec.name not in {each.name for each in self.graph.nodes}:
            node.name = spec.name  # also where it hides a builtin
        spec.name = node.name
        self.specs.append(spec)
        if isinstance(example, Tensor):
            self.examples[node.name] = example
            self.symbols[node.name] = sizes or {}
        return node

    def _names_of(self, where: str) -> dict[int, str]:
        """The names of the sizes of an input that may change."""
        dims = next((dims for source, dims in self.asked.items() if _readable(source) == where), {})
        names = {}
        for dim, each in dims.items():
            key = each.__name__ if isinstance(each, Dim) else f"{where} {dim}"
            names[dim] = self.sizes.setdefault(key, f"s{len(self.sizes)}")
        return names

    def _operations(self) -> None:
        """Copies the captured operations, under ATen's names."""
        for node in self.capture.graph.nodes:
            if node.op not in ("call_function", "call_method"):
                continue
            found = named(node)
            if found is None:
                copy = self.graph.node_copy(node, self.nodes.__getitem__)
            else:
                function, args, kwargs = found
                args, kwargs = map_arg(args, self.nodes.__getitem__), map_arg(kwargs, self.nodes.__getitem__)
                copy = self.graph.create_node("call_function", function, args, kwargs, str(function).split(".")[1])
                copy.meta = dict(node.meta)
            self.nodes[node] = copy

    # Guards

    def _guards(self, leaves: list[str]) -> list[str]:
        """What must be true of the inputs. Raises UserError where a named size may not have all its values."""
        scope = dict(self.given)
        first: dict[str, str] = {}
        found = []
        for where in leaves:
            value = eval(where, {}, scope)
            if not isinstance(value, Tensor):
                found.append(f"{where} == {value!r}")
                continue
            found.append(f"len({where}.size()) == {value.ndim}")
            dims = next((dims for source, dims in self.asked.items() if _readable(source) == where), {})
            for dim, size in enumerate(value.shape):
                here, asked = f"{where}.size()[{dim}]", dims.get(dim)
                if asked is None:
                    found.append(f"{here} == {size}")
                elif isinstance(asked, Dim):
                    found += [f"{here} == {first[asked.__name__]}"] if asked.__name__ in first else []
                    first.setdefault(asked.__name__, here)
                    found += [f"{here} >= {asked.min}"] if asked.min > 2 else []  # as in PyTorch
                    found += [f"{here} <= {asked.max}"] if asked.max is not None else []
            found.append(f"str({where}.dtype) == '{value.dtype}'")
        for expression in self.capture.guards.expressions:
            if "._array.shape[" in expression and "L['self']" not in expression and self._is_of_sizes(expression):
                found.append(self._checked(expression))
        return found

    def _is_of_sizes(self, expression: str) -> bool:
        """Whether a guard says something of sizes that may change."""
        sizes = {(source, dim) for source, dims in self.asked.items() for dim in dims}
        kind, _ = self.capture.guards.expressions[expression]
        return kind in ("SHAPE_ENV", "EQUALS_MATCH") and any(_size_text(*each) in expression for each in sizes)

    def _checked(self, expression: str) -> str:
        """A guard on sizes as the program checks it. Raises UserError if a named size has values that it excludes."""
        for source, dims in self.asked.items():
            for dim, asked in dims.items():
                text = _size_text(source, dim)
                if text not in expression or not isinstance(asked, Dim):
                    continue
                for size in (max(asked.min, 2), FAR if asked.max is None else asked.max):
                    if not eval(expression.replace(text, str(size)), {"L": self.given}):
                        if _is_of_one_size(expression, text, asked, self.given):
                            raise _specialized(source, dim, asked, self.given)
                        raise UserError(
                            _violated(asked.__name__)
                            + f"  - Not all values of {asked.__name__} = {source}.size()[{dim}] in the specified range "
                            f"satisfy the generated guard {_guard_text(expression)}"
                        )
        return _guard_text(expression)

    # Sizes for which operations, which aren't run, have no result

    def constant_sizes(self) -> list[tuple[str, int]]:
        """The sizes that were to change, by source and dimension, while the operations take only the example's."""
        tried = [(source, dim) for source, dim, _, trials in self._trials() if not any(trials.values())]
        scope = dict(self.given)
        return tried + [
            (source, dim)
            for source, dims in self.asked.items()
            for dim in dims
            if eval(_readable(source), {}, scope).shape[dim] < 2  # 0 and 1 are no examples of a size that changes
        ]

    def check_ranges(self) -> None:
        """Raises UserError where operations refuse a size that a named one may have."""
        for source, dim, size, trials in self._trials():
            asked = self.asked[source][dim]
            refused = [each for each, taken in trials.items() if not taken]
            if isinstance(asked, Dim) and refused:
                symbol = self._names_of(_readable(source))[dim]
                least = size
                while least > 2 and self._works(symbol, least - 1):
                    least -= 1
                enough = max(refused) < least
                raise UserError(
                    _violated(asked.__name__)
                    + f"  - Not all values of {asked.__name__} = {source}.size()[{dim}] in the specified range work: "
                    f"{refused[0]} doesn't."
                    + f"\nSuggested fixes:\n  {asked.__name__} = Dim('{asked.__name__}', min={least})"
                    * enough
                )

    def _trials(self) -> Iterator[tuple[str, int, int, dict[int, bool]]]:
        """For each size that may change its source, its dimension, the example's, and whether others work.

        None is tried where the operations can't even be followed with the example's sizes. Sizes 0 and 1 aren't tried,
        since PyTorch takes no dynamic size for one of them.
        """
        if not works(self.graph, self.examples, self.symbols, {}):
            return
        for source, dims in self.asked.items():
            names, example = self._names_of(_readable(source)), eval(_readable(source), {}, dict(self.given))
            for dim, asked in dims.items():
                size, least, most = example.shape[dim], 2, None
                if isinstance(asked, Dim):
                    least, most = max(2, asked.min), asked.max
                others = (2, 3, size - 1, size + 1, size + 2, 2 * size + 1)
                inside = {each for each in others if least <= each != size > 1 and (most is None or each <= most)}
                trials = {each: self._works(names[dim], each) for each in sorted(inside)}
                if trials:
                    yield source, dim, size, trials

    def _works(self, symbol: str, size: int) -> bool:
        """Whether the operations take another size, alone or together with those that equal it in the example."""
        held = [
            (name, self.examples[owner].shape[dim]) for owner, of in self.symbols.items() for dim, name in of.items()
        ]
        own = dict(held)[symbol]
        together = {name: size for name, each in held if each == own}
        return any(works(self.graph, self.examples, self.symbols, each) for each in ({symbol: size}, together))

    def _ranges(self) -> dict[str, ValueRanges]:
        known = {each.__name__: each for dims in self.asked.values() for each in dims.values() if isinstance(each, Dim)}
        return {
            name: ValueRanges(known[key].min, known[key].max) if key in known else ValueRanges(0, None)
            for key, name in self.sizes.items()
        }


def _size_text(source: str, dim: int) -> str:
    return f"{source}._array.shape[{dim}]"


def _size_of(source: str) -> tuple[str, int]:
    tensor, _, dim = source.rpartition("._array.shape[")
    return tensor, int(dim[:-1])


def _readable(source: str) -> str:
    """A source as an expression on the arguments by name."""
    return re.sub(r"L\['(\w+)'\]", r"\1", source)


def _guard_text(expression: str) -> str:
    text = _readable(expression).replace("._array.shape[", ".size()[")
    if text.endswith(" is True"):
        return text.removesuffix(" is True").removeprefix("(").removesuffix(")")
    return f"not {text.removesuffix(' is False')}" if text.endswith(" is False") else text


def _is_of_one_size(guard: str, text: str, asked: Dim, given: Mapping[str, Any]) -> bool:
    """Whether of many sizes only the example's passes a guard in which it stands as `text`."""
    example = eval(text, {"L": given})
    few = range(max(asked.min, 2), min(asked.max or FAR, 2 * example + 3) + 1)
    return [size for size in few if eval(guard.replace(text, str(size)), {"L": given})] == [example]


def _specialized(source: str, dim: int, asked: Any, given: Mapping[str, Any]) -> UserError:
    """The error for a size that was to change and is a constant of the program."""
    size = eval(_readable(source), {}, dict(given)).shape[dim]
    name = getattr(asked, "__name__", f"{source}.size()[{dim}]")
    return UserError(
        _violated(name)
        + f"  - You marked {name} as dynamic but your code specialized it to be a constant ({size}). If you're using "
        "mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it with either "
        "Dim.STATIC or Dim.AUTO." + f"\nSuggested fixes:\n  {name} = {size}" * isinstance(asked, Dim)
    )


def _violated(name: str) -> str:
    return f"Constraints violated ({name})!\n"


def _error(error: Break) -> Exception:
    """The error for what can't be captured."""
    text = f"{error.reason}\n\nfrom user code:\n   {error.where}"
    if error.reason.startswith("Data-dependent") or "data of a tensor" in error.reason:
        return GuardOnDataDependentSymNode(f"Could not guard on data-dependent expression: {text}")
    return Unsupported(text)
