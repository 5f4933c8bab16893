"""An exported program: a graph of ATen operations, with what it needs of the module that it was.

Source: https://docs.pytorch.org/docs/stable/export.html#torch.export.ExportedProgram
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from minitorch.export.signature import ExportGraphSignature, InputKind
from minitorch.fx.graph import Graph
from minitorch.fx.graph_module import GraphModule
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.tensor import Tensor


class ValueRanges(NamedTuple):
    """The values that a size may have."""

    lower: int
    upper: int | None

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {'int_oo' if self.upper is None else self.upper}]"


class CallSpec(NamedTuple):
    """How the program is called, and what it returns.

    Args:
        positional, named: the names of the arguments.
        leaves: where the graph's user inputs are in the arguments, as expressions such as "x" or "d['a']".
        guards: what must be true of them.
        output: the structure of the result, in which a number is an index into the graph's outputs.
    """

    positional: list[str]
    named: list[str]
    leaves: list[str]
    guards: list[str]
    output: Any


class ExportedProgram:
    """A captured module, independent of its Python code. `module()` runs it."""

    def __init__(
        self,
        graph: Graph,
        graph_signature: ExportGraphSignature,
        state: dict[str, Any],
        constants: dict[str, Any],
        calls: CallSpec,
        range_constraints: dict[str, ValueRanges],
        shapes: dict[str, str],
        example_inputs: Any = None,
    ) -> None:
        self.graph_module = GraphModule(Module(), graph)
        self.graph_signature, self.constants, self.calls = graph_signature, constants, calls
        self.range_constraints, self.shapes, self.example_inputs = range_constraints, shapes, example_inputs
        self.state = state

    @property
    def graph(self) -> Graph:
        """The graph, whose parameters and buffers are inputs."""
        return self.graph_module.graph

    @property
    def state_dict(self) -> dict[str, Any]:
        """The parameters and persistent buffers by name."""
        passing = {each.target for each in self.graph_signature.input_specs if each.persistent is False}
        return {name: each for name, each in self.state.items() if name not in passing}

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """The parameters with their names."""
        return ((name, self.state[name]) for name in self.graph_signature.parameters)

    def parameters(self) -> Iterator[Any]:
        """The parameters."""
        return (each for _, each in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Any]]:
        """The buffers with their names."""
        return ((name, self.state[name]) for name in self.graph_signature.buffers)

    def buffers(self) -> Iterator[Any]:
        """The buffers."""
        return (each for _, each in self.named_buffers())

    def module(self, check_guards: bool = True) -> ExportedModule:
        """A module that runs the program. With `check_guards`, inputs that don't fit raise AssertionError."""
        return ExportedModule(self, check_guards)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

    def __str__(self) -> str:
        lines = self.graph_module.code.strip().split("\n")
        parameters = ", ".join(
            ["self", *(f"{each.name}{self._type(each.name)}" for each in self.graph_signature.input_specs)]
        )
        body = [
            re.sub(r"^    (\w+) = ", lambda found: f"    {found[1]}{self._type(found[1])} = ", each)
            for each in lines[1:]
        ]
        text = "\n".join(f"        {line}" for line in [f"def forward({parameters}):", *body])
        signature = str(self.graph_signature).strip("\n").replace("\n", "\n    ")
        ranges = ", ".join(f"{name}: {each}" for name, each in self.range_constraints.items())
        head = f"ExportedProgram:\n    class GraphModule(torch.nn.Module):\n{text}\n\n"
        return f"{head}Graph signature: \n    {signature}\n\nRange constraints: {{{ranges}}}\n"

    def _type(self, name: str) -> str:
        return f': "{self.shapes[name]}"' if name in self.shapes else ""


class ExportedModule(Module):
    """A module that runs an exported program, with its parameters and buffers under their names."""

    def __init__(self, program: ExportedProgram, check_guards: bool = True) -> None:
        super().__init__()
        object.__setattr__(self, "_program", program)
        self._check_guards = check_guards
        for name, each in program.state.items():
            *path, last = name.split(".")
            owner: Module = self
            for part in path:
                if part not in owner._modules:
                    owner.add_module(part, Module())
                owner = owner._modules[part]
            if isinstance(each, Parameter):
                owner.register_parameter(last, each)
            else:
                owner.register_buffer(last, each)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the graph on arguments of the structure of the example's.

        Raises:
            AssertionError: a size, a dtype or a constant is not what the program is for.
            ValueError: the arguments have another structure.
        """
        program: ExportedProgram = self._program
        arguments = self._arguments(args, kwargs)
        if self._check_guards:
            for guard in program.calls.guards:
                if not eval(guard, {"torch": _Dtypes}, arguments):
                    raise AssertionError(f"Guard failed: {guard}")
        given = iter([eval(each, {}, arguments) for each in program.calls.leaves])
        inputs = []
        for each in program.graph_signature.input_specs:
            if each.kind is InputKind.USER_INPUT:
                inputs.append(next(given))
            elif each.kind is InputKind.CONSTANT_TENSOR:
                inputs.append(program.constants[str(each.target)])
            else:
                inputs.append(self._of_state(str(each.target)))
        return structured(program.calls.output, program.graph_module.forward(*inputs))

    def _of_state(self, name: str) -> Any:
        owner: Any = self
        for part in name.split("."):
            owner = getattr(owner, part)
        return owner

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        calls = self._program.calls
        arguments = {**dict(zip(calls.positional, args, strict=False)), **kwargs}
        if len(args) > len(calls.positional) or set(arguments) != {*calls.positional, *calls.named}:
            raise ValueError(
                f"Ran into a kwarg keyword mismatch: Got the following keywords {sorted(kwargs)} "
                f"but expected {calls.named}, after {len(calls.positional)} arguments by position"
            )
        if leaves_of(arguments) != calls.leaves:
            raise ValueError(
                f"Trying to flatten user inputs with exported input tree: expected {calls.leaves}, "
                f"got {leaves_of(arguments)}"
            )
        return arguments


class _DtypeNames:
    """`torch.float32` and so on, in guards."""

    def __getattr__(self, name: str) -> Any:
        return f"torch.{name}"


_Dtypes = _DtypeNames()


def leaves_of(arguments: Mapping[str, Any]) -> list[str]:
    """Where tensors and constants are in arguments, as expressions."""
    found: list[str] = []

    def add(value: Any, where: str) -> None:
        if isinstance(value, (list, tuple)) and not isinstance(value, Tensor):
            for place, each in enumerate(value):
                add(each, f"{where}[{place}]")
        elif isinstance(value, dict):
            for key, each in value.items():
                add(each, f"{where}[{key!r}]")
        else:
            found.append(where)

    for name, value in arguments.items():
        add(value, name)
    return found


def structured(structure: Any, outputs: Any) -> Any:
    """The result of the graph's outputs: see `CallSpec`."""
    if isinstance(structure, int):
        return outputs[structure]
    if isinstance(structure, dict):
        return {key: structured(each, outputs) for key, each in structure.items()}
    return type(structure)(structured(each, outputs) for each in structure)
