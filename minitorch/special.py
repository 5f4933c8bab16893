"""Special functions: the functions of the op table in this namespace, and those of `torch` that belong to it.

Source: https://pytorch.org/docs/stable/special.html
"""

from __future__ import annotations

from typing import Any

from minitorch.ops.declaration import NAMESPACES

_SHARED = "digamma erf erfc erfinv exp2 expm1 i0 log1p log_softmax logit logsumexp polygamma round sinc softmax xlogy"
_RENAMED = {
    "expit": "sigmoid",
    "gammainc": "igamma",
    "gammaincc": "igammac",
    "gammaln": "lgamma",
    "multigammaln": "mvlgamma",
    "psi": "digamma",
}

globals().update({name: NAMESPACES["torch"][name] for name in _SHARED.split()})
globals().update({name: NAMESPACES["torch"][other] for name, other in _RENAMED.items()})
globals().update(NAMESPACES["special"])


def __getattr__(name: str) -> Any:  # for type checkers: the names above are in no file
    raise AttributeError(f"module 'torch.special' has no attribute '{name}'")
