"""Programs as people write them, run by torch and by minitorch: the same losses."""

from __future__ import annotations

from typing import Any

from tests.same import attempt, same


@same
def test_policy_gradient(torch: Any) -> Any:
    policy = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.05)
    losses = []
    for _ in range(5):
        chances = torch.distributions.Categorical(logits=policy(torch.randn(8, 4)))
        action = chances.sample()
        reward = (action == 1).float()
        loss = -(chances.log_prob(action) * reward).mean() - 0.01 * chances.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@same
def test_variational_autoencoder(torch: Any) -> Any:
    from_data, to_data = torch.nn.Linear(6, 4), torch.nn.Linear(2, 6)
    optimizer = torch.optim.SGD([*from_data.parameters(), *to_data.parameters()], lr=0.1)
    data = torch.rand(10, 6)
    losses = []
    for _ in range(5):
        mean, log_scale = from_data(data).chunk(2, dim=-1)
        latent = torch.distributions.Independent(torch.distributions.Normal(mean, log_scale.exp()), 1)
        prior = torch.distributions.Independent(torch.distributions.Normal(torch.zeros(2), torch.ones(2)), 1)
        image = torch.distributions.Bernoulli(logits=to_data(latent.rsample()))
        fit = image.log_prob((data > 0.5).float()).sum(-1)
        loss = (torch.distributions.kl_divergence(latent, prior) - fit).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@same
def test_actor_with_bounded_actions(torch: Any) -> Any:
    d = torch.distributions
    mean = torch.randn(4, 2, requires_grad=True)
    scale = torch.ones(2, requires_grad=True)
    squashed = d.TransformedDistribution(
        d.Independent(d.Normal(mean, scale), 1), [d.TanhTransform(cache_size=1), d.AffineTransform(0.0, 2.0)]
    )
    action = squashed.rsample()
    (squashed.log_prob(action).sum() + action.sum()).backward()
    return [action, mean.grad, scale.grad]


@same
def test_fitting_concentrations_by_samples(torch: Any) -> Any:
    d = torch.distributions
    logits = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.Adam([logits], lr=0.1)
    for _ in range(5):
        concentration = d.transform_to(d.Dirichlet.arg_constraints["concentration"])(logits)
        shares = d.Dirichlet(concentration).rsample((20,))
        loss = (shares - torch.tensor([0.7, 0.2, 0.1])).square().mean()
        loss = loss + d.Gamma(concentration, 2.0).rsample((5,)).mean() * 0.01
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [logits.detach()]


@same
def test_dirichlet_has_one_derivative(torch: Any) -> Any:
    concentration = torch.tensor([0.5, 2.0], requires_grad=True)
    shares = torch.distributions.Dirichlet(concentration).rsample()
    (first,) = torch.autograd.grad(shares[0], concentration, create_graph=True)
    return attempt(torch.autograd.grad, first.sum(), concentration)
