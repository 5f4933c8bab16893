"""Principal components, by power iteration."""

# 21 · Features, transfer and pictures
from __future__ import annotations

from .. import Tensor, no_grad, randn, stack


@no_grad()
def pca(x: Tensor, k: int, steps: int = 200) -> tuple[Tensor, Tensor]:
    """The `k` orthogonal directions (k, D) in which rows (N, D) vary most, and their variances along them (k,)."""
    centred = x - x.mean(0)
    covariance = centred.T @ centred / (len(x) - 1)
    directions, variances = [], []
    for _ in range(k):
        v = randn(x.shape[1], dtype=x.dtype, device=x.device)
        for _ in range(steps):
            v = covariance @ v
            v = v / (v * v).sum().sqrt()
        v = v * v[v.abs().argmax()].sign()  # of v and -v, the one whose largest number is above 0
        variance = v @ covariance @ v
        covariance = covariance - variance * v.unsqueeze(1) * v
        directions.append(v)
        variances.append(variance)
    return stack(directions), stack(variances)
