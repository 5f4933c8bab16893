"""gpytorch: a Gaussian process is fitted and predicts."""

import gpytorch
import torch

torch.manual_seed(0)
x = torch.linspace(0, 1, 20, dtype=torch.float64)
y = torch.sin(6 * x) + 0.1 * torch.randn(20, dtype=torch.float64)


class Regression(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
net = Regression(x, y, likelihood).double()
objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, net)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    loss = -objective(net(x), y)
    loss.backward()
    optimizer.step()
    print(f"{loss:.5f}")
net.eval(), likelihood.eval()
with torch.no_grad():
    prediction = likelihood(net(torch.tensor([0.25, 0.5], dtype=torch.float64)))
print([f"{each:.4f}" for each in prediction.mean.tolist()], [f"{each:.4f}" for each in prediction.variance.tolist()])
