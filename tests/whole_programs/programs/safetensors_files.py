"""Saves and loads with the safetensors library, which knows PyTorch alone."""

import hashlib
import tempfile
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
from torch import nn

torch.manual_seed(0)
tensors = {
    "floats": torch.linspace(0, 1, 6).reshape(2, 3),
    "halves": torch.tensor([0.5, 2.0], dtype=torch.bfloat16),
    "ints": torch.arange(3),
    "nothing": torch.zeros(0, 2),
    "one": torch.tensor(3.5, dtype=torch.float64),
    "truth": torch.tensor([True, False]),
}
print("the same bytes", hashlib.sha256(save(tensors)).hexdigest())
for name, tensor in sorted(load(save(tensors)).items()):
    print(name, tensor.dtype, tuple(tensor.shape), tensor.tolist())

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "some.safetensors"
    save_file(tensors, path, metadata={"format": "pt"})
    for name, tensor in sorted(load_file(path).items()):
        print(name, tensor.dtype, tuple(tensor.shape), tensor.tolist())
    with safe_open(path, framework="pt", device="cpu") as file:
        print(file.metadata(), sorted(file.keys()), file.get_slice("floats")[:, 1:2].tolist())

    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4, bias=False))
    model[2].weight = model[0].weight  # safetensors stores shared weights once
    save_model(model, path)
    torch.manual_seed(1)
    other = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4, bias=False))
    other[2].weight = other[0].weight
    print(load_model(other, path))
    x = torch.rand(3, 4)
    print((model(x) == other(x)).all().item(), f"{other(x).abs().sum().item():.6f}")
    try:
        save_file({"a": tensors["floats"].t()}, path)
    except ValueError as error:
        print(str(error)[:60])
