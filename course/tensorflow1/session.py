"""Session: runs what a graph describes, and holds the values of its variables.

Source: https://www.tensorflow.org/api_docs/python/tf/compat/v1/Session
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import minitorch as torch
from course.tensorflow1.errors import FailedPreconditionError, InvalidArgumentError
from course.tensorflow1.graph import Graph, Operation, Tensor, get_default_graph, in_order
from course.tensorflow1.kernels import run_kernel
from minitorch.utils._pytree import tree_flatten, tree_unflatten

Values = dict[Tensor, Any]


class Session:
    """Runs a graph. Two sessions of one graph have variables of their own.

    `executed` names the operations that the last run needed, in the order in which they ran.
    """

    def __init__(self, graph: Graph | None = None) -> None:
        self.graph = graph or get_default_graph()
        self.variables: dict[str, Any] = {}
        self.executed: list[str] = []
        self.closed = False

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget the variables."""
        self.variables.clear()
        self.closed = True

    def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """The values of tensors, variables or names, in lists, tuples and dicts as they are given; None of operations.

        Only what these need is computed. `feed_dict` gives the values of placeholders, or of any other tensor instead
        of what would be computed.
        Raises RuntimeError when closed, TypeError and ValueError for what is not in the graph or doesn't fit, and an
        OpError where a node fails.
        """
        if self.closed:
            raise RuntimeError("Attempted to use a closed Session.")
        given = {self._key(key): value for key, value in (feed_dict or {}).items()}
        values = {tensor: _fed(tensor, value) for tensor, value in given.items()}
        self.executed = []
        leaves, shape = tree_flatten(fetches)
        targets = [self._element(each) for each in leaves]
        operations = [each.op if isinstance(each, Tensor) else each for each in targets if each not in values]
        with torch.no_grad():
            self._compute(operations, values)
        return tree_unflatten([values[each] if isinstance(each, Tensor) else None for each in targets], shape)

    def _compute(self, operations: Iterable[Operation], values: Values) -> None:
        """Run operations and what they need, and put the values beside those that are known."""
        for op in in_order(operations, values):
            self.executed.append(op.name)
            # A variable is looked at when it is used: something may have written to it since its node ran.
            held = {tensor: self.variables.get(tensor.op.name, values[tensor]) for tensor in op.inputs}
            result = self._value_of(op, [held[tensor] for tensor in op.inputs])
            results = result if len(op.outputs) > 1 else (result,) * len(op.outputs)
            # A tensor that was fed keeps the value that it was given.
            for tensor, value in zip(op.outputs, results, strict=True):
                values.setdefault(tensor, value)

    def _value_of(self, op: Operation, inputs: list[Any]) -> Any:
        if op.type == "Placeholder":
            wanted, dtype = op.attributes["shape"], str(op.attributes["dtype"]).removeprefix("torch.")
            shape = "" if wanted is None else f" and shape {_written(wanted)}"
            raise InvalidArgumentError(
                f"You must feed a value for placeholder tensor '{op.name}' with dtype {dtype}{shape}"
            )
        if op.type == "VariableV2":
            if op.name not in self.variables:
                raise FailedPreconditionError(f"Attempting to use uninitialized value {op.name}")
            return self.variables[op.name]
        if op.type in ("Assign", "AssignAdd", "AssignSub", "ApplyGradientDescent"):
            return self._assign(op, inputs)
        if op.type == "Cond":
            return self._branch(op.attributes["branches"][not bool(inputs[0])], op, inputs, {})
        if op.type == "While":
            return self._loop(op, inputs)
        return run_kernel(op, inputs)

    def _assign(self, op: Operation, inputs: list[Any]) -> Any:
        name = op.attributes["variable"]
        if op.type != "Assign" and name not in self.variables:
            raise FailedPreconditionError(f"Attempting to use uninitialized value {name}")
        value = inputs[0].clone()
        if op.type == "AssignAdd":
            value = self.variables[name] + value
        elif op.type == "AssignSub":
            value = self.variables[name] - value
        elif op.type == "ApplyGradientDescent":
            value = self.variables[name] - inputs[1] * value
        self.variables[name] = value
        return value

    def _branch(self, body: Any, op: Operation, inputs: list[Any], more: Values) -> Any:
        """The results of a body for the values that its operation was given."""
        values = dict(zip(op.inputs, inputs, strict=True)) | more
        self._compute([tensor.op for tensor in body.results if tensor not in values], values)
        results = tuple(values[tensor] for tensor in body.results)
        return results if len(results) > 1 else results[0]

    def _loop(self, op: Operation, inputs: list[Any]) -> Any:
        test, body = op.attributes["test"], op.attributes["body"]
        current = tuple(inputs[: len(test.parameters)])
        while bool(self._branch(test, op, inputs, dict(zip(test.parameters, current, strict=True)))):
            result = self._branch(body, op, inputs, dict(zip(body.parameters, current, strict=True)))
            current = result if isinstance(result, tuple) else (result,)
        return current if len(current) > 1 else current[0]

    def _element(self, fetch: Any) -> Tensor | Operation:
        """The tensor or operation that is meant by a fetch."""
        if isinstance(fetch, str):
            try:
                by_name = self.graph.get_tensor_by_name if ":" in fetch else self.graph.get_operation_by_name
                return by_name(fetch)
            except KeyError as error:
                raise ValueError(
                    f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({error.args[0]!r})"
                ) from None
        found = getattr(fetch, "read", fetch)
        if not isinstance(found, (Tensor, Operation)):
            raise TypeError(f'Argument `fetch` = {fetch} has invalid type "{type(fetch).__name__}".')
        if found.graph is not self.graph:
            raise ValueError(
                f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({fetch} is not an element of this "
                "graph.)"
            )
        return found

    def _key(self, key: Any) -> Tensor:
        if not isinstance(key, (str, Tensor)) and not hasattr(key, "read"):
            raise TypeError(
                f"Cannot interpret feed_dict key as Tensor: Can not convert a {type(key).__name__} into a Tensor."
            )
        tensor = self._element(key)
        if not isinstance(tensor, Tensor):
            raise TypeError("Cannot interpret feed_dict key as Tensor: Can not convert an Operation into a Tensor.")
        return tensor


def _fed(tensor: Tensor, value: Any) -> Any:
    """A value for a tensor. Raises ValueError when it doesn't have a placeholder's shape."""
    dtype, wanted = tensor.op.attributes.get("dtype"), tensor.op.attributes.get("shape")
    made = torch.as_tensor(value, dtype=dtype)
    found = tuple(made.shape)
    if wanted is None or tensor.op.type != "Placeholder":
        return made
    if len(found) != len(wanted) or any(w not in (None, f) for w, f in zip(wanted, found, strict=True)):
        raise ValueError(f"Cannot feed value of shape {found} for Tensor {tensor.name}, which has shape {wanted}")
    return made


def _written(shape: tuple[int | None, ...]) -> str:
    return "[" + ",".join("?" if length is None else str(length) for length in shape) + "]"
