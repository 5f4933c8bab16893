"""What random programs are drawn from: numbers, dimensions, shapes and indices that mostly fit a tensor."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

Pick = Callable[[Sequence[Any]], Any]
"""Picks one of several. The first ones are the simplest: to them a failing program is reduced."""


class Draw:
    """Draws what programs are made of; every choice goes through `pick`."""

    def __init__(self, pick: Pick) -> None:
        self.of = pick

    def seldom(self) -> bool:
        return bool(self.of((False,) * 15 + (True,)))

    def integer(self, low: int, high: int) -> int:
        """Of these bounds, both included, the one nearer to zero comes first."""
        return int(self.of(sorted(range(low, high + 1), key=abs)))

    def dim(self, ndim: int) -> int:
        span = max(ndim, 1)
        return self.integer(-span - 1, span) if self.seldom() else self.integer(-span, span - 1)

    def shape(self) -> tuple[int, ...]:
        return tuple(self.of((2, 3, 1, 4, 0 if self.seldom() else 2)) for _ in range(self.integer(0, 4)))

    def factors(self, numel: int) -> tuple[int, ...]:
        """A shape of so many elements."""
        if self.seldom():
            return self.shape()
        sizes: list[int] = []
        while numel > 1 and len(sizes) < 4:
            size = self.of([size for size in range(1, numel + 1) if numel % size == 0])
            sizes.append(size)
            numel //= size
        if numel != 1:
            sizes.append(numel)
        if sizes and self.of((False, False, True)):
            sizes[self.integer(0, len(sizes) - 1)] = -1
        return tuple(sizes)

    def broadcastable(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape that can be expanded to this one."""
        kept = [size if self.of((True, True, False)) else 1 for size in shape]
        return tuple(kept[self.integer(0, len(kept)) :]) if kept and self.of((False, True)) else tuple(kept)

    def order(self, ndim: int) -> tuple[int, ...]:
        rest, order = list(range(ndim)), []
        while rest:
            order.append(rest.pop(self.integer(0, len(rest) - 1)))
        return tuple(dim - ndim if self.seldom() else dim for dim in order)

    def bound(self, size: int) -> str:
        return str(self.of(("", *range(-size - 1, size + 2))))

    def slice(self, size: int) -> str:
        return f"{self.bound(size)}:{self.bound(size)}" + self.of(("", "", "::2"[1:], ":3", ":1"))

    def positions(self, count: int, below: int) -> list[int]:
        """Indices of a dimension, perhaps negative, each at most once where `count` allows."""
        if self.seldom():
            return [self.integer(-below - 1, below) for _ in range(count)]
        return [self.integer(-below, below - 1) for _ in range(count)] if below else []

    def mask(self, shape: Sequence[int]) -> str:
        bits = [self.of((True, False)) for _ in range(math.prod(shape))]
        return f"torch.tensor({bits}, dtype=torch.bool).reshape({tuple(shape)})"

    def index(self, shape: Sequence[int], distinct: bool = False) -> str:
        """What stands between the brackets of x[…]. With `distinct`, no element is indexed twice."""
        items: list[str] = []
        dims = list(shape)
        tensors = 0
        while dims:
            kind = self.of(("int", "slice", ":", "None", "list", "tensor", "mask", "...", "end", "bool", "0-dim"))
            if kind == "end":
                break
            if kind == "None":
                items.append("None")
                if len(items) > 5:
                    break
            elif kind == "...":
                if "..." not in items:
                    items.append("...")
                    del dims[: self.integer(0, len(dims))]
            elif kind == "bool":
                items.append(self.of(("True", "False")))
                if len(items) > 5:
                    break
            elif kind == "mask":
                width = self.integer(1, min(2, len(dims)))
                if tensors and distinct:
                    continue
                tensors += 1
                items.append(self.mask(dims[:width]))
                del dims[:width]
            else:
                size = dims.pop(0)
                places = self.positions(self.integer(0, 3), size)
                if distinct:  # and valid: of several faults in an assignment, PyTorch finds another first
                    places = [place for place in places if -size <= place < size]
                    places = [p for n, p in enumerate(places) if p % max(size, 1) not in {q % size for q in places[:n]}]
                if kind in ("list", "tensor") and distinct and tensors:
                    kind = "int"
                tensors += kind in ("list", "tensor")
                match kind:
                    case "int":
                        items.append(str((self.positions(1, size) or [0])[0]))
                    case "slice":
                        items.append(self.slice(size))
                    case ":":
                        items.append(":")
                    case "list":
                        items.append(str(places))
                    case "tensor":
                        items.append(f"torch.tensor({places}, dtype=torch.int64)")
                    case _:
                        items.append(f"torch.tensor({(self.positions(1, size) or [0])[0]})")
        if not items:
            return "..."
        return ", ".join(items)
