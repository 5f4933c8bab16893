"""Linear algebra. The ops themselves are in `minitorch.ops.linalg`.

Source: https://pytorch.org/docs/stable/linalg.html
"""

# ruff: noqa: F401
from __future__ import annotations

from minitorch.ops.creation.grids import linalg_vander as vander
from minitorch.ops.linalg.common import LinAlgError
from minitorch.ops.linalg.contraction import multi_dot
from minitorch.ops.linalg.determinants import det, slogdet
from minitorch.ops.linalg.eig import cond, diagonal, eig, eigvals, tensorinv, tensorsolve
from minitorch.ops.linalg.ldl import ldl_factor, ldl_factor_ex, ldl_solve
from minitorch.ops.linalg.lu import lu, lu_factor, lu_factor_ex, lu_solve
from minitorch.ops.linalg.matmul import matmul
from minitorch.ops.linalg.matrix_functions import householder_product, matrix_exp, matrix_power
from minitorch.ops.linalg.norms import matrix_norm, norm, vector_norm
from minitorch.ops.linalg.qr_svd_eigh import eigh, eigvalsh, lstsq, matrix_rank, pinv, qr, svd, svdvals
from minitorch.ops.linalg.solve import cholesky, cholesky_ex, inv, inv_ex, solve, solve_ex, solve_triangular
from minitorch.ops.linalg.vector_products import cross, vecdot
