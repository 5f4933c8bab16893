"""Tune a small language model on prompts and answers, with gradients that are summed over several batches."""

from __future__ import annotations

import random
from typing import Any

import minitorch as torch
from minitorch import nn
from minitorch.utils.data import DataLoader

TOKENS, WIDTH, PAD, END, ASK, RATE, PARTS = 12, 16, 0, 1, 2, 0.01, 4


def examples(count: int, seed: int) -> Any:
    """Pairs of a prompt, a few numbers and ASK, and its answer, which counts down from the last number to END."""
    source = random.Random(seed)
    prompts = [[source.randrange(3, TOKENS) for _ in range(source.randint(4, 8))] for _ in range(count)]
    return [([*prompt, ASK], [*range(prompt[-1], 2, -1), END]) for prompt in prompts]


def collate(pairs: list[tuple[list[int], list[int]]]) -> tuple[Any, Any]:
    """The pairs in one tensor (B, T), filled up with PAD, and a mask that is True at the tokens of answers."""
    length = max(len(prompt) + len(answer) for prompt, answer in pairs)
    rows, marks = [], []
    for prompt, answer in pairs:
        rest = length - len(prompt) - len(answer)
        rows.append(prompt + answer + [PAD] * rest)
        marks.append([False] * len(prompt) + [True] * len(answer) + [False] * rest)
    return torch.tensor(rows), torch.tensor(marks)


class Model(nn.Module):
    """Predicts the next token from the last two."""

    def __init__(self) -> None:
        super().__init__()
        self.token, self.before = nn.Embedding(TOKENS, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.hidden, self.dropout, self.head = nn.Linear(WIDTH, 64), nn.Dropout(0.1), nn.Linear(64, TOKENS)

    def forward(self, tokens: Any) -> Any:
        before = nn.functional.pad(tokens[:, :-1], (1, 0), value=PAD)
        x = self.hidden(self.token(tokens) + self.before(before)).relu()
        return self.head(self.dropout(x))


def losses(model: Any, rows: Any, marks: Any) -> Any:
    """The loss of each token of an answer, and 0 elsewhere: (B, T - 1)."""
    logits, targets = model(rows[:, :-1]), rows[:, 1:]
    each = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return each.reshape(targets.shape) * marks[:, 1:]


def step(model: Any, optimizer: Any, group: list[tuple[Any, Any]]) -> None:
    """One step on several batches, as if they were one: the mean is over all tokens of their answers."""
    count = sum(marks[:, 1:].sum().item() for _, marks in group)
    optimizer.zero_grad()
    for rows, marks in group:
        (losses(model, rows, marks).sum() / count).backward()
    optimizer.step()


def evaluate(model: Any, loader: Any) -> list[float]:
    """The mean loss of each answer."""
    model.eval()
    means = []
    with torch.no_grad():
        for rows, marks in loader:
            means += (losses(model, rows, marks).sum(1) / marks[:, 1:].sum(1)).tolist()
    return means


def train(epochs: int = 4, seed: int = 0) -> tuple[Any, list[float], tuple[list[int], list[int]]]:
    """The model, the held-out loss after each epoch, and the held-out example that the model finds hardest."""
    torch.manual_seed(seed)
    data, held_out = examples(240, seed), examples(60, seed + 1)
    loader = DataLoader(data, batch_size=8, shuffle=True, collate_fn=collate)
    tests = DataLoader(held_out, batch_size=16, collate_fn=collate)
    model, history, means = Model(), [], []
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    for _ in range(epochs):
        model.train()
        group: list[tuple[Any, Any]] = []
        for pair in loader:
            group.append(pair)
            if len(group) == PARTS:
                step(model, optimizer, group)
                group = []
        if group:
            step(model, optimizer, group)
        means = evaluate(model, tests)
        history.append(sum(means) / len(means))
    return model, history, held_out[means.index(max(means))]
