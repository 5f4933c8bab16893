"""The graph: operations are its nodes, tensors its edges. Nothing is computed here.

Names are given as in TensorFlow 1. Source: https://www.tensorflow.org/api_docs/python/tf/compat/v1/Graph
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

_VALID = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")


class Operation:
    """A node: what is computed (`type`), of which tensors, after which other operations.

    `attributes` holds what is fixed when the graph is built: a constant's value, a reduction's dimensions.
    """

    def __init__(
        self,
        graph: Graph,
        type: str,
        name: str,
        inputs: Iterable[Tensor] = (),
        attributes: dict[str, Any] | None = None,
        control_inputs: Iterable[Operation] = (),
        outputs: int = 1,
    ) -> None:
        self.graph, self.type, self.name = graph, type, name
        self.inputs = tuple(inputs)
        self.attributes = attributes or {}
        self.control_inputs = tuple(control_inputs)
        self.outputs = tuple(Tensor(self, index) for index in range(outputs))

    def get_attr(self, name: str) -> Any:
        """One of the attributes. Raises ValueError where there is none of this name."""
        if name not in self.attributes:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        return self.attributes[name]

    @property
    def before(self) -> tuple[Operation, ...]:
        """The operations that have to run before this one."""
        return (*(tensor.op for tensor in self.inputs), *self.control_inputs)

    def __repr__(self) -> str:
        return f"<Operation '{self.name}' type={self.type}>"


class Tensor:
    """An edge: a result of an operation, which has a value only while a session runs.

    `example` is the value that it has for the example of a trace; elsewhere None.
    """

    def __init__(self, op: Operation, value_index: int) -> None:
        self.op, self.value_index = op, value_index
        self.example: Any = None

    @property
    def name(self) -> str:
        """The operation's name and the number of the result: "add:0"."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def graph(self) -> Graph:
        """The graph that it belongs to."""
        return self.op.graph

    def consumers(self) -> list[Operation]:
        """The operations that take it."""
        return [op for op in self.graph.get_operations() if any(each is self for each in op.inputs)]

    def __repr__(self) -> str:
        return f"<Tensor '{self.name}' of {self.op.type}>"


class Graph:
    """Operations by name, and the scopes in which new ones get their names."""

    def __init__(self) -> None:
        self.operations: dict[str, Operation] = {}
        self.used: dict[str, int] = {}
        self.scope = ""
        self.controls: tuple[Operation, ...] = ()
        self.variables: list[Any] = []
        self.shared: dict[str, Any] = {}  # what get_variable has made, by name
        self.variable_scopes: list[Any] = []
        self.finalized = False
        self.is_traced = False  # whether symbols answer Python with their examples

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Have what is built in the block belong to this graph."""
        _default.append(self)
        try:
            yield self
        finally:
            _default.pop()

    def finalize(self) -> None:
        """Accept no more operations."""
        self.finalized = True

    def unique_name(self, name: str) -> str:
        """The name within the scope, with _1, _2, … where it is taken. Case doesn't tell names apart."""
        name = f"{self.scope}/{name}" if self.scope else name
        key = name.lower()
        number = self.used.get(key, 0)
        self.used[key] = number + 1
        if not number:
            return name
        while f"{key}_{number}" in self.used:
            number += 1
        self.used[f"{key}_{number}"] = 1
        return f"{name}_{number}"

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Put `name/` before the names of what is built in the block; a scope that was there already gets a number.

        A name that ends in "/" is entered again as it is, None leaves all scopes. Yields the scope with its "/".
        """
        if name:
            _check_name(name)
        outer = self.scope
        if not name:
            self.scope = ""
        else:
            self.scope = name[:-1] if name.endswith("/") else self.unique_name(name)
        try:
            yield f"{self.scope}/" if self.scope else ""
        finally:
            self.scope = outer

    @contextmanager
    def control_dependencies(self, before: Iterable[Any]) -> Iterator[None]:
        """Have what is built in the block run after these operations or tensors."""
        outer = self.controls
        self.controls = (*outer, *(each if isinstance(each, Operation) else each.op for each in before))
        try:
            yield
        finally:
            self.controls = outer

    def create_op(
        self, type: str, inputs: Iterable[Tensor], name: str, attributes: dict[str, Any] | None = None, outputs: int = 1
    ) -> Operation:
        """A new node. A name that ends in "/" is taken as it is, any other within the scope.

        Raises ValueError for a name that no node can have or a tensor of another graph, RuntimeError when finalized.
        """
        if self.finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        _check_name(name)
        inputs = tuple(inputs)
        for tensor in inputs:
            if tensor.graph is not self:
                raise ValueError(f"{tensor} must be from the graph that '{name}' is built in.")
        unique = name[:-1] if name.endswith("/") else self.unique_name(name)
        op = self.operations[unique] = Operation(self, type, unique, inputs, attributes, self.controls, outputs)
        return op

    def get_operations(self) -> list[Operation]:
        """All nodes, in the order in which they were built."""
        return list(self.operations.values())

    def get_operation_by_name(self, name: str) -> Operation:
        """The node of a name. Raises KeyError where there is none."""
        if name not in self.operations:
            raise KeyError(f"The name '{name}' refers to an Operation not in the graph.")
        return self.operations[name]

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor of a name such as "add:0". Raises KeyError where there is none, ValueError for a node's name."""
        op_name, colon, number = name.partition(":")
        if not colon:
            raise ValueError(
                f"The name '{name}' refers to an Operation, not a Tensor. Tensor names must be of the form "
                '"<op_name>:<output_index>".'
            )
        if op_name not in self.operations:
            raise KeyError(
                f"The name '{name}' refers to a Tensor which does not exist. The operation, '{op_name}', does not "
                "exist in the graph."
            )
        outputs = self.operations[op_name].outputs
        if not number.isdecimal() or int(number) >= len(outputs):
            raise KeyError(
                f"The name '{name}' refers to a Tensor which does not exist. The operation, '{op_name}', exists but "
                f"only has {len(outputs)} outputs."
            )
        return outputs[int(number)]


def _check_name(name: str) -> None:
    if not _VALID.match(name):
        raise ValueError(f"`{name}` is not a valid node name. Accepted names conform to Regex /{_VALID.pattern}/")


_default = [Graph()]


def get_default_graph() -> Graph:
    """The graph that operations are added to."""
    return _default[-1]


def reset_default_graph() -> None:
    """Begin a new default graph. Raises AssertionError inside `as_default`."""
    if len(_default) > 1:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs.")
    _default[0] = Graph()


def name_scope(name: str | None) -> Any:
    """`Graph.name_scope` of the default graph."""
    return get_default_graph().name_scope(name)


def control_dependencies(before: Iterable[Any]) -> Any:
    """`Graph.control_dependencies` of the default graph."""
    return get_default_graph().control_dependencies(before)


def in_order(targets: Iterable[Operation], given: Iterable[Tensor] = ()) -> list[Operation]:
    """The operations that the targets need, each after those that it needs; what is given needs nothing."""
    known = {id(tensor) for tensor in given}
    done: dict[Operation, None] = {}
    waiting = [(op, False) for op in reversed(list(targets))]
    while waiting:
        op, ready = waiting.pop()
        if op in done:
            continue
        if ready:
            done[op] = None
            continue
        waiting.append((op, True))
        needed = [*(tensor.op for tensor in op.inputs if id(tensor) not in known), *op.control_inputs]
        waiting += [(each, False) for each in reversed(needed)]
    return list(done)
