"""botorch: a Gaussian process is fitted, acquisition functions, a new candidate."""

import warnings

import torch
from botorch.acquisition import ExpectedImprovement, UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

warnings.simplefilter("ignore")
torch.manual_seed(0)
x = torch.rand(10, 2, dtype=torch.float64)
y = (1 - (x - 0.5).norm(dim=-1, keepdim=True)) * 2
net = SingleTaskGP(x, y)
fit_gpytorch_mll(ExactMarginalLogLikelihood(net.likelihood, net))
points = torch.tensor([[0.5, 0.5], [0.1, 0.9]], dtype=torch.float64)
print([f"{each:.2f}" for each in net.posterior(points).mean.flatten().tolist()])
print([f"{each:.2f}" for each in UpperConfidenceBound(net, beta=0.1)(points[:, None]).tolist()])
bounds = torch.stack([torch.zeros(2), torch.ones(2)]).double()
start = torch.tensor([[[0.4, 0.6]], [[0.7, 0.2]]], dtype=torch.float64)
candidate, value = optimize_acqf(
    ExpectedImprovement(net, best_f=y.max()), bounds, q=1, num_restarts=2, batch_initial_conditions=start
)
print([f"{each:.1f}" for each in candidate[0].tolist()])
