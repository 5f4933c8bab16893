"""What an export gives: a model in ONNX's format. Source: https://pytorch.org/docs/stable/onnx_export.html"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import minitorch
from minitorch.onnx import messages
from minitorch.onnx.protobuf import message
from minitorch.onnx.writing import ModelWriter

SMALL = 1024
"""A constant of fewer bytes stands in the model also where the others have a file of their own."""


class ONNXProgram:
    """An exported model: `save` writes it to a file; `model_proto` is it as a message of the package onnx.

    Called with tensors, it runs in onnxruntime, where that is installed.
    """

    def __init__(self, writer: ModelWriter, inputs: list[bytes], outputs: list[bytes]) -> None:
        self._writer, self._inputs, self._outputs = writer, inputs, outputs

    def save(
        self,
        destination: str | os.PathLike[str],
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Write the model to a file. With `external_data`, weights go to a file beside it, "model.onnx.data".

        Raises NotImplementedError for a model without its weights, or with weights among its inputs.
        """
        if not include_initializers:
            raise NotImplementedError("ONNXProgram.save: include_initializers=False is not supported")
        if keep_initializers_as_inputs:
            raise NotImplementedError("ONNXProgram.save: keep_initializers_as_inputs=True is not supported")
        path = Path(destination)
        model, data = self._serialized(f"{path.name}.data" if external_data else None)
        if data:
            path.with_name(f"{path.name}.data").write_bytes(data)
        path.write_bytes(model)

    def _serialized(self, location: str | None = None) -> tuple[bytes, bytes]:
        """The model, and what goes into the file at `location`, if there is to be one."""
        data, tensors = bytearray(), []
        for name, (array, kind) in self._writer.constants.items():
            place = None
            if location and array.nbytes > SMALL:
                place = location, len(data)
                data += array.tobytes()
            tensors.append(messages.tensor(name, array, kind, place))
        nodes = [messages.node(*each) for each in self._writer.nodes]
        graph = message({1: nodes, 2: "main_graph", 5: tensors, 11: self._inputs, 12: self._outputs})
        return messages.model(graph, self._writer.opset), bytes(data)

    @property
    def model_proto(self) -> Any:
        """The model as an `onnx.ModelProto`. Needs the package onnx."""
        return importlib.import_module("onnx").load_from_string(self._serialized()[0])

    def __call__(self, *args: Any) -> list[Any]:
        """The outputs for these tensors, computed by onnxruntime."""
        session = importlib.import_module("onnxruntime").InferenceSession(self._serialized()[0])
        names = [each.name for each in session.get_inputs()]
        feed = {name: each.detach().numpy() for name, each in zip(names, args, strict=True)}
        return [minitorch.from_numpy(each) for each in session.run(None, feed)]

    def __repr__(self) -> str:
        count = len(self._writer.nodes), len(self._writer.constants)
        return f"ONNXProgram(opset={self._writer.opset}, {count[0]} nodes, {count[1]} initializers)"
