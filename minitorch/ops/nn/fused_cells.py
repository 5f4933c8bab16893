"""The elementwise part of an LSTM's step as one op: a step of many small ones takes longer than its products.

Formulas: https://pytorch.org/docs/stable/generated/torch.nn.LSTM.html
"""

from __future__ import annotations

from typing import Any

from minitorch.arrays import Array
from minitorch.autograd.passes import grad
from minitorch.dispatch.declaration import OPS, declare
from minitorch.dispatch.derived import derived
from minitorch.tensor import Tensor


def lstm_formula(total: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """i, f, o = σ(…), g = tanh(…), c' = f c + i g, h' = o tanh c': the parts of (N, 4 H) and (N, H) → h' and c'."""
    i, f, g, o = total.chunk(4, 1)
    cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def _gates(xp: Any, total: Array) -> tuple[Array, ...]:
    i, f, g, o = xp.split(total, 4, 1)
    sigmoid = OPS["sigmoid"].kernel
    return sigmoid(xp, i), sigmoid(xp, f), xp.tanh(g), sigmoid(xp, o)


def _first_gradients(grad_hidden: Tensor, grad_cell: Tensor, total: Tensor, cell: Tensor) -> tuple[Tensor, ...]:
    total, cell = (each if each.requires_grad else each.detach().requires_grad_() for each in (total, cell))
    return grad(lstm_formula(total, cell), (total, cell), (grad_hidden, grad_cell), create_graph=True)


@declare(variants="", derivatives=derived("grad_hidden, grad_cell, total, cell", _first_gradients))
def lstm_cell_backward(xp: Any, grad_hidden: Array, grad_cell: Array, total: Array, cell: Array) -> tuple[Array, Array]:
    i, f, g, o = _gates(xp, total)
    height = xp.tanh(f * cell + i * g)
    of_cell = grad_cell + grad_hidden * o * (1 - height * height)
    parts = (
        of_cell * g * i * (1 - i),
        of_cell * cell * f * (1 - f),
        of_cell * i * (1 - g * g),
        grad_hidden * height * o * (1 - o),
    )
    return xp.concatenate(parts, 1), of_cell * f


def _gradients(grads: Any, total: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    of_hidden, of_cell = (cell.new_zeros(cell.shape) if each is None else each for each in grads)
    return lstm_cell_backward(of_hidden, of_cell, total, cell)


@declare(
    variants="", node="ThnnFusedLstmCellBackward0", derivatives={"total, cell": _gradients}, autocast_on_gpu="lower"
)
def lstm_cell(xp: Any, total: Array, cell: Array) -> tuple[Array, Array]:
    """`lstm_formula`, not for two-byte floats, which it would round less often."""
    i, f, g, o = _gates(xp, total)
    new = f * cell + i * g
    return o * xp.tanh(new), new
