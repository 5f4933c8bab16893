"""Chapter 13 of mytorch against minitorch: rows of a table, and the gradient that finds them."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.mytorch.compare import same

part = pytest.mark.part
table = "mytorch.nn.embedding:"


def weights(torch: ModuleType, rows: int = 5) -> Any:
    return torch.tensor(np.random.default_rng(0).normal(size=(rows, 3)).astype(np.float32)).requires_grad_()


def looked_up(torch: ModuleType, indices: Any, padding_idx: int | None) -> Any:
    weight = weights(torch)
    found = torch.nn.functional.embedding(torch.tensor(indices), weight, padding_idx)
    scale = torch.arange(found.numel()).reshape(found.shape).float()
    (found * scale).sum().backward()
    return found, weight.grad


INDICES: dict[str, Any] = {
    "one": 3,
    "a row": [0, 4, 4, 1, 4],
    "a batch": [[0, 1], [1, 1], [2, 0]],
    "nothing": np.zeros((2, 0), dtype=np.int64),
}


@part(table + "embedding", table + "embedding_backward")
@pytest.mark.parametrize("padding_idx", [None, 1, -1])
@pytest.mark.parametrize("name", INDICES)
def test_rows_and_their_gradients(mytorch: ModuleType, name: str, padding_idx: int | None) -> None:
    same(lambda torch: looked_up(torch, INDICES[name], padding_idx), mytorch)


def trained(torch: ModuleType) -> Any:
    torch.manual_seed(0)
    layer = torch.nn.Embedding(4, 3, padding_idx=0)
    layer(torch.tensor([0, 2, 2])).sum().backward()
    return layer, layer.weight, layer.weight.grad, list(layer.state_dict())


CALLS: dict[str, Callable[[Any], Any]] = {
    "too large": lambda torch: torch.nn.functional.embedding(torch.tensor([5]), weights(torch)),
    "negative": lambda torch: torch.nn.functional.embedding(torch.tensor([-1]), weights(torch)),
    "numbers": lambda torch: torch.nn.functional.embedding(torch.tensor([1.0]), weights(torch)),
    "int32": lambda torch: torch.nn.functional.embedding(torch.tensor([1], dtype=torch.int32), weights(torch)),
    "a vector": lambda torch: torch.nn.functional.embedding(torch.tensor([1]), weights(torch)[0]),
    "padding": lambda torch: torch.nn.functional.embedding(torch.tensor([1]), weights(torch), padding_idx=9),
    "a vector, and padding": lambda torch: torch.nn.functional.embedding(
        torch.tensor([1]), weights(torch)[0], padding_idx=9
    ),
    "numbers, and padding": lambda torch: torch.nn.functional.embedding(
        torch.tensor([1.0]), weights(torch), padding_idx=9
    ),
    "padding of a layer": lambda torch: torch.nn.Embedding(4, 3, padding_idx=4),
    "printed": lambda torch: [torch.nn.Embedding(4, 3), torch.nn.Embedding(4, 3, padding_idx=-1)],
    "a layer": trained,
    "pretrained": lambda torch: (lambda layer: (layer, layer.weight.requires_grad, layer(torch.tensor([2])).detach()))(
        torch.nn.Embedding.from_pretrained(weights(torch).detach(), padding_idx=-2)
    ),
    "trained further": lambda torch: (
        torch.nn.Embedding.from_pretrained(weights(torch).detach(), freeze=False).weight.requires_grad
    ),
}


LAYER = [f"{table}Embedding.{name}" for name in ("__init__", "reset_parameters", "from_pretrained")]


@part(table + "embedding", table + "check_rows", *LAYER)
@pytest.mark.parametrize("name", CALLS)
def test_what_layers_show_and_refuse(mytorch: ModuleType, name: str) -> None:
    same(CALLS[name], mytorch)


@part(table + "embedding_backward")
def test_second_derivatives(mytorch: ModuleType) -> None:
    indices, weight = mytorch.tensor([[0, 1], [1, 2]]), weights(mytorch).detach().double().requires_grad_()

    def call(weight: Any) -> Any:
        rows = mytorch.nn.functional.embedding(indices, weight)
        return rows * rows * rows

    assert mytorch.autograd.gradgradcheck(call, [weight])


@part(table + "embedding_backward", table + "without_padding")
def test_padding_in_the_second_derivative(mytorch: ModuleType) -> None:
    def call(torch: ModuleType) -> Any:
        weight = weights(torch)
        scale = torch.tensor([[1.0], [2.0], [3.0]], requires_grad=True)
        rows = torch.nn.functional.embedding(torch.tensor([0, 1, 1]), weight, 1)
        (grad,) = torch.autograd.grad((rows * scale * scale).sum(), [weight], create_graph=True)
        grad.sum().backward()
        return scale.grad

    same(call, mytorch)
