"""The classes of the nodes of ops. Their attributes are what a node saved, under PyTorch's names: `_saved_other` for
the argument `other`, `_saved_result` for the output.

Source: https://pytorch.org/docs/stable/notes/autograd.html#saved-tensors
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Number
from typing import Any

from minitorch.autograd.node import OpNode
from minitorch.autograd.saved import FREED, KEEPERS
from minitorch.dtypes import float64
from minitorch.ops.data import tensor
from minitorch.ops.declaration import Op
from minitorch.ops.plan import ARGUMENT, RESULT, SHAPE, STRIDE, Derivative, parameters_of

_SUFFIXES = {ARGUMENT: "", SHAPE: "_sym_sizes", STRIDE: "_sym_strides"}


def node_class(op: Op, name: str, derivatives: Sequence[Derivative]) -> type[OpNode]:
    """The class of the nodes that an op records under this name, for the `derivatives` that there are then."""
    members: dict[str, Any] = {"__slots__": (), "__module__": "builtins", "op": op, "full_name": name}
    for public, source in _saved_names(op, derivatives):
        members[f"_saved_{public}"] = property(SavedAttribute(op, source, raw=False))
        if source[0] == RESULT or (source[0] == ARGUMENT and source[1] in (*op.tensors, *op.sequences)):
            members[f"_raw_saved_{public}"] = property(SavedAttribute(op, source, raw=True))
    return type(name.rpartition("::")[2], (OpNode,), members)


def _saved_names(op: Op, derivatives: Sequence[Derivative]) -> Iterator[tuple[str, tuple[int, int]]]:
    """What the formulas may ask for: its name, and its source as in `Plan.saved`."""
    results = getattr(op.outputs, "__match_args__", ())
    for derivative in derivatives:
        for parameter, source in zip(parameters_of(derivative.formula), derivative.sources, strict=True):
            kind, index = source
            if kind == RESULT:
                yield (results[index] if results else parameter), source
            elif kind == ARGUMENT or (kind in _SUFFIXES and index not in op.sequences):
                yield op.parameters[index] + _SUFFIXES[kind], source


class SavedAttribute:
    """Reads an attribute of nodes. The `raw` form of a tensor is the SavedTensor, which takes hooks."""

    def __init__(self, op: Op, source: tuple[int, int], raw: bool) -> None:
        self.source, self.raw = source, raw
        is_argument = source[0] == ARGUMENT
        annotation = op.kernel.__annotations__.get(op.parameters[source[1]], "") if is_argument else ""
        self.is_list = annotation == "Dims" or "Sequence[int]" in annotation
        self.is_tensor = is_argument and source[1] in op.tensors and not op.is_overloaded

    def __call__(self, node: OpNode) -> Any:
        """The value: None where this node didn't need it. Raises RuntimeError once it is freed."""
        if self.source not in node._plan.saved:
            return None
        place = node._plan.saved.index(self.source)
        if place >= len(node._saved):
            raise RuntimeError(FREED)
        value = node._saved[place]
        if isinstance(value, KEEPERS):
            return value if self.raw else value.unpack(node)
        if self.is_tensor and isinstance(value, Number):
            return tensor(value, dtype=float64 if isinstance(value, float) else None)  # as PyTorch wraps numbers
        return _shown((value,) if self.is_list and isinstance(value, int) else value)


def _shown(value: Any) -> Any:
    """Numbers as PyTorch's attributes show them: without a sign, so that the dimension −1 is 2⁶⁴ − 1."""
    if isinstance(value, (tuple, list)):
        return tuple(_shown(each) for each in value)
    return value % 2**64 if type(value) is int else value
