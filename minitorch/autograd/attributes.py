"""The classes of the nodes of ops. Their attributes are what a node saved, under PyTorch's names: `_saved_other` for
the argument `other`, `_saved_result` for the output.

Source: https://pytorch.org/docs/stable/notes/autograd.html#saved-tensors
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from minitorch.autograd.node import OpNode
from minitorch.autograd.saved import FREED, KEEPERS
from minitorch.dispatch.formulas import ARGUMENT, RESULT, SHAPE, STRIDE, Derivative, parameters_of

if TYPE_CHECKING:
    from minitorch.dispatch.op import Op

_SUFFIXES = {ARGUMENT: "", SHAPE: "_sym_sizes", STRIDE: "_sym_strides"}


def node_class(op: Op, name: str, derivatives: Sequence[Derivative]) -> type[OpNode]:
    """The class of the nodes that an op records under this name, for the `derivatives` that there are then."""
    members: dict[str, Any] = {"__slots__": (), "__module__": "builtins", "op": op, "full_name": name}
    for public, source in _saved_names(op, derivatives):
        members[f"_saved_{public}"] = property(_reader(source, raw=False))
        if source[0] == RESULT or (source[0] == ARGUMENT and source[1] in (*op.schema.tensors, *op.schema.sequences)):
            members[f"_raw_saved_{public}"] = property(_reader(source, raw=True))
    return type(name.rpartition("::")[2], (OpNode,), members)


def _saved_names(op: Op, derivatives: Sequence[Derivative]) -> Iterator[tuple[str, tuple[int, int]]]:
    """What the formulas may ask for: its name, and its source as in `Plan.saved`."""
    results = getattr(op.outputs, "__match_args__", ())
    for derivative in derivatives:
        for parameter, source in zip(parameters_of(derivative.formula), derivative.sources, strict=True):
            kind, index = source
            if kind == RESULT:
                yield (results[index] if results else parameter), source
            elif kind == ARGUMENT or (kind in _SUFFIXES and index not in op.schema.sequences):
                yield op.schema.parameters[index] + _SUFFIXES[kind], source


def _reader(source: tuple[int, int], raw: bool) -> Callable[[OpNode], Any]:
    """Reads what a node saved: None where it didn't need it. The `raw` form of a tensor is the SavedTensor, which takes
    hooks. Raises RuntimeError once it is freed.
    """

    def read(node: OpNode) -> Any:
        if source not in node._plan.saved:
            return None
        place = node._plan.saved.index(source)
        if place >= len(node._saved):
            raise RuntimeError(FREED)
        value = node._saved[place]
        return value.unpack(node) if isinstance(value, KEEPERS) and not raw else value

    return read
