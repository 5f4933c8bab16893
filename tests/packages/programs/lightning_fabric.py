"""lightning-fabric: two epochs of training with clipping."""

import logging

import torch
from lightning_fabric import Fabric

logging.disable(logging.WARNING)
fabric = Fabric(accelerator="cpu", devices=1)
fabric.launch()
fabric.seed_everything(0, verbose=False)
net = torch.nn.Linear(4, 1)
net, optimizer = fabric.setup(net, torch.optim.Adam(net.parameters(), lr=0.05))
loader = fabric.setup_dataloaders(torch.utils.data.DataLoader(torch.randn(32, 4), 8, shuffle=True))
for epoch in range(2):
    for batch in loader:
        optimizer.zero_grad()
        loss = net(batch).square().mean()
        fabric.backward(loss)
        fabric.clip_gradients(net, optimizer, max_norm=1.0)
        optimizer.step()
    print(epoch, f"{loss:.5f}")
print(type(net).__name__, fabric.device)
