"""Names that transformers imports: collectives in compiled graphs, which raise NotImplementedError when used."""

from minitorch.unsupported import function

_REASON = "compiled functions of minitorch contain no collectives; use those of torch.distributed"
all_to_all_single_autograd, wait_tensor = (
    function(f"torch.distributed._functional_collectives.{name}", _REASON)
    for name in ("all_to_all_single_autograd", "wait_tensor")
)
