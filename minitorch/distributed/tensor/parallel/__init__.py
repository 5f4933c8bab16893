"""Layers spread over a mesh of devices: the names alone, each of which raises NotImplementedError when it is used.

Source: https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html
"""

from minitorch.unsupported import function, kind

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
    "RowwiseParallel", "SequenceParallel", "loss_parallel", "parallelize_module",
]  # fmt: skip

_REASON = "minitorch has no tensor parallelism"

ColwiseParallel, ParallelStyle, PrepareModuleInput, PrepareModuleInputOutput, PrepareModuleOutput = (
    kind(f"torch.distributed.tensor.parallel.{name}", _REASON) for name in __all__[:5]
)
RowwiseParallel, SequenceParallel = (
    kind(f"torch.distributed.tensor.parallel.{name}", _REASON) for name in __all__[5:7]
)
loss_parallel, parallelize_module = (
    function(f"torch.distributed.tensor.parallel.{name}", _REASON) for name in __all__[7:]
)
