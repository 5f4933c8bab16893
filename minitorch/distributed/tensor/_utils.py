"""The name that transformers imports; it raises NotImplementedError when it is used."""

from minitorch.distributed.tensor import _REASON
from minitorch.unsupported import function

compute_local_shape_and_global_offset = function(
    "torch.distributed.tensor._utils.compute_local_shape_and_global_offset", _REASON
)
