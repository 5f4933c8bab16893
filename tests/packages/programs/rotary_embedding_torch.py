"""rotary-embedding-torch: rotary, xpos and axial embeddings with gradients."""

import torch
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

torch.manual_seed(0)
rotary = RotaryEmbedding(dim=8)
q, k = torch.randn(1, 2, 10, 16, requires_grad=True), torch.randn(1, 2, 10, 16)
turned = rotary.rotate_queries_or_keys(q)
turned.square().sum().backward()
print(f"{turned.sum():.3f} {q.grad.norm():.3f}")
xpos = RotaryEmbedding(dim=8, use_xpos=True)
print([f"{each.norm():.4f}" for each in xpos.rotate_queries_and_keys(q.detach(), k)])
axial = RotaryEmbedding(dim=8, freqs_for="pixel", max_freq=16)
print(f"{apply_rotary_emb(axial.get_axial_freqs(4, 4), torch.randn(1, 4, 4, 32)).norm():.4f}")
