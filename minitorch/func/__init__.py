"""Functions of functions: gradients, Jacobians, maps over batches; and modules as functions of their parameters.

Source: https://docs.pytorch.org/docs/stable/func.html
"""

from __future__ import annotations

from minitorch.func.forward import jvp, linearize
from minitorch.func.jacobians import hessian, jacfwd, jacrev
from minitorch.func.modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from minitorch.func.reverse import grad, grad_and_value, vjp
from minitorch.func.vmap import vmap
from minitorch.unsupported import function

__all__ = [
    "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip

functionalize = function("torch.func.functionalize", "it is for compilers, of which minitorch has its own")
