"""Tensors spread over a mesh of devices: the names alone, which packages import and ask `isinstance` for.

There are no such tensors, so all but the placements, which describe them, raise NotImplementedError when they are used.
Source: https://docs.pytorch.org/docs/stable/distributed.tensor.html
"""

from dataclasses import dataclass

from minitorch.unsupported import function, kind

__all__ = [
    "DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor", "empty", "full",
    "ones", "rand", "randn", "zeros",
]  # fmt: skip

_REASON = "minitorch has no distributed tensors; nn.parallel.DistributedDataParallel trains in several processes"


@dataclass(frozen=True)
class Placement:
    """How a tensor is distributed over the devices of a mesh."""


@dataclass(frozen=True)
class Replicate(Placement):
    """Whole, on each of them."""


@dataclass(frozen=True)
class Shard(Placement):
    """In parts, along a dimension."""

    dim: int


@dataclass(frozen=True)
class Partial(Placement):
    """As parts that have to be reduced."""

    reduce_op: str = "sum"


DTensor = kind("torch.distributed.tensor.DTensor", _REASON)
distribute_module, distribute_tensor, empty, full, ones, rand, randn, zeros = (
    function(f"torch.distributed.tensor.{name}", _REASON)
    for name in ("distribute_module", "distribute_tensor", "empty", "full", "ones", "rand", "randn", "zeros")
)
