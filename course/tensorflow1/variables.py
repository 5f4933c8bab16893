"""Variables, their initial values, and the scopes by which several parts of a program share them.

Source: https://www.tensorflow.org/api_docs/python/tf/compat/v1/variable_scope
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import minitorch as torch
from course.tensorflow1.graph import Graph, Operation, Tensor, get_default_graph
from course.tensorflow1.operations import constant, convert, group

Initializer = Callable[[tuple[int, ...]], Tensor]
AUTO_REUSE = "AUTO_REUSE"
"""A scope's `reuse`: share what is there, create what isn't."""


class Variable:
    """State that outlives a run. Its value is in a session, once `initializer` has run there.

    It is four nodes: `name`, `name/initial_value`, `name/Assign` and `name/read`.
    """

    def __init__(self, initial_value: Any, trainable: bool = True, name: str = "Variable") -> None:
        graph = get_default_graph()
        with graph.name_scope(name) as scope:
            initial = initial_value() if callable(initial_value) else convert(initial_value, "initial_value")
            self.op = graph.create_op("VariableV2", (), scope)
            self.initial_value = initial
            self.initializer = graph.create_op("Assign", [initial], "Assign", {"variable": self.op.name})
            self.read = graph.create_op("Identity", [self.op.outputs[0]], "read").outputs[0]
        self.trainable = trainable
        graph.variables.append(self)

    @property
    def name(self) -> str:
        """The name of its tensor: "w:0"."""
        return f"{self.op.name}:0"

    @property
    def graph(self) -> Graph:
        """The graph that it belongs to."""
        return self.op.graph

    def assign(self, value: Any, name: str = "Assign") -> Tensor:
        """A node that overwrites it."""
        return self._write("Assign", value, name)

    def assign_add(self, value: Any, name: str = "AssignAdd") -> Tensor:
        """A node that adds to it."""
        return self._write("AssignAdd", value, name)

    def assign_sub(self, value: Any, name: str = "AssignSub") -> Tensor:
        """A node that subtracts from it."""
        return self._write("AssignSub", value, name)

    def _write(self, type: str, value: Any, name: str) -> Tensor:
        with self.graph.as_default():
            inputs = [convert(value, "value")]
            return self.graph.create_op(type, inputs, name, {"variable": self.op.name}).outputs[0]

    def __getattr__(self, name: str) -> Any:
        """Methods are those of its value."""
        if name.startswith("__") or name == "read":
            raise AttributeError(name)
        return getattr(self.read, name)

    def __repr__(self) -> str:
        return f"<Variable '{self.name}'>"


def _as_value(name: str) -> Callable[..., Any]:
    return lambda variable, *values: getattr(variable.read, name)(*values)


_BOTH_WAYS = ["add", "sub", "mul", "truediv", "pow", "matmul"]
for _name in [*_BOTH_WAYS, *(f"r{name}" for name in _BOTH_WAYS), "gt", "lt", "ge", "le", "neg", "bool", "iter"]:
    setattr(Variable, f"__{_name}__", _as_value(f"__{_name}__"))


class VariableScope:
    """A part of the names that `get_variable` gives, and whether it shares what is there."""

    def __init__(self, name: str, reuse: Any, original_name_scope: str) -> None:
        self.name, self.reuse, self.original_name_scope = name, reuse, original_name_scope

    def reuse_variables(self) -> None:
        """Share from now on."""
        self.reuse = True


def get_variable_scope() -> VariableScope:
    """The scope that `get_variable` works in."""
    scopes: list[VariableScope] = get_default_graph().variable_scopes
    return scopes[-1] if scopes else VariableScope("", False, "")


@contextmanager
def variable_scope(name_or_scope: str | VariableScope, reuse: Any = None) -> Iterator[VariableScope]:
    """Put `name/` before the names that `get_variable` gives, and open a name scope for everything else.

    Entered a second time the part for `get_variable` is the same; the name scope gets a number. With `reuse` True
    variables that are there are shared and no other created; AUTO_REUSE does either. It is inherited.
    """
    outer, graph = get_variable_scope(), get_default_graph()
    if isinstance(name_or_scope, VariableScope):
        path, last = name_or_scope.name, name_or_scope.name.rpartition("/")[2]
        inherited = name_or_scope.reuse
    else:
        path, last = f"{outer.name}/{name_or_scope}" if outer.name else name_or_scope, name_or_scope
        inherited = outer.reuse
    with graph.name_scope(last) as name_scope:
        scope = VariableScope(path, reuse or inherited, name_scope)
        graph.variable_scopes.append(scope)
        try:
            yield scope
        finally:
            graph.variable_scopes.pop()


def get_variable(
    name: str,
    shape: Sequence[int] | None = None,
    dtype: Any = torch.float32,
    initializer: Any = None,
    trainable: bool = True,
) -> Variable:
    """The variable of this name in the variable scope: a new one, or the one that is there if the scope shares.

    Name scopes don't matter. `initializer` is a function of the shape, or a value; Glorot's uniform distribution if
    None. Raises ValueError when the variable is there and not to be shared, is to be shared and isn't there, has
    another shape or type, or has no shape.
    """
    scope, graph = get_variable_scope(), get_default_graph()
    full = f"{scope.name}/{name}" if scope.name else name
    wanted = None if shape is None else tuple(shape)
    if full in graph.shared:
        variable: Variable
        variable, found, found_dtype = graph.shared[full]
        if not scope.reuse:
            raise ValueError(
                f"Variable {full} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in "
                "VarScope?"
            )
        if wanted not in (None, found):
            raise ValueError(f"Trying to share variable {full}, but specified shape {wanted} and found shape {found}.")
        if dtype is not found_dtype:
            names = [str(each).removeprefix("torch.") for each in (dtype, found_dtype)]
            raise ValueError(
                f"Trying to share variable {full}, but specified dtype {names[0]} and found dtype {names[1]}."
            )
        return variable
    if scope.reuse is True:
        raise ValueError(
            f"Variable {full} does not exist, or was not created with tf.get_variable(). Did you mean to set "
            "reuse=tf.AUTO_REUSE in VarScope?"
        )
    if wanted is None and (initializer is None or callable(initializer)):
        raise ValueError(f"Variable {name} did not get an initializer, so its `shape` argument must be specified.")
    with graph.name_scope(None):
        if callable(initializer) or initializer is None:
            make: Initializer = initializer or glorot_uniform_initializer()

            def first() -> Tensor:
                with graph.name_scope("Initializer"):
                    return make(wanted or ())

            variable = Variable(first, trainable, full)
        else:
            variable = Variable(initializer, trainable, full)
            value = variable.initial_value.op.attributes.get("value")
            wanted = None if value is None else tuple(value.shape)
    graph.shared[full] = (variable, wanted, dtype)
    return variable


def global_variables() -> list[Variable]:
    """All variables of the default graph."""
    return list(get_default_graph().variables)


def trainable_variables() -> list[Variable]:
    """The variables that an optimizer changes by default."""
    return [variable for variable in global_variables() if variable.trainable]


def global_variables_initializer(name: str = "init") -> Operation:
    """A node that gives each variable its initial value."""
    return group(*(variable.initializer for variable in global_variables()), name=name)


def constant_initializer(value: Any = 0.0, name: str = "Const") -> Initializer:
    """The same value everywhere."""
    return lambda shape: constant(torch.full(shape, value), name=name)


def zeros_initializer() -> Initializer:
    """Zeros."""
    return constant_initializer(0.0, "zeros")


def ones_initializer() -> Initializer:
    """Ones."""
    return constant_initializer(1.0, "ones")


def _random(type: str, name: str, shape: Sequence[int], first: float, second: float) -> Tensor:
    attributes = {"shape": tuple(shape), "bounds": (first, second)}
    return get_default_graph().create_op(type, (), name, attributes).outputs[0]


def random_uniform(shape: Sequence[int], minval: float = 0.0, maxval: float = 1.0) -> Tensor:
    """A node that gives new numbers in [minval, maxval) in each run."""
    return _random("RandomUniform", "random_uniform", shape, minval, maxval)


def random_normal(shape: Sequence[int], mean: float = 0.0, stddev: float = 1.0) -> Tensor:
    """A node that gives new normal numbers in each run."""
    return _random("RandomStandardNormal", "random_normal", shape, mean, stddev)


def random_uniform_initializer(minval: float = 0.0, maxval: float = 1.0) -> Initializer:
    """Uniform numbers in [minval, maxval)."""
    return lambda shape: random_uniform(shape, minval, maxval)


def random_normal_initializer(mean: float = 0.0, stddev: float = 1.0) -> Initializer:
    """Normal numbers."""
    return lambda shape: random_normal(shape, mean, stddev)


def glorot_uniform_initializer() -> Initializer:
    """Uniform numbers in ±√(6 / (rows + columns)), of a matrix."""

    def initialize(shape: tuple[int, ...]) -> Tensor:
        rows, columns = (*shape, 1, 1)[:2] if len(shape) > 1 else (math.prod(shape),) * 2
        bound = math.sqrt(6 / max(1, rows + columns))
        return random_uniform(shape, -bound, bound)

    return initialize
