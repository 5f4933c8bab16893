"""Files of exported programs: the graph as lists of names and arguments, and the tensors. No code is stored.

The files are minitorch's own; PyTorch's `.pt2` archives hold other records.
"""

from __future__ import annotations

from typing import Any

from minitorch.export.program import CallSpec, ExportedProgram, ValueRanges
from minitorch.export.signature import ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec
from minitorch.fx.aten import OpOverload, overload
from minitorch.fx.graph import Graph
from minitorch.fx.node import Node
from minitorch.library import operators
from minitorch.library.operators import find
from minitorch.serialization import load as load_file
from minitorch.serialization import save as save_file

VERSION = 1


def save(ep: ExportedProgram, f: Any) -> None:
    """Writes a program into a file, by name or opened for writing.

    Raises TypeError for a graph that calls functions which have no name in ATen.
    """
    signature = ep.graph_signature
    save_file(
        {
            "version": VERSION,
            "nodes": [_packed(each) for each in ep.graph.nodes],
            "inputs": [[each.kind.name, each.name, each.target, each.persistent] for each in signature.input_specs],
            "outputs": [[each.name, each.value] for each in signature.output_specs],
            "state": ep.state,
            "constants": ep.constants,
            "calls": list(ep.calls),
            "ranges": {name: list(each) for name, each in ep.range_constraints.items()},
            "shapes": ep.shapes,
        },
        f,
    )


def load(f: Any) -> ExportedProgram:
    """Reads a program from a file. No code of the file runs.

    Raises:
        RuntimeError: the file holds no program, or an operator of it isn't registered.
    """
    data = load_file(f, weights_only=True)
    if not isinstance(data, dict) or data.get("version") != VERSION:
        raise RuntimeError("this file holds no exported program that this version can read")
    graph = Graph()
    nodes: dict[str, Node] = {}
    for op, name, target, args, kwargs in data["nodes"]:
        function = target if op != "call_function" else overload(*target) if len(target) == 2 else find(*target)
        nodes[name] = graph.create_node(op, function, _unpacked(args, nodes), _unpacked(kwargs, nodes), name)
        nodes[name].name = name  # also where it hides a builtin
    inputs = [InputSpec(InputKind[kind], *rest) for kind, *rest in data["inputs"]]
    outputs = [OutputSpec(OutputKind.USER_OUTPUT, name, value) for name, value in data["outputs"]]
    ranges = {name: ValueRanges(*each) for name, each in data["ranges"].items()}
    signature = ExportGraphSignature(inputs, outputs)
    return ExportedProgram(
        graph, signature, data["state"], data["constants"], CallSpec(*data["calls"]), ranges, data["shapes"]
    )


def _packed(node: Node) -> list[Any]:
    target = node.target
    if node.op == "call_function":
        if isinstance(target, operators.OpOverload):
            target = [target.name()]
        elif isinstance(target, OpOverload):
            target = [target.packet, target.overload]
        else:
            raise TypeError(f"the operation {node.name} has no name in ATen, under which it could be saved")
    return [node.op, node.name, target, _flat(node.args), _flat(node.kwargs)]


def _flat(value: Any) -> Any:
    """Arguments in which nodes and slices are lists that begin with a word."""
    if isinstance(value, Node):
        return ["node", value.name]
    if isinstance(value, slice):
        return ["slice", _flat(value.start), _flat(value.stop), _flat(value.step)]
    if type(value) in (tuple, list):
        return [type(value).__name__, *map(_flat, value)]
    if isinstance(value, dict):
        return {key: _flat(each) for key, each in value.items()}
    return value


def _unpacked(value: Any, nodes: dict[str, Node]) -> Any:
    if isinstance(value, dict):
        return {key: _unpacked(each, nodes) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    word, *rest = value
    if word == "node":
        return nodes[rest[0]]
    parts = [_unpacked(each, nodes) for each in rest]
    return slice(*parts) if word == "slice" else parts if word == "list" else tuple(parts)
