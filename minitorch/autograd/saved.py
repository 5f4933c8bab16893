"""What a node keeps of its op's tensors, and the check that nobody has changed them since.

Source: https://pytorch.org/docs/stable/notes/autograd.html#saved-tensors
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minitorch.autograd import node  # which needs this file: it is looked into when a tensor is saved
from minitorch.autograd.anomaly_mode import anomaly
from minitorch.autograd.differentiable import UNTRACKED, Differentiable
from minitorch.autograd.grad_mode import no_grad
from minitorch.autograd.grad_mode import state as grad_mode
from minitorch.autograd.views import forward_name

if TYPE_CHECKING:
    from minitorch.autograd.node import Node
    from minitorch.tensor import Tensor

Pack = Callable[["Tensor"], Any]
Unpack = Callable[[Any], "Tensor"]


class DefaultHooks(threading.local):
    """The pairs of hooks that a thread has pushed, of which the last packs what is saved; or why there may be none."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Pack, Unpack]] = []
        self.disabled: str | None = None


default_hooks = DefaultHooks()

PUSHED: list[DefaultHooks] = []
"""One entry for each pair that any thread has pushed: while it is empty, saving a tensor has nothing else to ask."""


class SavedTensor:
    """A tensor as it was when its op ran.

    An output is kept without its history, since its node keeps this object: the two would hold each other alive.
    """

    __slots__ = ("output_number", "tensor", "version")

    tensor: Any

    def __init__(self, tensor: Tensor, is_output: bool) -> None:
        counter = tensor._counter
        if counter is UNTRACKED:
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode "
                "in computation tracked by autograd. To work around this, you can make a clone to get a normal tensor "
                "and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
            )
        self.output_number = tensor._output_nr if is_output else None
        self.tensor = tensor._alias() if is_output else tensor
        self.version = 0 if counter is None else counter.value

    def unpack(self, node: Node | None) -> Tensor:
        """The tensor, with its history where ops are recorded. Raises RuntimeError if it was modified in place."""
        tensor: Tensor = self.tensor
        if tensor.__class__ is Packed:
            tensor = self.tensor.unpack()
        else:
            counter = tensor._counter
            if counter is not None and counter.value != self.version:
                raise RuntimeError(self._modified(node))
        if self.output_number is not None and grad_mode.enabled:
            return self._with_history(tensor, node)
        return tensor

    def _with_history(self, tensor: Tensor, node: Node | None) -> Tensor:
        alias = tensor._alias()
        if node is not None and node.written_view is not None:
            node = node.written_view() or node
        alias._grad_fn, alias._output_nr, alias._requires_grad = node, self.output_number or 0, True
        return alias

    def pack_by_default(self, node: Node | None) -> None:
        """Keeps what the thread's default hook makes of the tensor instead of the tensor."""
        shown = self.tensor if self.output_number is None else self._with_history(self.tensor, node)
        self.tensor = Packed(self.tensor, shown, *default_hooks.pairs[-1])

    def register_hooks(self, pack: Pack, unpack: Unpack) -> None:
        """Keeps what `pack` makes of the tensor instead of the tensor. What `unpack` makes of that must be equal to it.

        Source: https://pytorch.org/docs/stable/notes/autograd.html#hooks-for-saved-tensors
        """
        if not callable(pack) or not callable(unpack):
            raise TypeError("register_hooks(): incompatible function arguments: it takes two callables")
        if isinstance(self.tensor, Packed):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of "
                "hooks is allowed at a time."
            )
        self.tensor = Packed(self.tensor, self.tensor.detach(), pack, unpack)

    def _modified(self, node: Node | None) -> str:
        tensor = self.tensor
        maker = node if self.output_number is not None else tensor.grad_fn
        number = self.output_number if self.output_number is not None else tensor._output_nr
        origin = f", which is output {number} of {forward_name(maker)}," if maker is not None else ""
        return (
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[{type_with_device(tensor)} {list(tensor.shape)}]{origin} is at version {tensor._version}; "
            f"expected version {self.version} instead. Hint: {_hint()}"
        )


def _hint() -> str:
    """What the error about a modified tensor advises."""
    if anomaly.enabled:
        return (
            "the backtrace further above shows the operation that failed to compute its gradient. The variable in "
            "question was changed in there or anywhere later. Good luck!"
        )
    return (
        "enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


class Packed:
    """What a pack hook made of a tensor that was saved, and the tensor's place in the graph."""

    __slots__ = ("accumulator", "data", "grad_fn", "output_number", "requires_grad", "unpack_hook")

    def __init__(self, tensor: Tensor, shown: Tensor, pack: Pack, unpack: Unpack) -> None:
        """`shown` is what the hook gets to see: the tensor without or with its history."""
        self.grad_fn, self.output_number = tensor.grad_fn, tensor._output_nr
        self.requires_grad = tensor.requires_grad
        self.accumulator = node.accumulator(tensor) if self.requires_grad and self.grad_fn is None else None
        self.unpack_hook = unpack
        version = shown._version
        with no_grad():
            self.data = pack(shown)
        if shown._version != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                "cannot be modified by in-place operations as this can lead to unexpected side-effects. Please open "
                "an issue if you need to perform in-place operations on the input to a pack hook."
            )

    def unpack(self) -> Tensor:
        """What the unpack hook gives, at the saved tensor's place in the graph."""
        tensor = self.unpack_hook(self.data)
        if not isinstance(tensor, Differentiable):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(tensor).__name__}"
            )
        if self.requires_grad or tensor.requires_grad:
            tensor = tensor._alias()
            tensor._grad_fn, tensor._output_nr = self.grad_fn, self.output_number
            tensor._requires_grad = self.requires_grad
            if (node := self.accumulator) is not None:
                tensor._accumulator = lambda: node
        return tensor


_OLD_TYPES = ("Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")


def type_with_device(tensor: Tensor) -> str:
    """What PyTorch calls a tensor's type in errors: by the old name, where there was one."""
    kind = tensor.type().removeprefix("torch.").removesuffix("Tensor")
    return tensor.type() if kind in _OLD_TYPES else f"{tensor.device.type.upper()}{kind}Type"


class SavedTensors(tuple[SavedTensor | None, ...]):
    """The tensors of one argument that is a sequence of them."""

    __slots__ = ()

    def unpack(self, node: Node) -> list[Tensor | None]:
        return [None if each is None else each.unpack(node) for each in self]

    def pack_by_default(self, node: Node) -> None:
        for each in self:
            if each is not None:
                each.pack_by_default(node)


KEEPERS = (SavedTensor, SavedTensors)

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)
