"""Writing with a language model: which tokens may be drawn, and the loop that draws them with a cache."""

# 24b · Four swaps
from __future__ import annotations

import math
from typing import Any

from . import Tensor, cat, no_grad, softmax


def probabilities(logits: Tensor, temperature: float = 1, top_k: int | None = None, top_p: float = 1) -> Tensor:
    """From which a token is drawn, for scores (N, V): those of the likeliest tokens, which sum to 1 again."""
    if temperature == 0 or top_p == 0:
        temperature, top_k, top_p = 1, 1, 1
    logits = logits.div(temperature)
    if top_k is not None:
        least = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
        logits = logits.masked_fill(logits < least, -math.inf)
    shares = softmax(logits, -1)
    ordered = shares.sort(-1, descending=True).values
    lowest = ordered.masked_fill(ordered.cumsum(-1) - ordered >= top_p, math.inf).amin(-1, keepdim=True)
    shares = shares.masked_fill(shares < lowest, 0.0)
    return shares / shares.sum(-1, keepdim=True)


@no_grad()
def generate(model: Any, tokens: Tensor, max_new_tokens: int, **how: Any) -> Tensor:
    """Continue sequences (N, T) by tokens that are drawn; each goes through the model once."""
    caches, new = model.new_caches(), tokens
    for _ in range(max_new_tokens):
        new = probabilities(model(new, caches=caches)[0][:, -1], **how).multinomial(1)
        tokens = cat([tokens, new], 1)
    return tokens
