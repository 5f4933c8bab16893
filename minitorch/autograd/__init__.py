"""Automatic differentiation: the graph that ops leave behind, and the passes over it.

Source: https://pytorch.org/docs/stable/autograd.html
"""

from __future__ import annotations

import importlib
from typing import Any

from minitorch.autograd import engine, functional, graph, profiler
from minitorch.autograd.anomaly import detect_anomaly, set_detect_anomaly
from minitorch.autograd.function import Function
from minitorch.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from minitorch.autograd.gradcheck import gradcheck, gradgradcheck
from minitorch.autograd.graph import GradientEdge
from minitorch.autograd.node import Node
from minitorch.autograd.passes import backward, grad
from minitorch.autograd.saved import SavedTensor
from minitorch.autograd.variable import Variable

__all__ = [
    "Function", "Node", "SavedTensor", "Variable", "backward", "detect_anomaly", "enable_grad", "functional", "grad",
    "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad",
    "profiler", "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "forward_ad":  # which loads with torch.func
        return importlib.import_module("minitorch.autograd.forward_ad")
    raise AttributeError(f"module 'torch.autograd' has no attribute '{name}'")


def variable(*args: Any, **kwargs: Any) -> None:
    """Raises RuntimeError: `torch.tensor` has long since taken its place."""
    raise RuntimeError("torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead")
