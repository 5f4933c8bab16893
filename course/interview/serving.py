"""Continue a batch of prompts with a small decoder that keeps its keys and values."""

from __future__ import annotations

from typing import Any

import minitorch as torch
from minitorch import nn

TOKENS, WIDTH, HEADS, BLOCKS, PAD, END = 24, 16, 2, 2, 0, 1


def padded(prompts: list[list[int]]) -> tuple[Any, Any]:
    """The prompts in one tensor, filled up from the left, and a mask that is True at their tokens."""
    length = max(map(len, prompts))
    ids = torch.tensor([[PAD] * (length - len(each)) + each for each in prompts])
    real = torch.tensor([[False] * (length - len(each)) + [True] * len(each) for each in prompts])
    return ids, real


def rotate(x: Any, positions: Any) -> Any:
    """Rotary positions: x is (B, heads, T, width), positions (B, T)."""
    half = x.shape[-1] // 2
    angles = positions[:, None, :, None] / 100.0 ** (torch.arange(half) / half)
    left, right = x[..., :half], x[..., half:]
    return torch.cat([left * angles.cos() - right * angles.sin(), left * angles.sin() + right * angles.cos()], -1)


class Cache:
    """The keys and values of one block."""

    def __init__(self) -> None:
        self.kept: tuple[Any, ...] = ()

    def append(self, *new: Any) -> tuple[Any, ...]:
        pairs = zip(self.kept, new, strict=True) if self.kept else ((each,) for each in new)
        self.kept = tuple(torch.cat(pair, 2) for pair in pairs)
        return self.kept


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.dropout = nn.RMSNorm(WIDTH), nn.Dropout(0.1)
        self.project, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Any, positions: Any, visible: Any, cache: Cache) -> Any:
        parts = self.project(self.norm(x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        q, k, v = rotate(parts[0], positions), rotate(parts[1], positions), parts[2]
        keys, values = cache.append(k, v)
        scores = q @ keys.transpose(2, 3) / k.shape[-1] ** 0.5
        weights = scores.masked_fill(~visible[:, None], -1e9).softmax(-1)
        return x + self.dropout(self.out((weights @ values).transpose(1, 2).flatten(2)))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token, self.head = nn.Embedding(TOKENS, WIDTH), nn.Linear(WIDTH, TOKENS)
        self.blocks = nn.ModuleList([Block() for _ in range(BLOCKS)])

    def forward(self, ids: Any, real: Any, caches: list[Cache]) -> Any:
        """The logits of new tokens (B, T). `real` (B, S) is True at tokens, the cached ones and these."""
        count, length = ids.shape[1], real.shape[1]
        positions = (real.cumsum(1) - 1)[:, -count:]
        causal = torch.ones(count, length, dtype=torch.bool).tril(length - count)
        visible = causal & real[:, None]
        x = self.token(ids)
        for block, cache in zip(self.blocks, caches, strict=True):
            x = block(x, positions, visible, cache)
        return self.head(x)


def choose(logits: Any, temperature: float, top_p: float, generator: Any) -> Any:
    """A token for each row: the likeliest at temperature 0, else one of the likeliest whose sum reaches `top_p`."""
    if temperature == 0:
        return logits.argmax(-1)
    probabilities, places = (logits / temperature).softmax(-1).sort(-1, descending=True)
    before = probabilities.cumsum(-1) - probabilities
    drawn = torch.multinomial(probabilities.masked_fill(before >= top_p, 0.0), 1, generator=generator)
    return places.gather(-1, drawn)[:, 0]


def generate(
    model: Any, prompts: list[list[int]], most: int, temperature: float = 0.0, top_p: float = 1.0, seed: int = 0
) -> list[list[int]]:
    """An answer to each prompt, which ends with END or after `most` tokens."""
    model.eval()
    ids, real = padded(prompts)
    caches = [Cache() for _ in model.blocks]
    answers: list[list[int]] = [[] for _ in prompts]
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for _ in range(most):
            logits = model(ids, real, caches)[:, -1]
            ids = choose(logits, temperature, top_p, generator)[:, None]
            for answer, token in zip(answers, ids[:, 0].tolist(), strict=True):
                if END not in answer:
                    answer.append(token)
            if all(END in answer for answer in answers):
                break
            real = torch.cat([real, torch.ones(len(prompts), 1, dtype=torch.bool)], 1)
    return answers


def score(model: Any, prompt: list[int], answer: list[int]) -> float:
    """The log-probability of an answer."""
    ids = torch.tensor([[*prompt, *answer]])
    with torch.no_grad():
        logits = model.eval()(ids, ids >= 0, [Cache() for _ in model.blocks])
    chosen = logits[0, len(prompt) - 1 : -1].log_softmax(-1).gather(-1, ids[0, len(prompt) :, None])
    return float(chosen.sum())
