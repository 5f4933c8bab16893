"""REINFORCE with a baseline on a corridor: the agent walks left or right until it finds the door."""

import torch
from torch import nn
from torch.distributions import Categorical

LENGTH, DOOR = 8, 7


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(LENGTH, 32), nn.ELU())
        self.action, self.value = nn.Linear(32, 2), nn.Linear(32, 1)

    def forward(self, x):
        x = self.body(x)
        return Categorical(logits=self.action(x)), self.value(x).squeeze(-1)


def episode(policy):
    place, steps = 3, []
    while place != DOOR and len(steps) < 30:
        state = torch.zeros(LENGTH)
        state[place] = 1.0
        choices, value = policy(state)
        action = choices.sample()
        place = max(0, place + (1 if action.item() == 1 else -1))
        steps.append((choices.log_prob(action), value, choices.entropy(), 1.0 if place == DOOR else -0.05))
    return steps


torch.manual_seed(0)
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=0.02)
for number in range(5):
    log_probs, values, entropies, rewards = zip(*episode(policy), strict=True)
    returns, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + 0.97 * total
        returns.insert(0, total)
    returns, values = torch.tensor(returns), torch.stack(values)
    advantage = returns - values.detach()
    loss = -(torch.stack(log_probs) * advantage).sum() + nn.functional.smooth_l1_loss(values, returns, reduction="sum")
    loss = loss - 0.01 * torch.stack(entropies).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"episode {number + 1}: {len(rewards)} steps, return {returns[0].item():.6f}, loss {loss.item():.8f}")
