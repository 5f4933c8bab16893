"""Chapter 12 of mytorch against minitorch: batch norm and its statistics, layer norm, dropout, modes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from tests.mytorch.compare import agree, same

ROOT = Path(__file__).parents[2]

part = pytest.mark.part
norm = "mytorch.nn.normalization:"
drop = "mytorch.nn.dropout:"


def numbers(*size: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(1.5, 2.0, size).astype(np.float32)


def run(layer: Any, torch: ModuleType, size: tuple[int, ...], batches: int = 1) -> list[Any]:
    """The outputs for several batches, the gradients of the last input and of all parameters, and the state."""
    seen: list[Any] = []
    for batch in range(batches):
        x = torch.tensor(numbers(*size, seed=batch)).requires_grad_()
        result = layer(x)
        result.backward(torch.tensor(numbers(*result.shape, seed=9)))
        seen += [result.detach().tolist(), x.grad.tolist()]
    seen += [each.grad.tolist() for each in layer.parameters() if each.grad is not None]
    return seen + [each.tolist() for each in layer.state_dict().values()]


def shaken(layer: Any, torch: ModuleType) -> Any:
    """The layer with weights and biases that are not those of the start."""
    with torch.no_grad():
        for number, parameter in enumerate(layer.parameters()):
            parameter.copy_(torch.tensor(numbers(*parameter.shape, seed=20 + number)))
    return layer


LAYERS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "rows": (lambda nn: nn.BatchNorm1d(3), (6, 3)),
    "sequences": (lambda nn: nn.BatchNorm1d(3), (4, 3, 5)),
    "images": (lambda nn: nn.BatchNorm2d(2), (3, 2, 4, 5)),
    "momentum": (lambda nn: nn.BatchNorm1d(3, momentum=0.4, eps=0.1), (6, 3)),
    "the mean of all batches": (lambda nn: nn.BatchNorm1d(3, momentum=None), (6, 3)),
    "without parameters": (lambda nn: nn.BatchNorm1d(3, affine=False), (6, 3)),
    "without statistics": (lambda nn: nn.BatchNorm1d(3, track_running_stats=False), (6, 3)),
    "layer": (lambda nn: nn.LayerNorm(5), (2, 3, 5)),
    "layer, two dimensions": (lambda nn: nn.LayerNorm((3, 5), eps=0.1), (2, 3, 5)),
    "layer without parameters": (lambda nn: nn.LayerNorm(5, elementwise_affine=False), (2, 5)),
    "layer without a bias": (lambda nn: nn.LayerNorm([5], bias=False), (2, 5)),
    "dropout": (lambda nn: nn.Dropout(0.3), (5, 7)),
    "dropout of all": (lambda nn: nn.Dropout(1.0), (5, 7)),
    "dropout of none": (lambda nn: nn.Dropout(0.0), (5, 7)),
}


@part(norm + "batch_norm", norm + "batch_statistics", norm + "update", norm + "per_channel", norm + "BatchNorm")
@part(norm + "layer_norm", norm + "LayerNorm", drop + "dropout", drop + "dropout_noise", drop + "Dropout")
@pytest.mark.parametrize("mode", ["train", "eval", "train, then eval"])
@pytest.mark.parametrize("name", LAYERS)
def test_outputs_gradients_and_state(mytorch: ModuleType, name: str, mode: str) -> None:
    make, size = LAYERS[name]

    def call(torch: ModuleType) -> list[Any]:
        layer = shaken(make(torch.nn), torch)
        torch.manual_seed(4)
        seen = run(layer, torch, size, batches=3) if mode.startswith("train") else []
        return seen + (run(layer.eval(), torch, size) if mode.endswith("eval") else [])

    agree(call, mytorch)


CALLS: dict[str, Callable[[Any], Any]] = {
    "one value per channel": lambda torch: torch.nn.BatchNorm1d(3)(torch.ones(1, 3)),
    "one value per channel, evaluated": lambda torch: torch.nn.BatchNorm1d(3).eval()(torch.ones(1, 3)).shape,
    "too many dimensions": lambda torch: torch.nn.BatchNorm2d(3)(torch.ones(2, 3)),
    "not enough dimensions": lambda torch: torch.nn.BatchNorm1d(3)(torch.ones(3)),
    "another ending": lambda torch: torch.nn.LayerNorm((3, 4))(torch.ones(2, 4)),
    "not enough for an ending": lambda torch: torch.nn.functional.layer_norm(torch.ones(4), (3, 4)),
    "a probability above 1": lambda torch: torch.nn.Dropout(1.5),
    "a negative probability": lambda torch: torch.nn.functional.dropout(torch.ones(2), -0.1),
    "printed": lambda torch: torch.nn.Sequential(
        torch.nn.BatchNorm1d(3, momentum=None),
        torch.nn.BatchNorm2d(3, affine=False),
        torch.nn.LayerNorm((2, 3), bias=False),
        torch.nn.Dropout(0.1, inplace=True),
    ),
    "names": lambda torch: [(name, value.dtype) for name, value in torch.nn.BatchNorm1d(2).state_dict().items()],
    "names without statistics": lambda torch: list(
        torch.nn.BatchNorm1d(2, affine=False, track_running_stats=False).state_dict()
    ),
    "counted": lambda torch: (lambda bn: (bn(torch.eye(2)), bn(torch.eye(2)), bn.num_batches_tracked)[2])(
        torch.nn.BatchNorm1d(2)
    ),
    "functions": lambda torch: torch.nn.functional.batch_norm(torch.eye(2), torch.ones(2), torch.ones(2)),
    "functions, no statistics": lambda torch: torch.nn.functional.batch_norm(torch.eye(2), None, None, training=True),
    "functions, no mean": lambda torch: torch.nn.functional.batch_norm(torch.eye(2), None, None),
    "only one statistic": lambda torch: torch.nn.functional.batch_norm(
        torch.eye(2), torch.ones(2), None, training=True
    ),
    "wrong number of channels": lambda torch: torch.nn.BatchNorm1d(3)(torch.ones(4, 2)),
    "batch norm without weight": lambda torch: torch.nn.functional.batch_norm(
        torch.eye(2), None, None, bias=torch.ones(2), training=True
    ),
    "layer norm without weight": lambda torch: torch.nn.functional.layer_norm(torch.eye(2), (2,), bias=torch.ones(2)),
    "a negative probability, evaluated": lambda torch: torch.nn.functional.dropout(torch.ones(2), -0.1, False),
    "the gradient in place": lambda torch: (
        lambda x: (torch.nn.functional.dropout(x * 1, 1.0, inplace=True).sum().backward(), x.grad)
    )(torch.ones(2).requires_grad_()),
    "itself": lambda torch: (lambda x: torch.nn.Dropout(0.5).eval()(x) is x)(torch.ones(2)),
    "in place": lambda torch: (lambda x: (torch.nn.functional.dropout(x, 1.0, inplace=True), x))(torch.ones(2)),
    "modes": lambda torch: [
        module.training for module in torch.nn.Sequential(torch.nn.Dropout(), torch.nn.BatchNorm1d(2)).eval().modules()
    ],
}


@part(norm + "check_channels", norm + "check_ending", norm + "batch_norm", norm + "layer_norm")
@part(drop + "dropout", drop + "Dropout")
@pytest.mark.parametrize("name", CALLS)
def test_errors_and_what_is_printed(mytorch: ModuleType, name: str) -> None:
    same(CALLS[name], mytorch)


@part(norm + "update", norm + "batch_norm")
def test_statistics_keep_no_history_and_are_written_in_place(mytorch: ModuleType) -> None:
    layer = mytorch.nn.BatchNorm1d(2)
    held = layer.running_mean
    x = mytorch.tensor([[1.0, 2.0], [3.0, 6.0]]).requires_grad_()
    layer(layer(x)).sum().backward()
    assert layer.running_mean is held and not held.requires_grad and held.grad_fn is None


@part(norm + "batch_norm", norm + "layer_norm")
@pytest.mark.parametrize("name", ["batch", "layer"])
def test_second_derivatives(mytorch: ModuleType, name: str) -> None:
    inputs = [mytorch.tensor(numbers(*size).astype(np.float64)).requires_grad_() for size in ((4, 3), (3,), (3,))]
    functional = mytorch.nn.functional

    def call(x: Any, weight: Any, bias: Any) -> Any:
        if name == "batch":
            return functional.batch_norm(x, None, None, weight, bias, training=True)
        return functional.layer_norm(x, (3,), weight, bias)

    assert mytorch.autograd.gradcheck(call, inputs)
    assert mytorch.autograd.gradgradcheck(call, inputs)


@pytest.mark.turns(8)
@pytest.mark.parametrize("seed", [0, 2, 3])
def test_lenet_reads_digits_whatever_the_seed(mytorch: ModuleType, seed: int) -> None:
    lesson = json.loads((ROOT / "notebooks" / "12_norm_dropout_and_modes.ipynb").read_text(encoding="utf-8"))
    cell = next(cell for cell in lesson["cells"] if "proof-digits" in cell["metadata"].get("tags", ()))
    training = "".join(cell["source"]).rpartition("pictures.curves")[0]
    assert "mytorch.manual_seed(1)" in training
    found: dict[str, Any] = {"mytorch": mytorch, "load_digits": load_digits}
    exec(training.replace("manual_seed(1)", f"manual_seed({seed})"), found)
    assert len(found["test"]) == 450
    assert len(found["wrong"]) <= 9
