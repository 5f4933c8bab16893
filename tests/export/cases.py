"""Modules, examples of their arguments, and which of their sizes may change, for either library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def linear(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = t.nn.Linear(3, 4)
            self.register_buffer("scale", t.ones(4))
            self.register_buffer("passing", t.ones(1), persistent=False)
            self.act = t.nn.ReLU()

        def forward(self, x: Any, y: Any = None) -> Any:
            return self.act(self.inner(x)) * self.scale + x.sum(), x.shape[1]

    return Net(), (t.ones(2, 3),), {}, None


def structure(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any, d: Any, n: int = 2) -> Any:
            a = t.softmax(x, 1).mean(0)
            b = x * d["a"] - d["b"][0]
            return {"a": a, "b": [b / n, n], "x": x}

    return Net(), (t.ones(2, 3), {"a": t.ones(2, 3), "b": [t.ones(3)]}), {"n": 3}, None


def operators(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            y = t.cat([x, x * 2], 1).pow(2).flatten(1)
            z = t.nn.functional.gelu(y).clamp(0, 1) ** 2
            return z.amax(1), (z > 0.5), (z - x.mean()) @ z.transpose(0, 1), -z.reshape(3, -1).sum(0).view(2, 2)

    return Net(), (t.ones(3, 2),), {}, None


def sequential(t: Any) -> Any:
    model = t.nn.Sequential(
        t.nn.Conv2d(1, 2, 3), t.nn.ReLU(), t.nn.MaxPool2d(2), t.nn.Flatten(), t.nn.Linear(8, 5), t.nn.Dropout(0.5)
    )
    return model.eval(), (t.ones(2, 1, 6, 6),), {}, None


def attention(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = t.nn.Embedding(7, 4)
            self.norm = t.nn.LayerNorm(4)

        def forward(self, ids: Any) -> Any:
            x = self.norm(self.embedding(ids))
            scores = x @ x.transpose(-2, -1) / 2.0
            return t.softmax(scores, -1) @ x

    return Net(), (t.tensor([[1, 2, 3]]),), {}, None


def dynamic(t: Any) -> Any:
    batch = t.export.Dim("batch", min=2, max=10)
    return t.nn.Linear(3, 2), (t.ones(4, 3),), {}, {"input": {0: batch}}


def automatic(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any, y: Any) -> Any:
            return x + y

    return Net(), (t.ones(4), t.ones(4)), {}, ({0: t.export.Dim("n")}, {0: t.export.Dim("n")})


CASES: list[Callable[[Any], Any]] = [linear, structure, operators, sequential, attention, dynamic, automatic]
