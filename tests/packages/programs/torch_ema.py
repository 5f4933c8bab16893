"""torch-ema: a moving average beside training."""

import torch
from torch_ema import ExponentialMovingAverage

torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
ema = ExponentialMovingAverage(net.parameters(), decay=0.9)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
for _ in range(6):
    optimizer.zero_grad()
    net(torch.ones(2, 4)).square().sum().backward()
    optimizer.step()
    ema.update()
print(net.weight)
with ema.average_parameters():
    print(net.weight)
print(ema.state_dict()["num_updates"], f"{net.weight.norm():.5f}")
