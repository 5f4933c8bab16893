"""What a node keeps of its op's tensors, and the check that nobody has changed them since.

Source: https://pytorch.org/docs/stable/notes/autograd.html#saved-tensors
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minitorch.autograd.grad_mode import state as grad_mode

if TYPE_CHECKING:
    from minitorch.autograd.node import Node
    from minitorch.tensor import Tensor


class SavedTensor:
    """A tensor as it was when its op ran.

    An output is kept without its history, since its node keeps this object: the two would hold each other alive.
    """

    __slots__ = ("output_number", "tensor", "version")

    def __init__(self, tensor: Tensor, is_output: bool) -> None:
        self.output_number = tensor._output_nr if is_output else None
        self.tensor = tensor._alias() if is_output else tensor
        counter = tensor._counter
        self.version = 0 if counter is None else counter.value

    def unpack(self, node: Node) -> Tensor:
        """The tensor, with its history where ops are recorded. Raises RuntimeError if it was modified in place."""
        tensor = self.tensor
        counter = tensor._counter
        if counter is not None and counter.value != self.version:
            raise RuntimeError(self._modified(node))
        if self.output_number is not None and grad_mode.enabled:
            tensor = tensor._alias()
            tensor._grad_fn, tensor._output_nr, tensor._requires_grad = node, self.output_number, True
        return tensor

    def _modified(self, node: Node) -> str:
        tensor = self.tensor
        maker = node if self.output_number is not None else tensor._grad_fn
        number = self.output_number if self.output_number is not None else tensor._output_nr
        origin = f", which is output {number} of {_forward(maker)}," if maker is not None else ""
        return (
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[{tensor.type()} {list(tensor.shape)}]{origin} is at version {tensor._version}; "
            f"expected version {self.version} instead. Hint: enable anomaly detection to find the operation that "
            "failed "
            "to compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
        )


def _forward(node: Node) -> str:
    """The name of the op that a node differentiates: "Mul" for "MulBackward0"."""
    return node.name().rstrip("0123456789").removesuffix("Backward")


class SavedTensors(tuple[SavedTensor | None, ...]):
    """The tensors of one argument that is a sequence of them."""

    __slots__ = ()

    def unpack(self, node: Node) -> list[Tensor | None]:
        return [None if each is None else each.unpack(node) for each in self]


FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)
