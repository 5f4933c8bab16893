"""Programs that torch.fx and minitorch.fx trace: each takes the library and gives what is traced, and its inputs."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

Program = Callable[[Any], tuple[Any, tuple[Any, ...]]]


def _x(t: Any, *shape: int) -> Any:
    return t.linspace(-2.0, 3.0, math.prod(shape)).reshape(shape)


def functions(t: Any) -> Any:
    return lambda x: t.relu(t.sin(x) * 2 + 1), (_x(t, 3),)


def operators(t: Any) -> Any:
    def f(x: Any, y: Any) -> Any:
        return (-x + 2 - y) ** 2 / (3 * y) @ x.T // 2 % 3, x > y, x <= 1, ~(x == y), 1 - x, 2**y

    return f, (_x(t, 2, 2), _x(t, 2, 2) + 1)


def methods(t: Any) -> Any:
    return lambda x: x.view(2, -1).transpose(0, 1).sum(dim=1, keepdim=True), (_x(t, 6),)


def attributes(t: Any) -> Any:
    return lambda x: x.reshape(x.shape[0], -1).T + x.ndim, (_x(t, 2, 3, 2),)


def indexing(t: Any) -> Any:
    return lambda x: x[0] + x[1:, None][0, 0] + x[..., -1:].sum() + x[:, 1:3].sum(), (_x(t, 3, 4),)


def functional(t: Any) -> Any:
    f = t.nn.functional

    def function(x: Any) -> Any:
        return f.softmax(f.relu(x), dim=1) + f.gelu(x) + f.leaky_relu(x, 0.2) + f.layer_norm(x, (4,))

    return function, (_x(t, 3, 4),)


def bound_functional(t: Any) -> Any:
    f = t.nn.functional

    def function(x: Any, w: Any) -> Any:
        return f.softplus(f.linear(x, w)) + f.logsigmoid(f.linear(x, w, bias=None))

    return function, (_x(t, 3, 4), _x(t, 5, 4))


def convolution(t: Any) -> Any:
    f = t.nn.functional

    def function(x: Any, w: Any) -> Any:
        return f.max_pool2d(f.conv2d(x, w, padding=1), 2), f.avg_pool2d(t.conv2d(x, w), 2)

    return function, (_x(t, 1, 2, 6, 6), _x(t, 3, 2, 3, 3))


def losses(t: Any) -> Any:
    f = t.nn.functional
    return lambda x, y: f.mse_loss(x, y) + f.cross_entropy(x, y.argmax(1), label_smoothing=0.1), (
        _x(t, 3, 4),
        _x(t, 3, 4).cos(),
    )


def python_functions(t: Any) -> Any:
    def function(x: Any) -> Any:
        return t.einsum("ij,kj->ik", x, x), t.split(x, 2, dim=1)[0], t.norm(x), t.linalg.norm(x)

    return function, (_x(t, 3, 4),)


def lists(t: Any) -> Any:
    return lambda x: {"a": t.cat([x, x], dim=0), "b": [t.stack((x, x)), (x,)], "c": None}, (_x(t, 3),)


def unpacking(t: Any) -> Any:
    def function(x: Any) -> Any:
        a, b = x.chunk(2)
        values, indices = t.max(x, 0)
        return a * b + values + indices

    return function, (_x(t, 4),)


def names(t: Any) -> Any:
    def function(input: Any, sum: Any) -> Any:
        relu = t.relu(input)
        return t.relu(relu) + sum.sum() + t.relu(sum)

    return function, (_x(t, 3), _x(t, 3))


def loop(t: Any) -> Any:
    def function(x: Any, scale: float = 2.0, *, shift: int = 1) -> Any:
        for i in range(3):
            x = x * scale + i * shift
        return x

    return function, (_x(t, 3),)


def annotated(t: Any) -> Any:
    def function(x: t.Tensor, n: int = 3) -> t.Tensor:
        return x + n

    function.__annotations__ = {"x": t.Tensor, "n": int, "return": t.Tensor}
    return function, (_x(t, 3),)


def star_arguments(t: Any) -> Any:
    return lambda *xs: xs[0] + xs[1], (_x(t, 3), _x(t, 3))


def mathematics(t: Any) -> Any:
    return lambda x: x * math.pi + math.sqrt(2.0) + math.inf, (_x(t, 3),)


def creation(t: Any) -> Any:
    return lambda x: x + t.ones(3) * t.arange(3), (_x(t, 3),)


def dtypes(t: Any) -> Any:
    return lambda x: x.to(t.float64) + t.zeros_like(x, dtype=t.float64).to("cpu"), (_x(t, 3),)


def dead_code(t: Any) -> Any:
    def function(x: Any) -> Any:
        x.exp()
        y = x + 1
        y.mul_(2)
        y += 1
        return y

    return function, (_x(t, 3),)


def linear(t: Any) -> Any:
    return _filled(t, t.nn.Linear(4, 3)), (_x(t, 2, 4),)


def sequential(t: Any) -> Any:
    nn = t.nn
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 2), nn.Softmax(dim=-1)))
    return _filled(t, model), (_x(t, 2, 4),)


def own_module(t: Any) -> Any:
    class Own(t.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = t.nn.Parameter(t.ones(4, 4))
            self.register_buffer("offset", t.ones(4))
            self.fc = t.nn.Linear(4, 4)
            self.constant = t.arange(4.0)

        def forward(self, x: Any) -> Any:
            return self.fc(x @ self.weight + self.weight.sum()) + x * self.offset + x * self.constant

    return _filled(t, Own()), (_x(t, 2, 4),)


def nested(t: Any) -> Any:
    class Block(t.nn.Module):  # type: ignore[misc]
        def __init__(self, width: int) -> None:
            super().__init__()
            self.norm = t.nn.LayerNorm(width)
            self.fc = t.nn.Linear(width, width)

        def forward(self, x: Any) -> Any:
            return x + t.nn.functional.silu(self.fc(self.norm(x)))

    class Net(t.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.blocks = t.nn.ModuleList([Block(4) for _ in range(2)])
            self.head = t.nn.Linear(4, 1, bias=False)

        def forward(self, x: Any, flag: bool = False) -> Any:
            for block in self.blocks:
                x = block(x)
            return self.head(x).squeeze(-1)

    return _filled(t, Net()), (_x(t, 3, 4),)


def shared(t: Any) -> Any:
    class Shared(t.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.fc = t.nn.Linear(4, 4)
            self.again = self.fc

        def forward(self, x: Any) -> Any:
            return self.again(self.fc(x)) + self.fc.weight.t()[0]

    return _filled(t, Shared()), (_x(t, 2, 4),)


def convolutional(t: Any) -> Any:
    nn = t.nn
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    return _filled(t, model.eval()), (_x(t, 1, 1, 6, 6),)


def operator_functions(t: Any) -> Any:
    return lambda x: operator.add(x, 1) + abs(x) + getattr(x, "shape")[0], (_x(t, 3),)  # noqa: B009


def constants(t: Any) -> Any:
    constant = t.tensor([1.0, 2.0, 3.0])
    return lambda x: x * constant + constant * 2, (_x(t, 3),)


def slices(t: Any) -> Any:
    return lambda x, n: x[n:, : n + 1], (_x(t, 3, 4), 1)


def _filled(t: Any, model: Any) -> Any:
    """The model with the same parameters in both libraries."""
    with t.no_grad():
        for parameter in model.parameters():
            parameter.copy_(_x(t, *parameter.shape) / 10)
    return model


PROGRAMS: list[Program] = [
    *(functions, operators, methods, attributes, indexing, functional, bound_functional, convolution, losses),
    *(python_functions, lists, unpacking, names, loop, annotated, star_arguments, mathematics, creation, dtypes),
    *(dead_code, linear, sequential, own_module, nested, shared, convolutional, operator_functions, constants, slices),
]
