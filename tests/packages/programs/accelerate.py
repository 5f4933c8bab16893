"""accelerate, safetensors: training with accumulation, a model and a state saved and loaded, empty weights."""

import tempfile

import torch
from accelerate import Accelerator, init_empty_weights
from accelerate.utils import set_module_tensor_to_device, set_seed
from safetensors.torch import load_file

set_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
loader = torch.utils.data.DataLoader(torch.randn(32, 4), 8, shuffle=True)
net, optimizer, loader = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1), loader)
for batch in loader:
    with accelerator.accumulate(net):
        loss = net(batch).square().mean()
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    print(f"{loss:.5f}")
with tempfile.TemporaryDirectory() as folder:
    accelerator.save_model(net, folder)
    with init_empty_weights():
        empty = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    print(empty[0].weight.device, type(empty[0].weight).__name__)
    for name, value in load_file(f"{folder}/model.safetensors").items():
        set_module_tensor_to_device(empty, name, "cpu", value)
    print(torch.equal(empty[0].weight, accelerator.unwrap_model(net)[0].weight), type(empty[0].weight).__name__)
    accelerator.save_state(f"{folder}/state")
    accelerator.load_state(f"{folder}/state")
