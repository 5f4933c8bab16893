"""Chapter 15 of mytorch against minitorch: recurrent layers, both ways through time, padded and packed batches."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.mytorch import compare
from tests.mytorch.compare import ORACLES, numbers, same

part = pytest.mark.part
recurrent = "mytorch.nn.recurrent:"


def flat(results: Any) -> list[Any]:
    """The tensors in nested tuples."""
    if isinstance(results, tuple):
        return [each for result in results for each in flat(result)]
    return [] if results is None else [results]


def agree(function: Callable[[Any], tuple[Any, Any]], mytorch: ModuleType) -> None:
    """`function` gives a layer or input to differentiate by, and results: all of them and all gradients are equal."""

    def found(torch: Any) -> list[Any]:
        torch.manual_seed(0)
        sources, results = function(torch)
        floats = [each for each in flat(results) if each.is_floating_point()]
        total: Any = 0
        for number, each in enumerate(floats, 1):
            total = total + (each * each * number).sum()
        total.backward()
        return flat(results) + [each.grad for each in sources]

    compare.agree(found, mytorch)


LAYERS: dict[str, tuple[str, dict[str, Any]]] = {
    "RNN": ("RNN", {}),
    "RNN, relu": ("RNN", {"nonlinearity": "relu"}),
    "LSTM": ("LSTM", {}),
    "GRU": ("GRU", {}),
    "without bias": ("GRU", {"bias": False}),
    "two layers": ("LSTM", {"num_layers": 2}),
    "both ways": ("GRU", {"bidirectional": True}),
    "two layers, both ways": ("LSTM", {"num_layers": 2, "bidirectional": True, "dropout": 0.5}),
    "batch first": ("RNN", {"batch_first": True}),
}


@part(recurrent + "unroll", recurrent + "lstm_step", recurrent + "gru_step", recurrent + "rnn_step")
@pytest.mark.parametrize("start", ["zeros", "given"])
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_with_the_same_seed(mytorch: ModuleType, name: str, start: str) -> None:
    kind, options = LAYERS[name]

    def function(torch: Any) -> tuple[Any, Any]:
        layer = getattr(torch.nn, kind)(3, 4, **options)
        x = torch.tensor(numbers(5, 2, 3)).requires_grad_()
        count = 5 if options.get("batch_first") else 2
        size = (options.get("num_layers", 1) * (1 + options.get("bidirectional", False)), count, 4)
        states = tuple(torch.tensor(numbers(*size, seed=seed)) for seed in range(1 + (kind == "LSTM")))
        hx = None if start == "zeros" else states if kind == "LSTM" else states[0]
        return [x, *layer.parameters()], layer(x, hx)

    agree(function, mytorch)


@part(recurrent + "unroll", "mytorch.nn.packing:pack_padded_sequence", "mytorch.nn.packing:pad_packed_sequence")
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("lengths", [[4, 3, 1], [2, 4, 3], [1, 1, 4]])
@pytest.mark.parametrize("name", ["RNN", "LSTM", "two layers, both ways"])
def test_a_packed_batch(mytorch: ModuleType, name: str, lengths: list[int], batch_first: bool) -> None:
    kind, options = LAYERS[name]

    def function(torch: Any) -> tuple[Any, Any]:
        layer = getattr(torch.nn, kind)(3, 4, **options, batch_first=batch_first)
        x = torch.tensor(numbers(*((3, 4, 3) if batch_first else (4, 3, 3)))).requires_grad_()
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first, enforce_sorted=False)
        states = tuple(torch.tensor(numbers(len(list(layer.parameters())) // 4, 3, 4, seed=seed)) for seed in (1, 2))
        output, state = layer(packed, states if kind == "LSTM" else states[0])
        padded, counts = torch.nn.utils.rnn.pad_packed_sequence(output, batch_first, 7.0)
        return [x, *layer.parameters()], (tuple(output), padded, counts, state)

    agree(function, mytorch)


@part(recurrent + "unroll")
def test_one_sequence_and_a_sorted_batch(mytorch: ModuleType) -> None:
    def function(torch: Any) -> tuple[Any, Any]:
        layer = torch.nn.GRU(3, 4, bidirectional=True, batch_first=True)
        alone = layer(torch.tensor(numbers(5, 3)), torch.tensor(numbers(2, 4)))
        padded = torch.nn.utils.rnn.pad_sequence([torch.tensor(numbers(n, 3)) for n in (4, 2)], True, -1.0)
        packed = torch.nn.utils.rnn.pack_padded_sequence(padded, torch.tensor([4, 2]), True)
        output, state = layer(packed)
        return list(layer.parameters()), (alone, padded, output.data, output.batch_sizes, state)

    agree(function, mytorch)


def pack(torch: Any, lengths: list[int], **options: Any) -> Any:
    return torch.nn.utils.rnn.pack_padded_sequence(torch.ones(4, 3, 2), lengths, **options)


CALLS: dict[str, Callable[[Any], Any]] = {
    "dimensions": lambda torch: torch.nn.LSTM(3, 4)(torch.ones(1, 1, 2, 3)),
    "dimensions of an RNN": lambda torch: torch.nn.RNN(3, 4)(torch.ones(3)),
    "width": lambda torch: torch.nn.GRU(3, 4)(torch.ones(2, 5, 4)),
    "state": lambda torch: torch.nn.GRU(3, 4)(torch.ones(2, 5, 3), torch.ones(1, 2, 4)),
    "states": lambda torch: torch.nn.LSTM(3, 4)(torch.ones(2, 5, 3), (torch.ones(1, 5, 4), torch.ones(1, 5, 3))),
    "nonlinearity": lambda torch: torch.nn.RNN(3, 4, nonlinearity="sine"),
    "lengths": lambda torch: pack(torch, [4, 2]),
    "no length": lambda torch: pack(torch, [4, 2, 0]),
    "not sorted": lambda torch: pack(torch, [2, 4, 3]),
    "printed": lambda torch: [
        torch.nn.RNN(3, 4, nonlinearity="relu"),
        torch.nn.LSTM(3, 4, num_layers=2, batch_first=True, dropout=0.5, bidirectional=True),
        torch.nn.GRU(3, 4, bias=False),
    ],
    "names": lambda torch: [
        (name, tuple(each.shape))
        for name, each in torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True).named_parameters()
    ],
    "indices": lambda torch: pack(torch, [2, 4, 3], enforce_sorted=False)[1:],
}


@part("mytorch.nn.packing:pack_padded_sequence", recurrent + "RNNBase.first_states")
@pytest.mark.parametrize("name", CALLS)
def test_what_is_printed_and_raised(mytorch: ModuleType, name: str) -> None:
    same(CALLS[name], mytorch)


@part(recurrent + "lstm_step", recurrent + "unroll")
@pytest.mark.parametrize("torch", ORACLES, ids=lambda each: each.__name__)
def test_state_dicts_load_both_ways(mytorch: ModuleType, torch: Any) -> None:
    mine, theirs = (library.nn.LSTM(3, 4, num_layers=2) for library in (mytorch, torch))
    mine.load_state_dict({name: mytorch.tensor(each.tolist()) for name, each in theirs.state_dict().items()})
    found, expected = (layer(lib.ones(5, 2, 3))[0] for layer, lib in ((mine, mytorch), (theirs, torch)))
    np.testing.assert_allclose(found.tolist(), expected.tolist(), rtol=1e-5, atol=1e-6)
    theirs.load_state_dict({name: torch.tensor(each.tolist()) for name, each in mine.state_dict().items()})
