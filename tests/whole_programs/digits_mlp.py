"""Trains a 64-128-10 network on scikit-learn's handwritten digits: an ordinary PyTorch program.

`python digits_mlp.py` runs it on PyTorch, `python -m minitorch digits_mlp.py` on minitorch.
"""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)

digits = load_digits()
images = torch.tensor(digits.data / 16, dtype=torch.float32)
labels = torch.tensor(digits.target)
train, test = random_split(TensorDataset(images, labels), [1500, 297])
loader = DataLoader(train, batch_size=32, shuffle=True)

model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

print(model)
for epoch in range(10):
    total = 0.0
    model.train()
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(inputs)
    print(f"epoch {epoch + 1}: loss {total / len(train):.8f}")

model.eval()
with torch.no_grad():
    inputs, targets = next(iter(DataLoader(test, batch_size=len(test))))
    accuracy = (model(inputs).argmax(1) == targets).float().mean()
print(f"test accuracy {accuracy.item():.4f}")
