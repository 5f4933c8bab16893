"""What sizes a program's values have: their types as it is printed, such as "f32[s0, 4]", and those it works for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.devices import device
from minitorch.fx.graph import Graph
from minitorch.fx.node import map_arg
from minitorch.ops.creation.filled import empty
from minitorch.tensor import Tensor

SHORT = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
    "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "b8", "complex64": "c64", "complex128": "c128",
}  # fmt: skip
TRIALS = (9973, 7919), (10007, 10009)
"""Two sizes for each of the first symbols, which no program contains as constants."""


def types(graph: Graph, examples: Mapping[str, Tensor], symbols: Mapping[str, Mapping[int, str]]) -> dict[str, str]:
    """The types of nodes by name. A size is a symbol if it equals the symbol's in two runs without data.

    Args:
        graph: the program's graph.
        examples: the tensors of the placeholders.
        symbols: for each placeholder, the names of its sizes that may change.
    """
    names = sorted({name for each in symbols.values() for name in each.values()})
    if len(names) > len(TRIALS):
        names = []  # the inputs alone have types
    runs = [_run(graph, examples, symbols, {name: TRIALS[i][turn] for i, name in enumerate(names)}) for turn in (0, 1)]
    found = {}
    for name, tensor in runs[0].items():
        other = runs[1].get(name)
        sizes = None if other is None else _sizes(tensor, other, names)
        if sizes is not None:
            kind = str(tensor.dtype).removeprefix("torch.")
            found[name] = f"{SHORT.get(kind, kind)}[{', '.join(sizes)}]"
    return found


def works(
    graph: Graph, examples: Mapping[str, Tensor], symbols: Mapping[str, Mapping[int, str]], sizes: Mapping[str, int]
) -> bool:
    """Whether no operation refuses these sizes, by symbol; other sizes are the example's. Nothing is computed."""
    values = _values(graph, examples, symbols, sizes)
    return all(node in values for node in graph.nodes if node.op.startswith("call"))


def _sizes(one: Tensor, other: Tensor, names: list[str]) -> list[str] | None:
    """The sizes as text; None if one of them is computed from a symbol."""
    texts = []
    for pair in zip(one.shape, other.shape, strict=True):
        symbol = next((name for name, sizes in zip(names, TRIALS, strict=False) if sizes == pair), None)
        if symbol is None and pair[0] != pair[1]:
            return None
        texts.append(symbol or str(pair[0]))
    return texts


def _run(graph: Graph, examples: Mapping[str, Tensor], symbols: Any, sizes: Mapping[str, int]) -> dict[str, Tensor]:
    """The tensors without data that the graph computes, up to the first operation that refuses such sizes."""
    values = _values(graph, examples, symbols, sizes)
    return {node.name: each for node, each in values.items() if isinstance(each, Tensor)}


def _values(graph: Graph, examples: Mapping[str, Tensor], symbols: Any, sizes: Mapping[str, int]) -> dict[Any, Any]:
    """What the nodes of the graph compute without data, up to the first that refuses such sizes."""
    values: dict[Any, Any] = {}
    try:
        with no_grad(), device("meta"):  # also what the graph itself creates
            for node in graph.nodes:
                example = examples.get(node.name)
                if example is not None:
                    held = symbols.get(node.name, {})
                    shape = [sizes.get(held.get(dim, ""), size) for dim, size in enumerate(example.shape)]
                    values[node] = empty(shape, dtype=example.dtype, device="meta")
                elif node.op.startswith("call"):
                    args, kwargs = (map_arg(each, values.__getitem__) for each in (node.args, node.kwargs))
                    if node.op == "call_method":
                        values[node] = getattr(args[0], node.target)(*args[1:], **kwargs)
                    else:
                        values[node] = node.target(*args, **kwargs)
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
        pass  # the rest is printed without types
    return values
