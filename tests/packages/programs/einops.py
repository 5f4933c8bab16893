"""einops: rearrange, reduce, repeat, einsum, pack, and the layers with gradients."""

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import Rearrange, Reduce

torch.manual_seed(0)
images = torch.randn(4, 3, 8, 8, requires_grad=True)
net = torch.nn.Sequential(
    Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4), torch.nn.Linear(48, 8), Reduce("b n d -> b d", "mean")
)
loss = net(images).square().sum()
loss.backward()
print(f"{loss:.4f} {images.grad.norm():.4f}")
x = torch.arange(24.0).reshape(2, 3, 4)
print(rearrange(x, "a b c -> c (a b)"))
print(reduce(x, "a b c -> b", "max"), repeat(x[0, 0], "c -> k c", k=2))
print(einsum(x, x, "a b c, a d c -> a b d"))
packed, shapes = pack([x, x[0, 0]], "*")
print(packed.shape, shapes, [each.shape for each in unpack(packed, shapes, "*")])
