"""pyro-ppl: variational inference of a regression, and its predictions."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import SVI, Predictive, Trace_ELBO
from pyro.infer.autoguide import AutoNormal

pyro.set_rng_seed(0)
x = torch.linspace(-1, 1, 30)
y = 2 * x + 0.5 + 0.1 * torch.randn(30)


def model(x, y=None):
    slope = pyro.sample("slope", dist.Normal(0.0, 5.0))
    start = pyro.sample("start", dist.Normal(0.0, 5.0))
    with pyro.plate("data", len(x)):
        return pyro.sample("y", dist.Normal(slope * x + start, 0.1), obs=y)


guide = AutoNormal(model)
svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
for step in range(30):
    loss = svi.step(x, y)
    if step % 10 == 9:
        print(f"{loss:.2f}")
print({name: f"{value:.3f}" for name, value in guide.median().items()})
print(sorted(pyro.get_param_store().keys()))
print(Predictive(model, guide=guide, num_samples=3)(x)["y"].shape)
