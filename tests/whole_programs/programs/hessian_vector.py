"""The largest eigenvalues of a loss's Hessian, without the Hessian: power iteration on Hessian-vector products.

Four ways to such a product give the same: two gradients, `functional.hvp` and `functional.vhp`, and a column of
`functional.hessian` (Pearlmutter 1994).
"""

import torch
from torch import nn
from torch.autograd import functional

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double()
x, y = torch.randn(20, 3, dtype=torch.float64), torch.randint(0, 2, (20,))
parameters = list(model.parameters())


def product(vectors):
    loss = nn.functional.cross_entropy(model(x), y)
    grads = torch.autograd.grad(loss, parameters, create_graph=True)
    return torch.autograd.grad(grads, parameters, vectors)


vectors = [torch.randn_like(each) for each in parameters]
for iteration in range(15):
    norm = torch.sqrt(sum((each**2).sum() for each in vectors))
    vectors = [each / norm for each in vectors]
    images = product(vectors)
    eigenvalue = sum((one * other).sum() for one, other in zip(vectors, images, strict=True))
    vectors = list(images)
    print(f"{iteration:2} {eigenvalue.item():.6f}")

weight, bias = parameters[2].detach(), parameters[3].detach()
hidden = torch.tanh(nn.functional.linear(x, parameters[0], parameters[1])).detach()


def loss_of(weight, bias):
    return nn.functional.cross_entropy(nn.functional.linear(hidden, weight, bias), y)


direction = (torch.randn_like(weight), torch.randn_like(bias))
for way in (functional.hvp, functional.vhp):
    value, result = way(loss_of, (weight, bias), direction)
    print(way.__name__, f"{value.item():.6f}", " ".join(f"{each:.6f}" for part in result for each in part.flatten()))
hessian = functional.hessian(loss_of, (weight, bias))
sizes = (weight.numel(), bias.numel())
rows = [[block.reshape(size, -1) for block in row] for size, row in zip(sizes, hessian, strict=True)]
whole = torch.cat([torch.cat(row, 1) for row in rows])
flat = torch.cat([each.flatten() for each in direction])
print("hessian", " ".join(f"{each:.6f}" for each in whole @ flat))
print("symmetric", torch.allclose(whole, whole.T))
jacobian = functional.jacobian(lambda bias: loss_of(weight, bias), bias)
print("jacobian", " ".join(f"{each:.6f}" for each in jacobian))
_, rate = functional.jvp(lambda bias: loss_of(weight, bias), bias, direction[1])
print("jvp", f"{rate.item():.6f}", f"{(jacobian @ direction[1]).item():.6f}")
