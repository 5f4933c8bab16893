"""Models as ONNX files, which other programs run without Python. Source: https://pytorch.org/docs/stable/onnx.html"""

from minitorch.onnx import errors
from minitorch.onnx.errors import OnnxExporterError
from minitorch.onnx.exporting import export, is_in_onnx_export
from minitorch.onnx.program import ONNXProgram

__all__ = ["ONNXProgram", "OnnxExporterError", "errors", "export", "is_in_onnx_export"]
