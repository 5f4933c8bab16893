"""What each operation that has a derivative can be tried on: with this, gradcheck goes through them all."""

# 07b · Vector–Jacobian products
from __future__ import annotations

from typing import Any

from .. import Tensor, device, float64, tensor
from ..dispatch import OPERATIONS, Function

ROWS, ONCE, TWICE = tensor([1, 0]), tensor([[0, 1, 2], [2, 0, 1]]), tensor([[0, 1, 1], [1, 0, 0]])

FURTHER: dict[str, tuple[Any, ...]] = dict.fromkeys(("sum", "amax", "amin", "prod"), (1, False))
FURTHER |= {"clamp": (0.5, 1.0), "cumsum": (1,), "_to_copy": (float64,), "to_device": (device("cpu"),)}
FURTHER |= {"view": ((3, 2),), "squeeze": (None,), "unsqueeze": (1,), "transpose": (0, 1), "permute": ((1, 0),)}
FURTHER |= {"expand": ((4, 2, 3),), "select": (1, 2), "slice": (1, 0, 3, 2), "slice_backward": ((2, 6), 1, 0, 6, 2)}
FURTHER |= {"as_strided": ((2, 2), (1, 2), 1), "as_strided_backward": ((8,), (2, 3), (1, 2), 0)}
FURTHER |= {"index": ((ROWS,),), "unindex": ((3, 3), (ROWS,)), "gather": (1, ONCE)}
FURTHER |= {"flip": ((1,),), "tril": (0,), "triu": (0,)}
"""What an operation on a 2 by 3 matrix takes besides."""

OF_BOTH: dict[str, Function] = {
    "where": lambda op, x, y: op(x > 1, x, y),
    "masked_fill": lambda op, x, y: op(x, y > 1, 0.0),
    "matmul": lambda op, x, y: op(x, y.t()),
    "index_put": lambda op, x, y: op(x, (ROWS,), y),
    "scatter": lambda op, x, y: op(x, 1, ONCE, y),
    "scatter_add": lambda op, x, y: op(x, 1, TWICE, y),
    "cat": lambda op, x, y: op([x, y], 1),
}
"""How an operation is called with two matrices, if not as `op(x, y)`."""


def matrices() -> list[Tensor]:
    """Two 2 by 3 matrices that require gradients; no number lies where a derivative jumps."""
    numbers = [[0.3, 1.2, 0.7], [1.6, 0.4, 0.9]], [[0.8, 0.5, 1.7], [0.6, 1.3, 0.2]]
    return [tensor(each, dtype=float64).requires_grad_() for each in numbers]


def example(name: str) -> Function:
    """A function of two such matrices that calls the operation of this name."""
    op = OPERATIONS[name]
    if name in OF_BOTH:
        return lambda x, y: OF_BOTH[name](op, x, y)
    if name in FURTHER:
        return lambda x, y: op(x, *FURTHER[name])
    return lambda x, y: op(x, y) if len(op.parameters) == 2 else op(x)


# 10 · Activations and initialization
FURTHER |= {"softmax": (1,), "log_softmax": (1,), "leaky_relu": (0.1,)}


# 11 · Convolution
from ..nn.convolution import Windows

OF_BOTH["im2col"] = lambda op, x, y: op(x.reshape(1, 1, 2, 3), Windows((2, 2), (1, 2), (1, 0), (1, 1)))
OF_BOTH["col2im"] = lambda op, x, y: op(x.reshape(1, 2, 3), Windows((1, 2), (1, 1), (0, 0), (1, 1)), (3, 2))


# 13 · Embeddings
OF_BOTH["embedding"] = lambda op, x, y: op(TWICE, y)
OF_BOTH["embedding_backward"] = lambda op, x, y: op(y, ROWS, 4, 0)
