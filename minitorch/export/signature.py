"""What the inputs and outputs of an exported graph are.

Source: https://docs.pytorch.org/docs/stable/export.html#torch.export.graph_signature.ExportGraphSignature
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any


class InputKind(enum.Enum):
    """What an input is."""

    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()


class OutputKind(enum.Enum):
    """What an output is."""

    USER_OUTPUT = enum.auto()


@dataclass
class InputSpec:
    """An input: the placeholder's name, and the name of the parameter, buffer or constant that it stands for."""

    kind: InputKind
    name: str
    target: str | None = None
    persistent: bool | None = None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target={self.target!r}"
        persistent = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.name}: {self.kind.name}{target}{persistent}"


@dataclass
class OutputSpec:
    """An output: the node's name, or a constant."""

    kind: OutputKind
    name: str = ""
    value: Any = None

    def __str__(self) -> str:
        return f"{self.name}: {self.kind.name}"


@dataclass
class ExportGraphSignature:
    """The inputs and outputs of an exported graph, in order."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _targets(self, kind: InputKind) -> dict[str, str]:
        return {each.name: str(each.target) for each in self.input_specs if each.kind is kind}

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """The names of parameters by those of their placeholders."""
        return self._targets(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """The names of buffers by those of their placeholders."""
        return self._targets(InputKind.BUFFER)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(self.inputs_to_parameters.values())

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of the buffers."""
        return tuple(self.inputs_to_buffers.values())

    @property
    def user_inputs(self) -> tuple[str, ...]:
        """The names of the placeholders of what the caller gives."""
        return tuple(each.name for each in self.input_specs if each.kind is InputKind.USER_INPUT)

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The names of the outputs, and constants among them."""
        return tuple(each.name or each.value for each in self.output_specs)

    def __str__(self) -> str:
        inputs, outputs = "\n".join(map(str, self.input_specs)), "\n".join(map(str, self.output_specs))
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"
