"""Tensor operations in capture: each becomes a node, and runs on tensors without data to know what the result is.

A tensor on the meta device has no data, so an operation whose result depends on data fails here, and the function
runs eagerly: this is what makes capture sound. PyTorch has `FakeTensor` for it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

from minitorch._dynamo.exc import Break, NeedsStatic
from minitorch._dynamo.guards import Guards
from minitorch._dynamo.values import Items, Known, Lazy, Mapping, Symbol, TensorValue, Value
from minitorch.devices import device
from minitorch.dispatch.declaration import METHODS, NAMESPACES
from minitorch.dtypes import dtype
from minitorch.fx.graph import Graph
from minitorch.fx.namespace import snake_case
from minitorch.layout import layout, memory_format
from minitorch.library.operators import OpOverload, OpOverloadPacket
from minitorch.nn.parameter import Parameter
from minitorch.ops.creation.filled import empty_strided
from minitorch.size import Size
from minitorch.tensor import Tensor

META = device("meta")
FACTS = {
    "dim", "element_size", "is_complex", "is_contiguous", "is_floating_point", "is_signed", "ndimension", "nelement",
    "numel", "stride",
}  # fmt: skip
"""What is known of a tensor without its data."""

OF_SIZES = {"is_contiguous", "nelement", "numel", "stride"}
"""Facts that another size changes."""

FORBIDDEN = {
    "apply_", "backward", "cpu", "cuda", "data_ptr", "detach_", "item", "map_", "numpy", "pin_memory", "register_hook",
    "requires_grad_", "resize_", "resize_as_", "retain_grad", "set_", "share_memory_", "squeeze_", "storage",
    "swapaxes_", "swapdims_", "t_", "tolist", "transpose_", "type", "unsqueeze_", "untyped_storage",
}  # fmt: skip
"""Methods that read data, or that change more of a tensor than its elements."""

CREATES = {
    "arange", "empty", "eye", "full", "linspace", "logspace", "ones", "rand", "randint", "randn", "randperm",
    "scalar_tensor", "tensor", "zeros", "tril_indices", "triu_indices",
}  # fmt: skip
"""Functions that make a tensor of no other."""

PLAIN = (
    bool, int, float, complex, str, bytes, type(None), type(...), Size, dtype, device, memory_format, layout, slice,
)  # fmt: skip
"""The types whose values are the same when they are equal."""


class GraphRecorder:
    """The graph, the guards, and the tensors of a capture."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.guards = Guards()
        self.inputs: list[str] = []
        self.examples: list[Any] = []
        self.dynamic: dict[str, set[int]] = {}
        self.has_symbols = False
        self.calls = 0
        self._tensors: dict[int, TensorValue] = {}
        self._sizes: dict[str, Symbol] = {}

    # Inputs

    def placeholder(self, source: str, example: Any) -> Any:
        """A node for what is found at a source."""
        name = snake_case("".join(each if each.isalnum() else "_" for each in source)).strip("_")
        while "__" in name:
            name = name.replace("__", "_")
        self.inputs.append(source)
        self.examples.append(example)
        last = next((each for each in reversed(self.graph.nodes) if each.op == "placeholder"), None)
        with self.graph.inserting_before() if last is None else self.graph.inserting_after(last):
            return self.graph.placeholder(f"{name}_")

    def tensor(self, value: Tensor, source: str) -> TensorValue:
        """A tensor from outside, an input of the graph."""
        known = self._tensors.get(id(value))
        dynamic = self.dynamic.get(source, set()) & set(range(value._array.ndim))
        self.guards.tensor(source, value, dynamic)
        if known is not None:
            return known
        if type(value) not in (Tensor, Parameter) or value._device.type != "cpu" or value._bits:
            raise Break(f"a tensor of type {type(value).__name__} on {value._device}")
        fake = empty_strided(tuple(value.shape), value.stride(), dtype=value.dtype, device=META)
        fake.requires_grad_(value.requires_grad)
        self.has_symbols = self.has_symbols or bool(dynamic)
        result = TensorValue(self.placeholder(source, value), fake, source)
        result.node.meta["example_value"] = fake
        self._tensors[id(value)] = result
        return result

    # Arguments

    def argument(self, value: Value, in_graph: bool) -> Any:
        """A value as nodes have it, or as the operation on tensors without data gets it."""
        value = self.looked_at(value)
        if isinstance(value, TensorValue):
            return value.node if in_graph else value.fake
        if isinstance(value, Symbol):
            return value.node if in_graph else value.hint
        if isinstance(value, Known) and isinstance(value.value, PLAIN):
            return META if isinstance(value.value, device) and not in_graph else value.value
        if isinstance(value, Items):
            parts = [self.argument(each, in_graph) for each in value.items]
            return slice(*parts) if value.kind is slice else list(parts) if value.kind is list else tuple(parts)
        raise Break(f"a tensor operation gets {_named(value)}")

    def looked_at(self, value: Value) -> Value:
        """The value, with its guards."""
        raise NotImplementedError

    def size(self, value: TensorValue, dim: int) -> Value:
        """A tensor's size in a dimension: a symbol where it may change."""
        dims = self.dynamic.get(value.source or "", set())
        if dim in dims:
            source = f"{value.source}._array.shape[{dim}]"
            if source not in self._sizes:
                size = value.fake.shape[dim]
                self._sizes[source] = Symbol(self.placeholder(source, size), size, source)
            return self._sizes[source]
        self.static_unless_input(value)
        return Known(value.fake.shape[dim])

    def static_unless_input(self, value: TensorValue) -> None:
        """Sizes of what was computed can't be told from those of the inputs: then no input may have a symbol.

        Raises NeedsStatic.
        """
        if self.has_symbols and value.source is None:
            raise NeedsStatic

    # Operations

    def record(self, kind: str, target: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """Adds an operation, and gives its result."""
        name = target if isinstance(target, str) else target.__name__
        fakes = [self.argument(each, False) for each in args]
        options = {key: self.argument(each, False) for key, each in kwargs.items()}
        if "out" in kwargs:
            raise Break(f"{name} with out=")
        if options.get("device") is not None:
            options["device"] = META
        if kind == "call_method" and name == "to":
            fakes = [META if isinstance(each, str) else each for each in fakes]
        has_tensor = any(_holds_tensor(each) for each in (*args, *kwargs.values()))
        if not has_tensor:
            if name not in CREATES or kind != "call_function":
                raise Break(f"calls {name} without a tensor")
            options["device"] = META
        function = getattr(fakes[0], target) if kind == "call_method" else target
        try:
            result = function(*fakes[1:], **options) if kind == "call_method" else function(*fakes, **options)
        except (NeedsStatic, Break):
            raise
        except Exception as error:
            raise Break(f"{name}: {error}") from None
        if name in FACTS:
            if name in OF_SIZES and self.has_symbols:
                raise NeedsStatic
            return Known(result)
        self.calls += 1
        nodes = tuple(self.argument(each, True) for each in args)
        node = self.graph.create_node(kind, target, nodes, {key: self.argument(v, True) for key, v in kwargs.items()})
        if target is operator.setitem:
            return Known(None)
        return self.result(name, node, result)

    def result(self, name: str, node: Any, result: Any) -> Value:
        """What an operation returned, as a value."""
        if isinstance(result, Tensor):
            if result._device is not META:
                raise Break(f"{name} gives a tensor on {result._device}")
            node.meta["example_value"] = result
            return TensorValue(node, result)
        if isinstance(result, (tuple, list)) and result and all(isinstance(each, Tensor) for each in result):
            if self.has_symbols and not hasattr(result, "_fields"):
                raise NeedsStatic  # how many there are may depend on a size
            parts: list[Value] = []
            for place, each in enumerate(result):
                parts.append(self.result(name, self.graph.call_function(operator.getitem, (node, place)), each))
            return Items(type(result), parts)
        raise Break(f"{name} returns {type(result).__name__}")


def is_operation(function: Callable[..., Any]) -> bool:
    """Whether a function is one of minitorch's on tensors, or an operator of `torch.library`."""
    if isinstance(function, (OpOverload, OpOverloadPacket)):
        return True
    if not isinstance(function, FunctionType):
        return False
    name = function.__name__
    return any(names.get(name) is function for names in NAMESPACES.values()) or _is_layer(function)


def _is_layer(function: Callable[..., Any]) -> bool:
    from minitorch.nn import functional  # loads the layers, which the caller has loaded

    return getattr(functional, function.__name__, None) is function


def is_method(name: str) -> bool:
    """Whether a method of tensors may be recorded."""
    return name not in FORBIDDEN and (name in METHODS or name in ("detach", "dim", "size", "to"))


def _holds_tensor(value: Value) -> bool:
    if isinstance(value, Items):
        return any(_holds_tensor(each) for each in value.items)
    return isinstance(value, TensorValue) or (isinstance(value, Lazy) and isinstance(value.value, Tensor))


def _named(value: Value) -> str:
    if isinstance(value, Known):
        return f"an object of type {type(value.value).__name__}"
    return "a dict" if isinstance(value, Mapping) else f"a {type(value).__name__.lower()}"
