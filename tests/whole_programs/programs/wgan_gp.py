"""A Wasserstein GAN with gradient penalty (Gulrajani et al. 2017, arXiv:1704.00028) learns a ring of points.

The penalty is a gradient inside the loss: every step of the critic differentiates twice.
"""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
of_generator = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
of_critic = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))


def ring(count):
    angle = torch.rand(count) * 6.283185
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(count, 2)


def gradient_penalty(real, fake):
    share = torch.rand(len(real), 1)
    between = (share * real + (1 - share) * fake).requires_grad_()
    score = critic(between)
    (grad,) = torch.autograd.grad(score, between, torch.ones_like(score), create_graph=True)
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


for step in range(20):
    for _ in range(3):
        real, fake = ring(64), generator(torch.randn(64, 2)).detach()
        penalty = gradient_penalty(real, fake)
        loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
        of_critic.zero_grad()
        loss.backward()
        of_critic.step()
    of_generator.zero_grad()
    score = -critic(generator(torch.randn(64, 2))).mean()
    score.backward()
    of_generator.step()
    norm = torch.nn.utils.clip_grad_norm_(critic.parameters(), 1e9)
    print(f"{step:2} critic {loss.item():.4f} penalty {penalty.item():.4f} generator {score.item():.4f} {norm:.4f}")
