"""torchdiffeq: eight solvers, the adjoint, an event."""

import torch
from torchdiffeq import odeint, odeint_adjoint, odeint_event


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))

    def forward(self, t, y):
        return self.net(y) * (1 + t)


torch.manual_seed(0)
field, start, times = Field().double(), torch.tensor([1.0, 0.5], dtype=torch.float64), torch.linspace(0, 1, 5).double()
for method in ("euler", "midpoint", "rk4", "dopri5", "bosh3", "adaptive_heun", "dopri8", "explicit_adams"):
    print(method, [f"{each:.5f}" for each in odeint(field, start, times, method=method)[-1].tolist()])
for solve in (odeint, odeint_adjoint):
    field.zero_grad()
    solve(field, start, times).square().sum().backward()
    print(f"{sum(p.grad.norm() for p in field.parameters()):.5f}")
time, state = odeint_event(
    lambda t, y: torch.stack([y[1], -torch.ones((), dtype=y.dtype)]),
    torch.tensor([1.0, 0.0], dtype=torch.float64),
    torch.tensor(0.0, dtype=torch.float64),
    event_fn=lambda t, y: y[0],
)
print(f"{time:.4f}")
