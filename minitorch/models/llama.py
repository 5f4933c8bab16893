"""Llama: a GPT with rotary positions, RMS norms, gated MLPs and queries that share keys and values.

Names, configuration and the layout of the rotation are those of Hugging Face's `LlamaForCausalLM`, so such a
checkpoint loads by name.
Source: Touvron et al. (2023), *LLaMA: open and efficient foundation language models*,
https://arxiv.org/abs/2302.13971; Su et al. (2021), *RoFormer*, https://arxiv.org/abs/2104.09864
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn


@dataclass
class LlamaConfig:
    """The sizes of a Llama, by the keys of its `config.json`. The defaults are those of Llama 7B."""

    vocab_size: int = 32000
    hidden_size: int = 4096
    intermediate_size: int = 11008
    num_hidden_layers: int = 32
    num_attention_heads: int = 32
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10000.0
    initializer_range: float = 0.02
    attention_bias: bool = False
    mlp_bias: bool = False
    tie_word_embeddings: bool = False

    def __post_init__(self) -> None:
        if self.num_key_value_heads is None:
            self.num_key_value_heads = self.num_attention_heads
        if self.head_dim is None:
            self.head_dim = self.hidden_size // self.num_attention_heads
        if self.num_attention_heads % self.num_key_value_heads:
            raise ValueError(
                f"num_attention_heads {self.num_attention_heads} is not a multiple of "
                f"num_key_value_heads {self.num_key_value_heads}"
            )

    @classmethod
    def from_dict(cls, config: dict[str, Any]) -> LlamaConfig:
        """From what is in a `config.json`. Raises ValueError for what would give other numbers here."""
        rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
        kind = rope.get("rope_type", rope.get("type", "default"))
        if kind != "default":
            raise ValueError(f"rope_type {kind!r} is not supported")
        if config.get("hidden_act", "silu") != "silu":
            raise ValueError(f"hidden_act {config['hidden_act']!r} is not supported")
        known = {each.name: config[each.name] for each in fields(cls) if each.name in config}
        return cls(**{"rope_theta": rope.get("rope_theta", 10000.0), **known})


class KVCache:
    """The keys and values of one layer so far, (B, kv heads, T, D)."""

    def __init__(self) -> None:
        self.key: torch.Tensor | None = None
        self.value: torch.Tensor | None = None

    def __len__(self) -> int:
        return 0 if self.key is None else self.key.size(2)

    def append(self, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Keep more of both, and return all of both."""
        if self.key is not None and self.value is not None:
            key, value = torch.cat((self.key, key), dim=2), torch.cat((self.value, value), dim=2)
        self.key, self.value = key, value
        return key, value


def rotary_tables(positions: torch.Tensor, dim: int, theta: float = 10000.0) -> tuple[torch.Tensor, torch.Tensor]:
    """The cosines and sines (T, dim) of each position's angles; numbers i and i + dim/2 turn by the same angle."""
    inverse = 1.0 / theta ** (torch.arange(0, dim, 2, device=positions.device).float() / dim)
    angles = positions.float().unsqueeze(-1) * inverse
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def rotate_half(x: torch.Tensor) -> torch.Tensor:
    """(a, b) as (−b, a), where a and b are the halves of the last dimension."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def apply_rotary(x: torch.Tensor, positions: torch.Tensor, theta: float = 10000.0) -> torch.Tensor:
    """Rotate queries or keys (B, heads, T, D) to their positions (T,), or (B, 1, T) for each sequence by itself."""
    cos, sin = rotary_tables(positions, x.size(-1), theta)
    return x * cos.to(x.dtype) + rotate_half(x) * sin.to(x.dtype)


def repeat_kv(x: torch.Tensor, times: int) -> torch.Tensor:
    """Each head of (B, kv heads, T, D) several times in a row: (B, kv heads · times, T, D)."""
    if times == 1:
        return x
    B, heads, T, D = x.size()
    return x.unsqueeze(2).expand(B, heads, times, T, D).reshape(B, heads * times, T, D)


class LlamaAttention(nn.Module):
    """Causal attention in which several heads of queries share one of keys and values."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        assert config.num_key_value_heads is not None and config.head_dim is not None  # `__post_init__` saw to it
        self.heads, self.kv_heads, self.head_dim = (
            config.num_attention_heads,
            config.num_key_value_heads,
            config.head_dim,
        )
        self.rope_theta = config.rope_theta
        queries, keys, bias = self.heads * self.head_dim, self.kv_heads * self.head_dim, config.attention_bias
        self.q_proj = nn.Linear(config.hidden_size, queries, bias=bias)
        self.k_proj = nn.Linear(config.hidden_size, keys, bias=bias)
        self.v_proj = nn.Linear(config.hidden_size, keys, bias=bias)
        self.o_proj = nn.Linear(queries, config.hidden_size, bias=bias)

    def forward(self, x: torch.Tensor, cache: KVCache | None = None) -> torch.Tensor:
        B, T, _ = x.size()
        kept = 0 if cache is None else len(cache)
        positions = torch.arange(kept, kept + T, device=x.device)
        q = apply_rotary(self.split(self.q_proj(x)), positions, self.rope_theta)
        k = apply_rotary(self.split(self.k_proj(x)), positions, self.rope_theta)
        v = self.split(self.v_proj(x))
        if cache is not None:
            k, v = cache.append(k, v)
        k, v = (repeat_kv(each, self.heads // self.kv_heads) for each in (k, v))
        mask = torch.ones(T, kept + T, dtype=torch.bool, device=x.device).tril(kept)  # query 0 comes after what is kept
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o_proj(y.transpose(1, 2).reshape(B, T, self.heads * self.head_dim))

    def split(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, heads · D) to (B, heads, T, D)."""
        return x.view(x.size(0), x.size(1), -1, self.head_dim).transpose(1, 2)


class LlamaMLP(nn.Module):
    """SwiGLU: one linear map gates another, and a third leads back."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=config.mlp_bias)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=config.mlp_bias)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=config.mlp_bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class LlamaDecoderLayer(nn.Module):
    """Attention and MLP, each normalized first and added to its input."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.self_attn = LlamaAttention(config)
        self.mlp = LlamaMLP(config)
        self.input_layernorm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def forward(self, x: torch.Tensor, cache: KVCache | None = None) -> torch.Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class LlamaModel(nn.Module):
    """Maps token numbers (B, T) to vectors (B, T, hidden_size)."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList([LlamaDecoderLayer(config) for _ in range(config.num_hidden_layers)])
        self.norm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def forward(self, input_ids: torch.Tensor, caches: list[KVCache] | None = None) -> torch.Tensor:
        x = self.embed_tokens(input_ids)
        for number, layer in enumerate(self.layers):
            x = layer(x, None if caches is None else caches[number])
        return self.norm(x)


class LlamaForCausalLM(nn.Module):
    """Maps token numbers (B, T) to scores of the next token (B, T, vocab_size)."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.config = config
        self.model = LlamaModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        if config.tie_word_embeddings:
            self.lm_head.weight = self.model.embed_tokens.weight
        self.apply(self._init_weights)

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=self.config.initializer_range)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def new_caches(self) -> list[KVCache]:
        """An empty cache for each layer."""
        return [KVCache() for _ in self.model.layers]

    def forward(
        self, input_ids: torch.Tensor, targets: torch.Tensor | None = None, caches: list[KVCache] | None = None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The scores and, with targets (B, T), the loss. With caches, the tokens come after those that are kept there.

        A target of −100 is left out.
        """
        logits = self.lm_head(self.model(input_ids, caches))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-100)

    @torch.no_grad()
    def generate(
        self, input_ids: torch.Tensor, max_new_tokens: int, temperature: float = 1.0, top_k: int | None = None
    ) -> torch.Tensor:
        """Continues sequences (B, T) by tokens drawn one after the other; each goes through the model once.

        At temperature 0 the likeliest token is taken.
        """
        caches, new = self.new_caches(), input_ids
        for _ in range(max_new_tokens):
            logits = self(new, caches=caches)[0][:, -1, :]
            if temperature == 0:
                new = logits.argmax(-1, keepdim=True)
            else:
                logits = logits / temperature
                if top_k is not None:
                    least = torch.topk(logits, min(top_k, logits.size(-1))).values[:, [-1]]
                    logits[logits < least] = -float("inf")
                new = torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)
            input_ids = torch.cat((input_ids, new), dim=1)
        return input_ids
