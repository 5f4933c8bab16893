"""Ready parametrizations: orthogonal matrices, weights of given length, weights of spectral norm 1.

Source: https://pytorch.org/docs/stable/nn.html#parametrizations
"""

from __future__ import annotations

from typing import Any

from minitorch import Tensor, allclose, cat, eye, finfo, geqrf, matrix_exp, no_grad, randn, zeros_like
from minitorch.linalg import householder_product, solve
from minitorch.nn.modules.module import Module
from minitorch.nn.utils.parametrize import register_parametrization
from minitorch.nn.utils.spectral_norm import default_dim, first_dim
from minitorch.ops.nn.normalization import normalize
from minitorch.ops.nn.weight_norm import _weight_norm, norm_except_dim

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_MAPS = ("matrix_exp", "cayley", "householder")


def _identity(n: int, like: Tensor) -> Tensor:
    return eye(n, dtype=like.dtype, device=like.device)


def _is_orthogonal(Q: Tensor) -> bool:
    n, k = Q.shape[-2:]
    return allclose(Q.mH @ Q, _identity(k, Q), atol=10.0 * n * finfo(Q.dtype).eps)


def _made_orthogonal(A: Tensor) -> Tensor:
    """Q of A = QR, with signs such that R has a positive diagonal."""
    R, tau = geqrf(A)
    return householder_product(R, tau) * R.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """A matrix with orthonormal columns (rows, where it has fewer of them) from an arbitrary one.

    With trivialization it is `base` times a matrix that starts as the identity, and can be assigned.
    """

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.size(-2) < X.size(-1)
        Q = self._mapped(X.mT if wide else X)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    def _mapped(self, X: Tensor) -> Tensor:
        n, k = X.shape[-2:]
        if self.orthogonal_map == "householder":
            A = X.tril(-1)
            tau = 2.0 / (1.0 + (A * A).sum(-2))
            # The diagonal holds signs: as integers they have no gradient.
            return householder_product(A, tau) * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        X = X.tril()
        if n != k:
            X = cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], -1)
        A = X - X.mH  # skew-symmetric, so that both maps make it orthogonal
        if self.orthogonal_map == "matrix_exp":
            Q = matrix_exp(A)
        else:
            identity = _identity(n, A)
            Q = solve(identity - 0.5 * A, identity + 0.5 * A)
        return Q[..., :k]

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        wide = Q.size(-2) < Q.size(-1)
        tall = Q.mT if wide else Q
        if not hasattr(self, "base"):
            return self._inverse_of_householder(tall, wide)
        n, k = tall.shape[-2:]
        if n != k:
            more = randn(*tall.shape[:-2], n, n - k, dtype=Q.dtype, device=Q.device)
            self.base = _made_orthogonal(cat([tall, more], -1))
        else:
            self.base = tall.clone() if _is_orthogonal(tall) else _made_orthogonal(tall)
        # What every one of the maps sends to the identity; the diagonal counts for householder alone.
        negative = zeros_like(Q)
        negative.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return negative

    def _inverse_of_householder(self, Q: Tensor, wide: bool) -> Tensor:
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        A, tau = geqrf(Q)
        diagonal = A.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        diagonal[tau == 0.0] *= -1
        return A.mT if wide else A


def _tensor_of(module: Module, name: str) -> Tensor:
    tensor = getattr(module, name, None)
    if not isinstance(tensor, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return tensor


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Has a weight (…, n, k) stay orthogonal: QᵀQ = 1, or QQᵀ = 1 where n < k.

    `orthogonal_map` is how: "matrix_exp" exp(A), "cayley" (1 − A/2)⁻¹(1 + A/2), both with A = X − Xᴴ, or "householder",
    a product of reflections. Raises ValueError for vectors and unknown maps.
    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.orthogonal.html
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    parametrization = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, parametrization, unsafe=True)


class _WeightNorm(Module):
    """g · v / ‖v‖, the norm taken for each index of `dim`."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return _weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Has a weight computed from its length `original0` and its direction `original1`: w = g · v / ‖v‖.

    Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.weight_norm.html
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        """Takes a state dict that the old `nn.utils.weight_norm` made."""
        old = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if all(key in state_dict for key in old):
            for number, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{number}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """W / σ(W), σ the largest singular value, estimated by power iterations that go on with every training step."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = first_dim(weight, self.dim).flatten(1)
            for name, size in (("_u", matrix.size(0)), ("_v", matrix.size(1))):
                self.register_buffer(name, matrix.new_empty(size).normal_(0, 1))
            self._u, self._v = (normalize(each, dim=0, eps=eps) for each in (self._u, self._v))
            self._power_method(matrix, 15)

    @no_grad()
    def _power_method(self, matrix: Tensor, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            normalize(matrix.mv(self._v), dim=0, eps=self.eps, out=self._u)
            normalize(matrix.H.mv(self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = first_dim(weight, self.dim).flatten(1)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # the next call overwrites them, maybe before this one's backward
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Has a weight divided by its largest singular value, as a matrix with `dim` first.

    Source: Miyato et al. (2018), https://arxiv.org/abs/1802.05957, and
    https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.spectral_norm.html
    """
    weight = _tensor_of(module, name)
    chosen = default_dim(module) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, chosen, eps))
