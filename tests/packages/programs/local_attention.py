"""local-attention: attention in windows, and a transformer with gradients."""

import torch
from local_attention import LocalAttention
from local_attention.transformer import LocalTransformer

torch.manual_seed(0)
q, k, v = (torch.randn(2, 4, 32, 8) for _ in range(3))
attend = LocalAttention(dim=8, window_size=8, causal=True, look_backward=1, look_forward=0, autopad=True)
print(f"{attend(q, k, v, mask=torch.ones(2, 32).bool()).norm():.4f}")
net = LocalTransformer(
    num_tokens=20, dim=16, depth=2, max_seq_len=32, causal=True, local_attn_window_size=8, heads=2, dim_head=8
)
loss = net(torch.randint(0, 20, (2, 32)), return_loss=True)
loss.backward()
print(f"{loss:.4f} {sum(p.grad.norm() for p in net.parameters() if p.grad is not None):.3f}")
