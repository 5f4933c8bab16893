"""Views that a tensor becomes itself: `squeeze_`, `transpose_` and their like.

Source: https://pytorch.org/docs/stable/generated/torch.Tensor.squeeze_.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitorch.autograd.attributes import node_class
from minitorch.autograd.inplace import check_writable
from minitorch.dispatch.batched import Batched
from minitorch.dispatch.declaration import METHODS
from minitorch.dispatch.overriding import announced
from minitorch.ops.views import shape, striding, transposition  # noqa: F401  the functions whose methods are made here
from minitorch.tensor import Tensor


def in_place_view(function: Callable[..., Tensor], overloads: int) -> Callable[..., Tensor]:
    """The method that makes a tensor its own view: the memory stays, the shape and strides change.

    PyTorch numbers its node behind those of the `overloads` of the function.
    """

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check_writable(self)
        try:
            changed = function(self, *args, **kwargs)
        except RuntimeError as error:
            raise RuntimeError(str(error).replace(f"{function.__name__}()", f"{function.__name__}_()")) from None
        if isinstance(self, Batched):
            return self.become(changed)
        self._array = changed._array
        if changed._grad_fn is not None:
            _renumber(changed._grad_fn, overloads)
            self._grad_fn, self._output_nr = changed._grad_fn, changed._output_nr
        self._bump_version()
        if changed._grad_fn is not None and self._base is not None:
            self._view_version = self._version
        return self

    functools.update_wrapper(method, function)
    method.__name__ = method.__qualname__ = function.__name__ + "_"
    return method


def _renumber(node: Any, overloads: int) -> None:
    """Makes the node one of PyTorch's class for the in-place overload."""
    op, (stem, number) = node.op, node.name().split("Backward")
    name = f"{stem}Backward{int(number) + overloads}"
    node.__class__ = op.recording.nodes.get(name) or op.recording.nodes.setdefault(
        name, node_class(op, name, op.recording.derivatives)
    )


for _name, _overloads in (
    ("squeeze", 3),
    ("unsqueeze", 1),
    ("transpose", 1),
    ("swapaxes", 1),
    ("swapdims", 1),
    ("t", 1),
    ("as_strided", 1),
):
    METHODS[_name + "_"] = announced(in_place_view(METHODS[_name], _overloads))
