"""The methods that PyTorch has as functions too: `torch.exp_(x)` is `x.exp_()`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minitorch.dispatch.declaration import METHODS, NAMESPACES, with_aliases
from minitorch.ops import table  # noqa: F401 - every method is declared before its name is looked up
from minitorch.ops.activation import common, exponential_linear
from minitorch.ops.activation.common import in_place_form
from minitorch.tensor import Tensor

_IN_PLACE = """
    acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_ atan_ atanh_ ceil_
    clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_ floor_
    frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_
    reciprocal_ relu_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ tan_ tanh_ trunc_ xlogy_ zero_
"""
FORMS: dict[str, Any] = {name: METHODS[name] for name in _IN_PLACE.split()} | {
    "celu_": in_place_form(exponential_linear.celu),
    "threshold_": in_place_form(common.threshold),
    **{
        name: with_aliases(getattr(Tensor, name), 0)
        for name in ("detach", "detach_", "get_device", "is_signed", "numel")
    },
}
NAMESPACES["torch"].update(FORMS)
globals().update(FORMS)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
