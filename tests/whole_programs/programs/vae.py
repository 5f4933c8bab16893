"""A variational autoencoder of small images."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Bernoulli, Independent, Normal, kl_divergence


class VAE(nn.Module):
    def __init__(self, pixels, hidden, latent):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.Tanh(), nn.Linear(hidden, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.Tanh(), nn.Linear(hidden, pixels))
        self.register_buffer("zero", torch.zeros(latent))

    def forward(self, x):
        mean, spread = self.encoder(x).chunk(2, dim=-1)
        posterior = Independent(Normal(mean, F.softplus(spread) + 1e-3), 1)
        prior = Independent(Normal(self.zero, torch.ones_like(self.zero)), 1)
        z = posterior.rsample()
        likelihood = Independent(Bernoulli(logits=self.decoder(z)), 1)
        return likelihood.log_prob(x), kl_divergence(posterior, prior), likelihood


torch.manual_seed(0)
images = (torch.rand(16, 64) > 0.6).float()
model = VAE(64, 40, 6)
optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3)
for step in range(5):
    reconstruction, divergence, _ = model(images)
    loss = (divergence - reconstruction).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step + 1}: loss {loss.item():.8f}, kl {divergence.mean().item():.8f}")
with torch.no_grad():
    likelihood = model(images)[2]
print("drawn", likelihood.sample().sum(1).int().tolist(), f"entropy {likelihood.entropy().mean().item():.6f}")
