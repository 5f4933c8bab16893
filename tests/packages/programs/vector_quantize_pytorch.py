"""vector-quantize-pytorch: seven quantizers with gradients."""

import torch
from vector_quantize_pytorch import FSQ, LFQ, RandomProjectionQuantizer, ResidualVQ, VectorQuantize

makers = {
    "vq": lambda: VectorQuantize(dim=8, codebook_size=16, decay=0.8),
    "cosine": lambda: VectorQuantize(dim=8, codebook_size=16, use_cosine_sim=True),
    "kmeans": lambda: VectorQuantize(dim=8, codebook_size=16, kmeans_init=True, kmeans_iters=3),
    "residual": lambda: ResidualVQ(dim=8, num_quantizers=2, codebook_size=16),
    "fsq": lambda: FSQ(levels=[4, 4], dim=8),
    "lfq": lambda: LFQ(codebook_size=16, dim=8),
}
for name, make in makers.items():
    torch.manual_seed(0)
    quantizer, x = make(), torch.randn(2, 12, 8, requires_grad=True)
    quantized, indices, *rest = quantizer(x)
    loss = quantized.square().mean() + (sum(rest[0].flatten()) if rest else 0)
    loss.backward()
    print(name, f"{loss:.4f}", indices.flatten()[:8].tolist(), f"{x.grad.norm():.4f}")
torch.manual_seed(0)
projection = RandomProjectionQuantizer(dim=8, num_codebooks=2, codebook_dim=4, codebook_size=16)
print(projection(torch.randn(1, 6, 8)).tolist())
