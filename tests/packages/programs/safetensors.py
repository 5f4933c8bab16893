"""safetensors: tensors and modules saved and loaded, slices."""

import os
import tempfile

import torch
from safetensors import safe_open
from safetensors.torch import load_file, load_model, save_file, save_model

torch.manual_seed(0)
net = torch.nn.Linear(3, 2)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "net.safetensors")
    save_file(
        {"a": torch.arange(6).reshape(2, 3), "b": torch.ones(2, dtype=torch.bfloat16), "c": torch.tensor(True)}, path
    )
    print(load_file(path))
    with safe_open(path, framework="pt") as file:
        print(sorted(file.keys()), file.get_slice("a")[:, 1:])
    save_model(net, path)
    other = torch.nn.Linear(3, 2)
    load_model(other, path)
    print(all(torch.equal(one, two) for one, two in zip(net.parameters(), other.parameters(), strict=True)))
