"""Train a small attention model to predict the next token."""

from __future__ import annotations

import copy
from typing import Any

import minitorch as torch
from minitorch import nn
from minitorch.utils.data import DataLoader, DistributedSampler, TensorDataset

TOKENS, LENGTH, WIDTH, RATE, MAX_NORM = 8, 9, 16, 0.2, 1.0


def sequences(count: int, seed: int) -> Any:
    """Rows of tokens: each is three times the one before plus 1, modulo 8, but a quarter are drawn at random."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randint(0, TOKENS, (count, LENGTH), generator=generator)
    drawn = torch.rand(count, LENGTH, generator=generator) < 0.25
    for t in range(1, LENGTH):
        rows[:, t] = torch.where(drawn[:, t], rows[:, t], (3 * rows[:, t - 1] + 1) % TOKENS)
    return rows


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(TOKENS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.project, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.norm, self.dropout, self.head = nn.LayerNorm(WIDTH), nn.Dropout(0.1), nn.Linear(WIDTH, TOKENS)

    def attend(self, x: Any) -> Any:
        q, k, v = self.project(x).chunk(3, dim=-1)
        may_see = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        scores = (q @ k.transpose(1, 2) / WIDTH**0.5).masked_fill(~may_see, float("-inf"))
        return self.out(scores.softmax(-1) @ v)

    def forward(self, tokens: Any) -> Any:
        x = self.token(tokens) + self.place(torch.arange(tokens.shape[1]))
        x = self.norm(x + self.dropout(self.attend(x)))
        return self.head(x)


def loss_of(model: Any, rows: Any) -> Any:
    logits, targets = model(rows[:, :-1]), rows[:, 1:]
    return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def watch(module: Any, sizes: list[float]) -> None:
    """Note the mean square of whatever a module returns, for the log."""
    module.register_forward_hook(lambda module, inputs, out: sizes.append(out.detach().square().mean().item()))


def step(model: Any, optimizer: Any, scaler: Any, rows: Any) -> Any:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = loss_of(model, rows)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


def evaluate(model: Any, loader: Any) -> float:
    """The mean loss over all rows."""
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for (rows,) in loader:
            total += loss_of(model, rows).item() * len(rows)
            count += len(rows)
    return total / count


def train(epochs: int = 6, seed: int = 0) -> tuple[Any, dict[str, Any], list[tuple[Any, float]]]:
    """The model, the best weights, and for each epoch the losses in training and on held-out rows."""
    torch.manual_seed(seed)
    data = TensorDataset(sequences(480, seed))
    sampler = DistributedSampler(data, num_replicas=2, rank=0)
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    held_out = DataLoader(TensorDataset(sequences(99, seed + 1)), batch_size=32)
    model, best, history, sizes = Model(), {}, [], []
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20)
    watch(model.out, sizes)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        model.train()
        total, count = 0.0, 0
        for (rows,) in loader:
            total += step(model, optimizer, scaler, rows) * len(rows)
            count += len(rows)
        scheduler.step()
        history.append((total / count, evaluate(model, held_out)))
        if history[-1][1] == min(held for _, held in history):
            best = copy.deepcopy(model.state_dict())
    return model, best, history
