"""lion-pytorch: five steps of training."""

import torch
from lion_pytorch import Lion

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = Lion(net.parameters(), lr=1e-2, weight_decay=1e-2)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for _ in range(5):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
    print(f"{loss:.5f}")
print(sorted(optimizer.state_dict()), len(optimizer.state_dict()["state"]))
