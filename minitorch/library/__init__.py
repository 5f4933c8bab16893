"""`torch.library`: operators that users define, in Python.

    @torch.library.custom_op("mylib::numpy_sin", mutates_args=())
    def numpy_sin(x: Tensor) -> Tensor:
        return torch.from_numpy(np.sin(x.numpy()))

Source: https://docs.pytorch.org/docs/stable/library.html
"""

from minitorch.library.checking import opcheck
from minitorch.library.custom_op import CustomOpDef, custom_op
from minitorch.library.inferring import infer_schema
from minitorch.library.registering import (
    Library,
    define,
    fallthrough_kernel,
    impl,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
)
from minitorch.unsupported import function

_KEY = "the dispatcher has no such key"
register_autocast = function("torch.library.register_autocast", _KEY)
register_torch_dispatch = function("torch.library.register_torch_dispatch", _KEY)
get_ctx = function("torch.library.get_ctx", "sizes that depend on data have no symbols")
get_kernel = function("torch.library.get_kernel", "kernels of ATen are not looked up by key")
triton_op = function("torch.library.triton_op", "there is no Triton")
wrap_triton = function("torch.library.wrap_triton", "there is no Triton")

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]
