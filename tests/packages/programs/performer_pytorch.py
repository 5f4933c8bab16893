"""performer-pytorch: a language model with linear attention and gradients."""

import torch
from performer_pytorch import Performer, PerformerLM

torch.manual_seed(0)
net = PerformerLM(num_tokens=20, max_seq_len=32, dim=16, depth=2, heads=2, dim_head=8, causal=False, nb_features=8)
tokens = torch.randint(0, 20, (2, 32))
logits = net(tokens)
loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), tokens)
loss.backward()
print(f"{loss:.4f} {sum(p.grad.norm() for p in net.parameters() if p.grad is not None):.2f}")
body = Performer(dim=16, depth=1, heads=2, dim_head=8, nb_features=8)
print(tuple(body(torch.randn(1, 10, 16)).shape))
