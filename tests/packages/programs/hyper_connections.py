"""hyper-connections: four residual streams with gradients."""

import torch
from hyper_connections import HyperConnections, get_init_and_expand_reduce_stream_functions

torch.manual_seed(0)
branch = torch.nn.Linear(8, 8)
init, expand, reduce = get_init_and_expand_reduce_stream_functions(4)
connected = init(dim=8, branch=branch)
x = torch.randn(2, 5, 8, requires_grad=True)
y = reduce(connected(expand(x)))
y.square().sum().backward()
print(tuple(y.shape), f"{y.norm():.2f} {x.grad.norm():.2f}", isinstance(connected, HyperConnections))
print([name for name, _ in connected.named_parameters()])
