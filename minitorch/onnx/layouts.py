"""How views are written, and what else arranges elements without computing: parts, joins, paddings.

The operators are those of https://onnx.ai/onnx/operators/, as in `operators`.
"""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch.onnx.operators import dims_of, refuse, writes
from minitorch.onnx.writing import ModelWriter

END = 2**63 - 1
"""Where a slice ends that goes to the end."""


@writes("view_as_shape", "unsafe_view", "reshape_alias")
def reshape(w: ModelWriter, x: Any, _: Any) -> Any:
    size = w.call.outputs[0].shape
    return w.name(x) if size == x.shape else w.node("Reshape", x, w.reshape_size(size))


@writes("expand")
def expand(w: ModelWriter, x: Any, *_: Any) -> Any:
    """A length of 1 in ONNX's Expand keeps the one that is there."""
    size = w.call.outputs[0].shape
    if size == x.shape:
        return w.name(x)
    old = (1,) * (len(size) - x.ndim) + tuple(x.shape)
    return w.node("Expand", x, w.size([1 if new == before else new for new, before in zip(size, old, strict=True)]))


@writes("t", "transpose", "permute")
def transpose(w: ModelWriter, x: Any, *dims: Any) -> Any:
    order = list(range(x.ndim))
    if w.call.op == "permute":
        order = [dim % x.ndim for dim in dims[0]]
    elif x.ndim > 1:
        first, second = dims or (0, 1)
        order[first], order[second] = order[second], order[first]
    return w.node("Transpose", x, perm=order)


@writes("unsqueeze")
def unsqueeze(w: ModelWriter, x: Any, dim: int) -> Any:
    return w.node("Unsqueeze", x, w.ints(dim))


@writes("squeeze")
def squeeze(w: ModelWriter, x: Any, dim: Any) -> Any:
    axes = [each % x.ndim for each in dims_of(dim, x.ndim) if x.shape[each] == 1]
    return w.node("Squeeze", x, w.ints(*axes)) if axes else w.name(x)


@writes("select")
def select(w: ModelWriter, x: Any, dim: int, index: Any) -> Any:
    return w.node("Gather", x, w.as_type(index, minitorch.int64), axis=dim)


@writes("slice")
def cut(w: ModelWriter, x: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    last = w.ints(END) if end is None or end == x.shape[dim] else w.length(end)
    return w.node("Slice", x, w.length(start or 0), last, w.ints(dim), w.ints(step))


@writes("split_evenly", "split_with_sizes")
def split(w: ModelWriter, x: Any, _: Any, dim: int) -> Any:
    sizes = w.size([each.shape[dim] for each in w.call.outputs])
    return w.node("Split", x, sizes, results=len(w.call.outputs), axis=dim)


@writes("unbind")
def unbind(w: ModelWriter, x: Any, dim: int) -> Any:
    places = range(len(w.call.outputs))
    return tuple(w.node("Gather", x, w.as_type(place, minitorch.int64), axis=dim) for place in places)


@writes("cat")
def cat(w: ModelWriter, tensors: Any, dim: int) -> Any:
    kind = w.call.outputs[0].dtype
    return w.node("Concat", *(w.as_type(each, kind) for each in tensors), axis=dim)


@writes("stack")
def stack(w: ModelWriter, tensors: Any, dim: int) -> Any:
    return w.node("Concat", *(w.node("Unsqueeze", each, w.ints(dim)) for each in tensors), axis=dim)


@writes("index")
def index(w: ModelWriter, x: Any, indices: Any) -> Any:
    """One tensor of integers among the indices: places along one dimension."""
    named = [place for place, each in enumerate(indices) if each is not None]
    if len(named) != 1 or indices[named[0]].dtype is minitorch.bool:
        raise refuse("indexing with several tensors, or with a mask,")
    return w.node("Gather", x, indices[named[0]], axis=named[0])


@writes("constant_pad")
def pad(w: ModelWriter, x: Any, pads: Any, value: Any) -> Any:
    low, high = zip(*pads, strict=True)
    return w.node("Pad", x, w.ints(*low, *high), w.as_type(value, x.dtype))


@writes("tril", "triu")
def triangle(w: ModelWriter, x: Any, diagonal: int) -> Any:
    return w.node("Trilu", x, w.as_type(diagonal, minitorch.int64), upper=int(w.call.op == "triu"))
