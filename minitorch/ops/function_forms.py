"""The methods that PyTorch has as functions too: `torch.exp_(x)` is `x.exp_()`."""

from minitorch.ops import table  # noqa: F401 - every method is declared before its name is looked up
from minitorch.ops.declaration import METHODS, NAMESPACES
from minitorch.tensor import Tensor

_IN_PLACE = """
abs acos acosh addmv arccos arccosh arcsin arcsinh arctan arctanh as_strided asin asinh atan atanh ceil clamp clamp_max
clamp_min clip conj_physical cos cosh deg2rad erf erfc exp exp2 expm1 fill fix floor frac gcd i0 index_put lcm ldexp log
log10 log1p log2 logit nan_to_num neg negative rad2deg reciprocal relu resize_as round rsqrt sigmoid sin sinc sinh sqrt
square tan tanh trunc xlogy zero
"""

NAMESPACES["torch"].update({name + "_": METHODS[name + "_"] for name in _IN_PLACE.split()})
NAMESPACES["torch"].update(
    {name: getattr(Tensor, name) for name in ("detach", "detach_", "get_device", "is_signed", "numel")}
)
