"""ema-pytorch: a moving average beside training."""

import torch
from ema_pytorch import EMA

torch.manual_seed(0)
net = torch.nn.Linear(4, 4)
ema = EMA(net, beta=0.9, update_after_step=2, update_every=2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    net(torch.ones(2, 4)).square().sum().backward()
    optimizer.step()
    ema.update()
print(f"{ema(torch.ones(1, 4)).norm():.5f} {net(torch.ones(1, 4)).norm():.5f}", int(ema.step))
print(sorted(ema.state_dict()))
