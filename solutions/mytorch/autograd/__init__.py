"""Automatic differentiation: what operations record, and how it is run backward."""

# 06 · The computation graph
from . import derivatives, recording
from .engine import backward, grad
from .node import AccumulateGrad, Node

# 07 · Backward in depth
from . import inplace
from .grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

# 07b · Vector–Jacobian products
from . import hooks
from .function import Function
from .gradcheck import gradcheck, gradgradcheck
