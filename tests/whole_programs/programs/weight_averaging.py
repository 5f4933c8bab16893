"""Stochastic weight averaging: the mean of the weights along the way, with batch statistics of its own."""

import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1))
inputs = torch.randn(64, 10)
targets = inputs[:, :3].sum(1, keepdim=True).sin()
loader = DataLoader(TensorDataset(inputs, targets), batch_size=16, shuffle=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
averaged = AveragedModel(model)
smoothed = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=5)
swa_scheduler = SWALR(optimizer, swa_lr=0.05, anneal_epochs=2)
for epoch in range(5):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        smoothed.update_parameters(model)
        total += loss.item()
    if epoch >= 2:
        averaged.update_parameters(model)
        swa_scheduler.step()
    else:
        scheduler.step()
    print(f"epoch {epoch + 1}: loss {total / len(loader):.8f}, lr {optimizer.param_groups[0]['lr']:.8f}")
update_bn(loader, averaged)
for name, each in (("model", model), ("averaged", averaged), ("smoothed", smoothed)):
    each.eval()
    with torch.no_grad():
        print(f"{name}: {nn.functional.mse_loss(each(inputs), targets).item():.8f}")
print(averaged.n_averaged.item(), [name for name, _ in averaged.named_buffers()])
