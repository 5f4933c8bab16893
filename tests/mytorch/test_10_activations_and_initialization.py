"""Chapter 10 of mytorch against minitorch: activations and their gradients, softmax, first values, clipping."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.mytorch.compare import agree, same

part = pytest.mark.part
activation = "mytorch.nn.activation:"
init = "mytorch.nn.init:"
utils = "mytorch.nn.utils:"


def numbers(*size: int, seed: int = 0, scale: float = 2.0) -> Any:
    return np.random.default_rng(seed).normal(0, scale, size).astype(np.float32)


def value_and_gradient(function: Callable[..., Any], library: ModuleType, array: Any) -> tuple[Any, Any]:
    x = library.tensor(array).requires_grad_()
    result = function(library, x)
    result.backward(library.tensor(numbers(*result.shape, seed=1)))
    return result.detach().tolist(), x.grad.tolist()


def layer(name: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
    return lambda torch, x: getattr(torch.nn, name)(*args, **kwargs)(x)


ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "relu": lambda torch, x: torch.nn.functional.relu(x),
    "torch.relu": lambda torch, x: torch.relu(x),
    "a method": lambda torch, x: x.relu().softmax(0).log_softmax(-1),
    "relu_": lambda torch, x: (x * 1).relu_(),
    "leaky_relu": lambda torch, x: torch.nn.functional.leaky_relu(x),
    "leaky_relu, steeper": lambda torch, x: torch.nn.functional.leaky_relu(x, 0.2),
    "gelu": lambda torch, x: torch.nn.functional.gelu(x),
    "gelu, tanh": lambda torch, x: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": lambda torch, x: torch.nn.functional.silu(x),
    "erf": lambda torch, x: x.erf(),
    "softmax": lambda torch, x: torch.softmax(x, 1),
    "softmax, last": lambda torch, x: torch.nn.functional.softmax(x, dim=-1),
    "log_softmax": lambda torch, x: torch.nn.functional.log_softmax(x, dim=1),
    "ReLU": layer("ReLU"),
    "ReLU in place": lambda torch, x: torch.nn.ReLU(inplace=True)(x * 1),
    "LeakyReLU": layer("LeakyReLU", 0.3),
    "GELU": layer("GELU"),
    "SiLU": layer("SiLU"),
    "Sigmoid": layer("Sigmoid"),
    "Tanh": layer("Tanh"),
    "Softmax": layer("Softmax", dim=0),
    "LogSoftmax": layer("LogSoftmax", dim=-2),
}


@part(activation + "relu", activation + "derivative.relu", activation + "leaky_relu", activation + "gelu")
@part(activation + "derivative.leaky_relu", activation + "silu", activation + "derivative.erf", activation + "ReLU")
@part(activation + "softmax", activation + "derivative.softmax")
@part(activation + "log_softmax", activation + "derivative.log_softmax")
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_values_and_gradients(mytorch: ModuleType, name: str) -> None:
    agree(lambda torch: value_and_gradient(ACTIVATIONS[name], torch, numbers(2, 3, 4)), mytorch, rtol=2e-6, atol=1e-6)


@part(activation + "derivative.relu", activation + "derivative.leaky_relu")
@pytest.mark.parametrize("name", ["relu", "leaky_relu"])
def test_gradients_at_zero_and_beyond_all_bounds(mytorch: ModuleType, name: str) -> None:
    def call(torch: ModuleType) -> Any:
        x = torch.tensor([-1.0, 0.0, 1.0, float("inf"), float("-inf")], requires_grad=True)
        y = getattr(torch.nn.functional, name)(x)
        y.backward(torch.tensor([1.0, 3.0, 4.0, 5.0, float("inf")]))
        return y, x.grad

    same(call, mytorch)


@part(activation + "softmax", activation + "log_softmax")
@pytest.mark.parametrize("function", ["softmax", "log_softmax"])
@pytest.mark.parametrize("row", [[1000.0, 999.0], [-1000.0, -1001.0], [0.0, float("-inf")], [3.0]])
def test_softmax_of_large_numbers(mytorch: ModuleType, function: str, row: list[float]) -> None:
    same(lambda torch: getattr(torch, function)(torch.tensor([row]), 1), mytorch)


@part(activation + "derivative.softmax", activation + "derivative.log_softmax")
@pytest.mark.parametrize("function", ["softmax", "log_softmax", "gelu", "silu", "relu", "leaky_relu"])
def test_second_derivatives(mytorch: ModuleType, function: str) -> None:
    dims = {"dim": 0} if "softmax" in function else {}
    x = mytorch.tensor(numbers(3, 2).astype(np.float64)).requires_grad_()
    call = getattr(mytorch.nn.functional, function)
    assert mytorch.autograd.gradcheck(lambda x: call(x, **dims), (x,))
    assert mytorch.autograd.gradgradcheck(lambda x: call(x, **dims), (x,))


@part(activation + "check_floats", activation + "gelu")
@pytest.mark.parametrize(
    "call",
    [
        lambda torch: torch.softmax(torch.tensor([1, 2]), 0),
        lambda torch: torch.log_softmax(torch.ones(2, 2) > 0, 0),
        lambda torch: torch.softmax(torch.ones(2, 3), 2),
        lambda torch: torch.nn.functional.gelu(torch.ones(2), approximate="sigmoid"),
        lambda torch: torch.relu(torch.tensor([-1, 2])),
        lambda torch: torch.nn.Sequential(torch.nn.ReLU(), torch.nn.ReLU(inplace=True), torch.nn.GELU()),
        lambda torch: [torch.nn.LeakyReLU(0.2), torch.nn.Softmax(dim=1), torch.nn.LogSoftmax(dim=1), torch.nn.Tanh()],
        lambda torch: torch.ones(2, requires_grad=True).relu_(),
        lambda torch: torch.nn.init.kaiming_uniform_(torch.ones(2, 3), nonlinearity="step"),
    ],
)
def test_errors_and_what_is_printed(mytorch: ModuleType, call: Callable[..., Any]) -> None:
    same(call, mytorch)


@part(init + "calculate_gain")
@pytest.mark.parametrize(
    "arguments",
    [
        ("linear",),
        ("conv2d",),
        ("sigmoid",),
        ("tanh",),
        ("relu",),
        ("leaky_relu",),
        ("leaky_relu", 0.2),
        ("leaky_relu", 0),
        ("softmax",),
    ],
)
def test_gains(mytorch: ModuleType, arguments: Any) -> None:
    same(lambda torch: torch.nn.init.calculate_gain(*arguments), mytorch)


FILLS: dict[str, Callable[..., Any]] = {
    "uniform_": lambda init, w: init.uniform_(w, -2, 3),
    "normal_": lambda init, w: init.normal_(w, 1.0, 0.02),
    "zeros_": lambda init, w: init.zeros_(w),
    "ones_": lambda init, w: init.ones_(w),
    "constant_": lambda init, w: init.constant_(w, 0.3),
    "xavier_uniform_": lambda init, w: init.xavier_uniform_(w),
    "xavier_normal_": lambda init, w: init.xavier_normal_(w, gain=5 / 3),
    "kaiming_uniform_": lambda init, w: init.kaiming_uniform_(w, a=5**0.5),
    "kaiming_normal_": lambda init, w: init.kaiming_normal_(w, nonlinearity="relu"),
    "kaiming_normal_, fan_out": lambda init, w: init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu"),
    "kaiming_normal_, wrong mode": lambda init, w: init.kaiming_normal_(w, mode="fan"),
}


@part(init + "uniform_", init + "normal_", init + "constant_", init + "_calculate_fan_in_and_fan_out")
@part(init + "xavier_std", init + "xavier_normal_", init + "xavier_uniform_", init + "kaiming_std")
@part(init + "kaiming_normal_", init + "kaiming_uniform_")
@pytest.mark.parametrize("size", [(3, 5), (4, 3, 2, 5), (7,)])
@pytest.mark.parametrize("name", FILLS)
def test_the_same_seed_gives_minitorchs_first_values(mytorch: ModuleType, name: str, size: tuple[int, ...]) -> None:
    def fill(torch: ModuleType) -> Any:
        torch.manual_seed(3)
        weight = torch.nn.Parameter(torch.zeros(size))
        try:
            filled = FILLS[name](torch.nn.init, weight)
        except ValueError as error:
            return str(error)
        assert filled is weight and weight.is_leaf
        return weight.detach().tolist()

    agree(lambda torch: [fill(torch)], mytorch, rtol=1e-5, atol=1e-7)


def with_gradients(torch: ModuleType, arrays: list[Any]) -> list[Any]:
    parameters = [torch.zeros(2, requires_grad=True) for _ in arrays]
    for parameter, array in zip(parameters, arrays, strict=True):
        parameter.grad = None if array is None else torch.tensor(array)
    return parameters


CLIPS: dict[str, Callable[..., Any]] = {
    "by norm": lambda utils, p: utils.clip_grad_norm_(p, 1.0),
    "nothing to do": lambda utils, p: utils.clip_grad_norm_(p, 100.0),
    "one tensor": lambda utils, p: utils.clip_grad_norm_(p[0], 2.0),
    "a generator": lambda utils, p: utils.clip_grad_norm_((each for each in p), 2.0),
    "largest": lambda utils, p: utils.clip_grad_norm_(p, 1.0, norm_type=float("inf")),
    "of the first order": lambda utils, p: utils.clip_grad_norm_(p, 1.0, norm_type=1),
    "by value": lambda utils, p: utils.clip_grad_value_(p, 2.5),
    "finite": lambda utils, p: utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True),
    "nothing at all": lambda utils, p: utils.clip_grad_norm_(p[2:], 1.0),
}


@part(utils + "clip_grad_norm_", utils + "clip_grad_value_", utils + "gradients_of")
@pytest.mark.parametrize(
    "arrays",
    [
        [[3.0, -4.0], [0.0, 12.0], None],
        [[0.0, 0.0], [0.0, 0.0], None],
        [[float("nan"), 1.0], [2.0, 3.0], None],
        [[float("inf"), 1.0], [2.0, -3.0], None],
        [[0.03, 0.04], [0.0, 0.0], None],
    ],
)
@pytest.mark.parametrize("name", CLIPS)
def test_clipping(mytorch: ModuleType, name: str, arrays: list[Any]) -> None:
    def call(torch: ModuleType) -> Any:
        parameters = with_gradients(torch, arrays)
        held = parameters[0].grad
        norm = CLIPS[name](torch.nn.utils, parameters)
        return norm, [each.grad for each in parameters], held is parameters[0].grad

    same(call, mytorch)


@part(init + "kaiming_std", activation + "relu", utils + "clip_grad_norm_")
def test_twenty_layers_train_to_minitorchs_losses(mytorch: ModuleType) -> None:
    def train(torch: ModuleType) -> list[float]:
        torch.manual_seed(0)
        sizes = [2] + [16] * 19 + [1]
        layers: list[Any] = []
        for before, after in pairwise(sizes):
            linear = torch.nn.Linear(before, after)
            torch.nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
            torch.nn.init.zeros_(linear.bias)
            layers += [linear, torch.nn.ReLU()]
        model = torch.nn.Sequential(*layers[:-1])
        x, side = torch.tensor(numbers(32, 2)), torch.tensor(np.sign(numbers(32, 1, seed=1)))
        losses = []
        for _ in range(10):
            loss = ((-side * model(x)).exp() + 1).log().mean()
            model.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= 0.05 * parameter.grad
            losses.append(loss.item())
        return losses

    agree(train, mytorch)
