"""What a node saved, under PyTorch's names: `_saved_other` for the argument `other`, `_saved_result` for the output.

Source: https://pytorch.org/docs/stable/notes/autograd.html#saved-tensors
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minitorch.autograd.node import OpNode
from minitorch.autograd.saved import FREED, KEEPERS
from minitorch.ops.declaration import ARGUMENT, RESULT, SHAPE, STRIDE, Op, parameters_of

_SUFFIXES = {ARGUMENT: "", SHAPE: "_sym_sizes", STRIDE: "_sym_strides"}


def saved_names(node: OpNode) -> dict[str, tuple[int, int]]:
    """What the formulas of the node's op may ask for: its name, and its source as in `Plan.saved`."""
    names = {}
    for source in [source for each in node.op.derivatives or () for source in each.sources]:
        kind, index = source
        if kind == RESULT:
            names[_result_names(node.op)[index] if len(node.outputs) > 1 else "result"] = source
        elif kind in _SUFFIXES:
            names[node.op.parameters[index] + _SUFFIXES[kind]] = source
    return names


def _result_names(op: Op) -> tuple[str, ...]:
    return getattr(op.outputs, "__match_args__", ("result0", "result1", "result2", "result3"))


class SavedAttribute:
    """An attribute of those nodes whose op may save something of this name."""

    def __init__(self, name: str, raw: bool) -> None:
        self.name, self.raw = name, raw

    def __get__(self, node: OpNode | None, owner: type) -> Any:
        """The value: None where this node didn't need it. The `raw` form is the SavedTensor, which takes hooks.

        Raises AttributeError where the op has no such thing, RuntimeError once it is freed.
        """
        names = {} if node is None else saved_names(node)
        if node is None or self.name not in names:
            name = f"_{'raw_' * self.raw}saved_{self.name}"
            raise AttributeError(
                f"'{owner.__name__ if node is None else node.name()}' object has no attribute '{name}'"
            )
        if names[self.name] not in node._plan.saved:
            return None
        if node._saved is None:
            raise RuntimeError(FREED)
        value = node._saved[node._plan.saved.index(names[self.name])]
        return value.unpack(node) if isinstance(value, KEEPERS) and not self.raw else value


def name_what_is_saved(ops: Iterable[Op]) -> None:
    """Gives nodes the attributes that the declared ops ask for.

    They are descriptors of the one class of nodes, since a `__getattr__` would slow down every access.
    """
    asked = {name for op in ops for formula in op.formulas.values() for name in parameters_of(formula)}
    asked |= {name for op in ops for name in _result_names(op)}
    for name in asked - {"grad", "grads", "output_mask"}:
        public = name.replace("_shape", "_sym_sizes").replace("_stride", "_sym_strides")
        setattr(OpNode, f"_saved_{public}", SavedAttribute(public, raw=False))
        setattr(OpNode, f"_raw_saved_{public}", SavedAttribute(public, raw=True))
