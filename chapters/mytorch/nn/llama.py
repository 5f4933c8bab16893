"""What makes a Llama of a GPT: positions that rotate, queries that share keys and values, a cache, a gated MLP."""

# 24b · Four swaps
from __future__ import annotations

from .. import Tensor, arange, cat, ones
from ..settings import bool_ as boolean
from .activation import silu
from .attention import merge_heads, scaled_dot_product_attention, split_heads
from .linear import Linear
from .module import Module


def rotary_tables(positions: Tensor, dim: int, theta: float = 10000.0) -> tuple[Tensor, Tensor]:
    """The cosines and sines (T, dim) of positions (T,): numbers i and i + dim/2 turn by the same angle."""
    inverse = theta ** (arange(0, dim, 2, device=positions.device) / -dim)
    angles = cat([positions.unsqueeze(-1) * inverse] * 2, -1)
    return angles.cos(), angles.sin()


def rotate_half(x: Tensor) -> Tensor:
    """(a, b) as (-b, a), where a and b are the halves of the last dimension."""
    first, second = x.chunk(2, -1)
    return cat([-second, first], -1)


def apply_rotary(x: Tensor, positions: Tensor, theta: float = 10000.0) -> Tensor:
    """Rotate queries or keys (N, heads, T, dim) by the angles of their positions (T,)."""
    cos, sin = rotary_tables(positions, x.shape[-1], theta)
    return x * cos + rotate_half(x) * sin


def repeat_kv(x: Tensor, times: int) -> Tensor:
    """Each head of (N, kv heads, T, dim) several times in a row: (N, kv heads · times, T, dim)."""
    return x.unsqueeze(2).expand(-1, -1, times, -1, -1).flatten(1, 2)


class KVCache:
    """The keys and values of one layer so far, (N, kv heads, T, dim)."""

    kept: tuple[Tensor, ...] = ()

    def __len__(self) -> int:
        return self.kept[0].shape[2] if self.kept else 0

    def append(self, *new: Tensor) -> tuple[Tensor, ...]:
        """Keep more keys and values, and return all of both."""
        self.kept = tuple(cat([old, each], 2) for old, each in zip(self.kept, new, strict=True)) if self.kept else new
        return self.kept


class GroupedQueryAttention(Module):
    """Causal attention whose heads of queries share fewer heads of keys and values; with `theta`, positions rotate."""

    def __init__(self, hidden_size: int, heads: int, kv_heads: int, theta: float | None = 10000.0) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.theta = heads, kv_heads, theta
        self.q_proj, self.o_proj = (Linear(hidden_size, hidden_size, bias=False) for _ in range(2))
        self.k_proj, self.v_proj = (Linear(hidden_size, hidden_size // heads * kv_heads, bias=False) for _ in range(2))

    def forward(self, x: Tensor, cache: KVCache | None = None) -> Tensor:
        length, kept = x.shape[1], 0 if cache is None else len(cache)
        q = split_heads(self.q_proj(x), self.heads)
        k, v = (split_heads(each(x), self.kv_heads) for each in (self.k_proj, self.v_proj))
        if self.theta is not None:
            positions = arange(kept, kept + length, device=x.device)
            q, k = (apply_rotary(each, positions, self.theta) for each in (q, k))
        k, v = (k, v) if cache is None else cache.append(k, v)
        k, v = (repeat_kv(each, self.heads // self.kv_heads) for each in (k, v))
        seen = ones(length, kept + length, dtype=boolean, device=x.device).tril(kept)
        return self.o_proj(merge_heads(scaled_dot_product_attention(q, k, v, seen)))


class SwiGLU(Module):
    """silu(gate(x)) · up(x), and a linear map back."""

    def __init__(self, hidden_size: int, intermediate_size: int) -> None:
        super().__init__()
        self.gate_proj, self.up_proj = (Linear(hidden_size, intermediate_size, bias=False) for _ in range(2))
        self.down_proj = Linear(intermediate_size, hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(silu(self.gate_proj(x)) * self.up_proj(x))
