"""geoopt: five manifolds, Riemannian Adam and SGD on a ManifoldParameter."""

import geoopt
import torch

for manifold in (geoopt.Euclidean(), geoopt.Sphere(), geoopt.PoincareBall(), geoopt.Lorentz(), geoopt.Stiefel()):
    torch.manual_seed(0)
    manifold = manifold.double()
    x = manifold.projx(torch.randn(5, 3, dtype=torch.float64) * 0.3)
    v = manifold.proju(x, torch.randn(5, 3, dtype=torch.float64) * 0.1)
    y = manifold.retr(x, v)
    print(
        type(manifold).__name__, f"{y.sum():.5f} {manifold.inner(x, v).sum():.5f} {manifold.check_point_on_manifold(y)}"
    )
for name in ("RiemannianAdam", "RiemannianSGD"):
    torch.manual_seed(0)
    point = geoopt.ManifoldParameter(torch.randn(4, 3).div(4), manifold=geoopt.PoincareBall())
    target = torch.full((4, 3), 0.2)
    optimizer = getattr(geoopt.optim, name)([point], lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        loss = geoopt.PoincareBall().dist(point, target).sum()
        loss.backward()
        optimizer.step()
    print(name, f"{loss:.4f}", type(point).__name__, type(point * 2).__name__)
