"""einx: dot products, sums and reshapes with gradients."""

import einx
import torch

torch.manual_seed(0)
x = torch.randn(2, 3, 4, requires_grad=True)
w = torch.randn(4, 5)
y = einx.dot("a b [c], [c] d -> a b d", x, w)
y.square().sum().backward()
print(f"{y.sum():.4f} {x.grad.norm():.4f}")
print(einx.sum("a [b] c", torch.arange(24.0).reshape(2, 3, 4)))
print(einx.id("a b c -> (a b) c", x).shape)
