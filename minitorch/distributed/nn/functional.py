"""Collectives through which gradients flow: the names alone."""

from minitorch.unsupported import function

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter",
    "scatter",
]  # fmt: skip

all_gather, all_reduce, all_to_all, all_to_all_single, broadcast, gather, reduce, reduce_scatter, scatter = (
    function(f"torch.distributed.nn.functional.{name}", "minitorch's collectives have no gradients") for name in __all__
)
