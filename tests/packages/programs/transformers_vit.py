"""transformers: ViT, loss, gradients and logits."""

import torch
from transformers import ViTConfig, ViTForImageClassification

torch.manual_seed(0)
net = ViTForImageClassification(
    ViTConfig(
        image_size=16,
        patch_size=4,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        num_labels=3,
    )
)
images = torch.randn(2, 3, 16, 16)
output = net(images, labels=torch.tensor([0, 2]))
output.loss.backward()
print(f"{output.loss:.4f} {sum(p.grad.norm() for p in net.parameters()):.3f}")
net.eval()
print([[f"{each:.4f}" for each in row] for row in net(images).logits.tolist()])
