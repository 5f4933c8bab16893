"""Which module's forward recorded a node: nodes are numbered, so it is enough to know the numbers at which it ran."""

from __future__ import annotations

import bisect
from typing import Any, NamedTuple

from minitorch.autograd import node
from minitorch.nn.modules.module import Module


class ModuleCall(NamedTuple):
    """A run of a module's forward: the number of the first node that it could record, and of the first it could not."""

    begin: int
    end: int
    path: str
    module: Module
    outer: int | None
    """The place of the call around this one, in the list of calls."""


class ModuleCalls:
    """The calls of a model's modules during a run, in the order in which they begin.

    Hooks of the modules draw sequence numbers when a forward begins and ends; the ops know nothing of it.
    """

    def __init__(self, model: Module) -> None:
        self.paths = {module: path for path, module in model.named_modules()}
        self.calls: list[ModuleCall] = []
        self._open: list[int] = []

    def run(self, model: Module, inputs: tuple[Any, ...]) -> Any:
        """`model(*inputs)`, with its calls recorded."""
        handles = []
        for module in self.paths:
            handles.append(module.register_forward_pre_hook(self._begin, prepend=True))
            handles.append(module.register_forward_hook(self._end, always_call=True))
        try:
            return model(*inputs)
        finally:
            for handle in handles:
                handle.remove()

    def _begin(self, module: Any, args: Any) -> None:
        outer = self._open[-1] if self._open else None
        self._open.append(len(self.calls))
        begin = next(node.numbering)
        self.calls.append(ModuleCall(begin, begin, self.paths[module], module, outer))

    def _end(self, module: Any, args: Any, output: Any) -> None:
        place = self._open.pop()
        self.calls[place] = self.calls[place]._replace(end=next(node.numbering))

    def around(self, number: int) -> list[int]:
        """The places of the calls in which the node of this number was recorded, from the outside to the inside."""
        place: int | None = bisect.bisect(self.calls, (number,)) - 1
        place = None if place == -1 else place
        inside: list[int] = []
        while place is not None:
            call = self.calls[place]
            if call.begin <= number < call.end or inside:
                inside.append(place)
            place = call.outer
        return inside[::-1]
