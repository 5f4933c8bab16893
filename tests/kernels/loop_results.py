"""What kernels with loops compute, in bits: the same with loops, without them, and on any number of threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import minitorch as torch

F = torch.nn.functional


def batch_norm(x: Any, training: bool = True) -> Any:
    """Of two images, whose channels are the rows."""
    channels = x.shape[:-1].numel()
    images = torch.stack([x, 1 - x]).view(2, channels, x.shape[-1])
    weight = x.sum(-1).view(channels)
    statistics = (None, None) if training else (weight.detach(), weight.detach().abs())
    return F.batch_norm(images, *statistics, weight, weight + 1, training)


Case = Callable[[Any], Any]
CASES: dict[str, Case] = {
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:], *(x.flatten()[: x.shape[-1]] + each for each in (1, 2))),
    "layer_norm, no weight": lambda x: F.layer_norm(x, x.shape, None, None, 1e-3),
    "batch norm": batch_norm,
    "batch norm, evaluation": lambda x: batch_norm(x, training=False),
    "gelu": F.gelu,
    "gelu, tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "cumsum and cumprod": lambda x: torch.stack([x.cumsum(-1), x.cumprod(-1)]),
    "cumsum and cumprod, first dimension": lambda x: torch.stack([x.cumsum(0), x.cumprod(0)]),
    "softmax, first dimension": lambda x: x.softmax(0),
}
"""Differentiable functions whose kernels have loops, of one input."""

LENGTHS = (0, 1, 7, 8, 9, 127, 128, 129, 4097)
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda x: x,
    "three dimensions": lambda x: x.view(1, *x.shape),
    "one row": lambda x: x[0],
    "transposed": lambda x: x.T.contiguous().T,
    "every second": lambda x: torch.cat([x, x], -1)[:, ::2],
    "a slice": lambda x: torch.cat([x, x], -1)[1:, 1 : x.shape[1]],
    "expanded": lambda x: x[:1].expand(3, -1),
}
VALUES: dict[str, list[float]] = {
    "ordinary": [],
    "special": [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e30, -1e30, 1e-42],
}


def rows() -> Iterator[tuple[str, np.ndarray]]:
    """Functions of rows and their gradients."""
    random = np.random.default_rng(0)
    for name, case in CASES.items():
        for kind in (np.float32, np.float64):
            for length in LENGTHS:
                numbers = random.normal(size=(3, length)).astype(kind) * 3
                for which, special in VALUES.items():
                    numbers[1, : len(special)] = special[:length]
                    for layout, arrange in LAYOUTS.items():
                        x = arrange(torch.tensor(numbers)).detach().requires_grad_()
                        y = case(x)
                        y.backward(torch.linspace(-1, 2, y.numel(), dtype=y.dtype).view(y.shape))
                        label = f"{name}, {kind.__name__}, {length} elements, {which}, {layout}"
                        yield label, bits(y.detach())
                        yield f"{label}: gradient", bits(x.grad)


def bits(tensor: Any) -> np.ndarray:
    """The bits of the elements; NaNs all have the same ones here."""
    array = tensor.numpy()
    return np.where(np.isnan(array), array.dtype.type(np.nan), array).view(f"i{array.itemsize}")


STEPS: dict[str, Callable[[Any], Any]] = {
    "Adam": lambda x: torch.optim.Adam(x, 0.01, eps=1e-3),
    "Adam, decay": lambda x: torch.optim.Adam(x, 0.01, (0.8, 0.9), weight_decay=0.1),
    "AdamW": lambda x: torch.optim.AdamW(x, 0.01, weight_decay=0.1),
    "Adam, largest": lambda x: torch.optim.Adam(x, 0.01, amsgrad=True),
    "SGD": lambda x: torch.optim.SGD(x, 0.1),
    "SGD, decay": lambda x: torch.optim.SGD(x, 0.1, weight_decay=0.1),
    "SGD, momentum": lambda x: torch.optim.SGD(x, 0.1, 0.9, 0.1, 0.1),
    "SGD, Nesterov": lambda x: torch.optim.SGD(x, 0.1, 0.9, nesterov=True),
    "SGD, a NumPy number": lambda x: torch.optim.SGD(x, np.float64(0.1), 0.9),
}


def steps() -> Iterator[tuple[str, np.ndarray]]:
    """Parameters and what is kept of them, after two steps of optimizers."""
    random = np.random.default_rng(1)
    for (name, make), kind, length in itertools.product(STEPS.items(), (np.float32, np.float64), LENGTHS):
        numbers = [random.normal(size=(3, length)).astype(kind) for _ in range(3)]
        for which, special in VALUES.items():
            numbers[1][1, : len(special)] = special[:length]
            for layout, arrange in LAYOUTS.items():
                x, *grads = (arrange(torch.tensor(each)).detach() for each in numbers)
                x = x.contiguous() if layout == "expanded" else x  # it is written to
                optimizer = make([x.requires_grad_()])
                for grad in grads:
                    x.grad = grad
                    optimizer.step()
                kept = [each for each in optimizer.state[x].values() if each is not None]
                for place, each in enumerate([x.detach(), *kept]):
                    yield f"{name}, {kind.__name__}, {length} elements, {which}, {layout}: {place}", bits(each)


DRAWS: dict[str, Callable[[Any], Any]] = {
    "rand": lambda x: x.uniform_(),
    "randn": lambda x: x.normal_(),
    "normal": lambda x: x.normal_(1, 2),
    "exponential": lambda x: x.exponential_(),
    "coins": lambda x: x.bernoulli_(0.3),
    "dropout": lambda x: F.dropout(x, 0.3),
    "categories": lambda x: categories(torch.stack([x, x.cumsum(0) % 7])),
    "two categories": lambda x: categories(torch.stack([x, x.cumsum(0) % 7], 1)),
    "permutation": lambda x: torch.randperm(x.numel(), dtype=x.dtype),
}


def categories(weights: Any) -> Any:
    return torch.multinomial(weights, 5, True).to(weights.dtype)


def draws() -> Iterator[tuple[str, np.ndarray]]:
    """Random numbers, and what the generator gives after them, so that they begin at any of its words."""
    for seed, (name, fill) in enumerate(DRAWS.items()):
        torch.manual_seed(seed)
        for count, kind in itertools.product((16, 1999, 2000, 2016, 5003, 624 * 16), (torch.float32, torch.float64)):
            yield f"{name}, {count} of {kind}", bits(fill(torch.ones(count, dtype=kind)))
            yield f"{name}, {count} of {kind}: the next", bits(torch.rand(1))


def additions() -> Iterator[tuple[str, np.ndarray]]:
    """Rows added to those at places, all of one place or of several, and the gradients of the rows that were picked."""
    random = np.random.default_rng(2)
    for kind, length, count in itertools.product((np.float32, np.float64), (0, 1, 2, 9, 129), (3, 300)):
        numbers = random.normal(size=(count, length)).astype(kind)
        for which, special in VALUES.items():
            numbers[0, : len(special)] = special[:length]
            for (layout, arrange), places in itertools.product(LAYOUTS.items(), (1, 5)):
                source = arrange(torch.tensor(numbers)).detach()
                index = torch.tensor(random.integers(places, size=len(source)))
                label = f"{kind.__name__}, {length} elements, {which}, {layout}, {count} rows, {places} places"
                sums = source.new_ones(places, *source.shape[1:])
                yield f"index_add, {label}", bits(sums.index_add(0, index, source))
                table = sums.requires_grad_()
                table[index].backward(source)
                yield f"indexed, {label}", bits(table.grad)
                if table.dim() == 2:
                    table.grad = None
                    F.embedding(index, table, 0).backward(source)
                    yield f"embedding, {label}", bits(table.grad)


def results() -> Iterator[tuple[str, np.ndarray]]:
    """The bits of all of them, for all lengths, layouts, types and values."""
    yield from rows()
    yield from steps()
    yield from draws()
    yield from additions()
