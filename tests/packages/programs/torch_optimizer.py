"""torch-optimizer: 23 optimizers, four steps each."""

import torch
import torch_optimizer

for name in [
    "AccSGD",
    "AdaBound",
    "AdaMod",
    "Adafactor",
    "Adahessian",
    "AdamP",
    "AggMo",
    "Apollo",
    "DiffGrad",
    "Lamb",
    "NovoGrad",
    "PID",
    "QHAdam",
    "QHM",
    "RAdam",
    "Ranger",
    "RangerQH",
    "RangerVA",
    "SGDP",
    "SGDW",
    "SWATS",
    "Yogi",
    "MADGRAD",
]:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()
    options = {} if name == "Adafactor" else {"lr": 1e-2}
    optimizer = getattr(torch_optimizer, name)(net.parameters(), **options)
    x, y = torch.randn(32, 4).double(), torch.randn(32, 1).double()
    for _ in range(4):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward(create_graph=name == "Adahessian")
        optimizer.step()
    print(name, f"{loss:.5f}")
