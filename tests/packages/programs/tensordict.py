"""tensordict: nested dicts of tensors, indexed, stacked and mapped."""

import torch
from tensordict import TensorDict

torch.manual_seed(0)
data = TensorDict({"a": torch.arange(6.0).reshape(2, 3), "b": {"c": torch.ones(2, 1)}}, batch_size=[2])
print(data["b", "c"].shape, data.batch_size, sorted(data.keys()))
print(data[0]["a"], torch.stack([data, data]).batch_size, data.apply(lambda x: x * 2)["a"])
