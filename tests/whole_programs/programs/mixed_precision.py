"""A perceptron trained under autocast in bfloat16, with a scaled loss."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
inputs, labels = torch.randn(32, 20), torch.randint(4, (32,))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0, growth_interval=2)
for step in range(5):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = model(inputs)
        loss = nn.functional.cross_entropy(output, labels)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    scaler.step(optimizer)
    scaler.update()
    print(f"step {step + 1}: {output.dtype} {loss.dtype} loss {loss.item():.6f}, scale {scaler.get_scale():.1f}")
print({str(each.grad.dtype) for each in model.parameters()}, {str(each.dtype) for each in model.parameters()})
