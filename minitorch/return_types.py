"""The named tuples that ops with several results return.

Source: https://pytorch.org/docs/stable/torch.html, under each op's "Returns"
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any


def _repr(self: Any) -> str:
    fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{fields})"


def _named(name: str, fields: str) -> Any:
    """A named tuple that prints as PyTorch's do, a line for each field."""
    base = namedtuple(name, fields)  # type: ignore[misc]
    return type(name, (base,), {"__slots__": (), "__repr__": _repr, "__module__": __name__})


max = _named("max", "values indices")
min = _named("min", "values indices")
aminmax = _named("aminmax", "min max")
cummax = _named("cummax", "values indices")
cummin = _named("cummin", "values indices")
geqrf = _named("geqrf", "a tau")
kthvalue = _named("kthvalue", "values indices")
median = _named("median", "values indices")
mode = _named("mode", "values indices")
nanmedian = _named("nanmedian", "values indices")
sort = _named("sort", "values indices")
topk = _named("topk", "values indices")
frexp = _named("frexp", "mantissa exponent")
linalg_eigh = _named("linalg_eigh", "eigenvalues eigenvectors")
linalg_eig = _named("linalg_eig", "eigenvalues eigenvectors")
linalg_lstsq = _named("linalg_lstsq", "solution residuals rank singular_values")
linalg_qr = _named("linalg_qr", "Q R")
linalg_slogdet = _named("linalg_slogdet", "sign logabsdet")
linalg_svd = _named("linalg_svd", "U S Vh")
linalg_inv_ex = _named("linalg_inv_ex", "inverse info")
linalg_cholesky_ex = _named("linalg_cholesky_ex", "L info")
linalg_solve_ex = _named("linalg_solve_ex", "result info")
linalg_lu = _named("linalg_lu", "P L U")
linalg_ldl_factor = _named("linalg_ldl_factor", "LD pivots")
linalg_ldl_factor_ex = _named("linalg_ldl_factor_ex", "LD pivots info")
linalg_lu_factor = _named("linalg_lu_factor", "LU pivots")
linalg_lu_factor_ex = _named("linalg_lu_factor_ex", "LU pivots info")
_lu_with_info = _named("_lu_with_info", "LU pivots info")
lu_unpack = _named("lu_unpack", "P L U")
triangular_solve = _named("triangular_solve", "solution cloned_coefficient")
histogram = _named("histogram", "hist bin_edges")
slogdet = _named("slogdet", "sign logabsdet")
qr = _named("qr", "Q R")
svd = _named("svd", "U S V")
