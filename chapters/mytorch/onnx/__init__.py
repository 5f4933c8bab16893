"""ONNX: a traced model as a file that runs without Python. Source: https://onnx.ai/onnx/repo-docs/IR.html"""

# 20b · Export
from .writing import export, to_onnx
from .fusing import fuse
from .runtime import run_onnx
from .symbolic import generalize
