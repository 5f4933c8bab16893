"""Networks and the layers they are made of: each written once, for `torch` and `minitorch`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.workloads import Action

Program = Callable[[Any], Action]


def random_tensor(torch: Any, *shape: int) -> Any:
    return torch.from_numpy(np.random.default_rng(0).standard_normal(shape, np.float32))


def random_labels(torch: Any, count: int, classes: int) -> Any:
    return torch.from_numpy(np.random.default_rng(0).integers(0, classes, count))


def _step(torch: Any, model: Any, optimizer: Any, data: Any, loss: Callable[[Any], Any]) -> Action:
    def step() -> None:
        optimizer.zero_grad()
        loss(model(data)).backward()
        optimizer.step()

    return step


def elementwise_chain(torch: Any) -> Action:
    x = random_tensor(torch, 4_000_000).requires_grad_()

    def run() -> None:
        x.grad = None
        ((x * 2 + 1).tanh() * x).exp().sum().backward()

    return run


def relu_of_line(torch: Any) -> Action:
    x = random_tensor(torch, 4_000_000).requires_grad_()

    def run() -> None:
        x.grad = None
        (x * 2 + 1).relu().mean().backward()

    return run


def broadcast_relu(backward: bool) -> Program:
    """(x·w + b).relu().mean() with a row w and a column b."""

    def program(torch: Any) -> Action:
        shapes = (4096, 1024), (1024,), (4096, 1)
        x, w, b = leaves = [random_tensor(torch, *shape).requires_grad_(backward) for shape in shapes]

        def run() -> None:
            loss = (x * w + b).relu().mean()
            if backward:
                for leaf in leaves:
                    leaf.grad = None
                loss.backward()

        return run

    return program


def broadcast_reduction(torch: Any) -> Action:
    a, b = random_tensor(torch, 2000, 1, 100), random_tensor(torch, 1, 50, 100)
    return lambda: (a * b).sum(0).mean(1)


def softmax(torch: Any) -> Action:
    x = random_tensor(torch, 4096, 1000)
    return lambda: x.softmax(1)


def embedding(torch: Any) -> Action:
    table = random_tensor(torch, 10_000, 128).requires_grad_()
    indices = random_labels(torch, 8192, 10_000)

    def run() -> None:
        table.grad = None
        torch.nn.functional.embedding(indices, table).sum().backward()

    return run


def mlp(optimizer: str) -> Program:
    def program(torch: Any) -> Action:
        torch.manual_seed(0)
        nn = torch.nn
        model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
        labels = random_labels(torch, 64, 10)
        update = getattr(torch.optim, optimizer)(model.parameters(), lr=0.001)
        return _step(
            torch, model, update, random_tensor(torch, 64, 784), lambda y: nn.functional.cross_entropy(y, labels)
        )

    return program


def optimizer_step(name: str, **options: Any) -> Program:
    """One step on a million parameters."""

    def program(torch: Any) -> Action:
        parameter = torch.nn.Parameter(random_tensor(torch, 1000, 1000))
        parameter.grad = random_tensor(torch, 1000, 1000)
        step: Action = getattr(torch.optim, name)([parameter], **options).step
        return step

    return program


def lenet(torch: Any) -> Action:
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(
        *(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)),
    )
    labels = random_labels(torch, 64, 10)
    update = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    return _step(
        torch, model, update, random_tensor(torch, 64, 1, 28, 28), lambda y: nn.functional.cross_entropy(y, labels)
    )


def resnet18(torch: Any) -> Any:
    """He et al. 2015, https://arxiv.org/abs/1512.03385, table 1."""
    torch.manual_seed(0)
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                *(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()),
                *(nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)),
            )
            self.short = nn.Sequential()
            if stride > 1:
                self.short = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

        def forward(self, x: Any) -> Any:
            return (self.body(x) + self.short(x)).relu()

    sizes = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2)]
    return nn.Sequential(
        *(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)),
        *(Block(*size) for size in [*sizes, (512, 512, 1)]),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)),
    )


def resnet_step(batch: int) -> Program:
    def program(torch: Any) -> Action:
        model, images = resnet18(torch), random_tensor(torch, batch, 3, 64, 64)

        def run() -> None:
            model.zero_grad()
            model(images).sum().backward()

        return run

    return program


def resnet_inference(torch: Any) -> Action:
    model, images = resnet18(torch).eval(), random_tensor(torch, 8, 3, 64, 64)

    def run() -> Any:
        with torch.no_grad():
            return model(images)

    return run


def transformer_block(torch: Any) -> Action:
    torch.manual_seed(0)
    model = torch.nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True, norm_first=True)
    update = torch.optim.SGD(model.parameters(), lr=0.001)
    return _step(torch, model, update, random_tensor(torch, 16, 64, 128), lambda y: y.square().mean())


def convolution(backward: bool) -> Program:
    def program(torch: Any) -> Action:
        x, weight = random_tensor(torch, 16, 64, 32, 32), random_tensor(torch, 64, 64, 3, 3)
        if not backward:
            return lambda: torch.nn.functional.conv2d(x, weight, padding=1)
        x.requires_grad_()
        weight.requires_grad_()
        grad = random_tensor(torch, 16, 64, 32, 32)

        def run() -> None:
            x.grad = weight.grad = None
            torch.nn.functional.conv2d(x, weight, padding=1).backward(grad)

        return run

    return program


def layer_norm(torch: Any) -> Action:
    x = random_tensor(torch, 4096, 512).requires_grad_()
    layer, grad = torch.nn.LayerNorm(512), random_tensor(torch, 4096, 512)

    def run() -> None:
        x.grad = None
        layer.zero_grad()
        layer(x).backward(grad)

    return run


def data_loader(torch: Any) -> Action:
    utils = import_module(f"{torch.__name__}.utils.data")
    data = utils.TensorDataset(random_tensor(torch, 60_000, 784), random_labels(torch, 60_000, 10))
    loader = utils.DataLoader(data, batch_size=64, shuffle=True)
    return lambda: sum(len(batch) for batch, _ in loader)


def sampled(name: str, *arguments: Any) -> Program:
    return lambda torch: lambda: getattr(torch, name)(*arguments)


PROGRAMS: tuple[tuple[str, float, Program], ...] = (
    ("elementwise chain, 4,000,000, forward + backward", 0.8, elementwise_chain),
    ("((x * 2 + 1).relu().mean()).backward(), 4,000,000", 0.75, relu_of_line),
    ("(x * w + b).relu().mean(), 4096 × 1024, 1024, 4096 × 1", 0.85, broadcast_relu(backward=False)),
    ("(x * w + b).relu().mean() of these shapes, forward + backward", 0.85, broadcast_relu(backward=True)),
    ("broadcasting product and reductions, 2000 × 50 × 100", 1.2, broadcast_reduction),
    ("softmax, 4096 × 1000", 2.8, softmax),
    ("embedding, 8192 of 10,000 × 128, forward + backward", 1.2, embedding),
    ("MLP 784-256-10 step, SGD", 1.2, mlp("SGD")),
    ("MLP 784-256-10 step, Adam", 1.2, mlp("Adam")),
    ("SGD with momentum, 1,000,000 parameters", 1.0, optimizer_step("SGD", lr=0.01, momentum=0.9)),
    ("Adam, 1,000,000 parameters", 1.0, optimizer_step("Adam")),
    ("LeNet step, 64 × 1 × 28 × 28", 1.4, lenet),
    ("ResNet-18 forward + backward, 1 × 3 × 64 × 64", 1.3, resnet_step(1)),
    ("ResNet-18 forward + backward, 8 × 3 × 64 × 64", 1.7, resnet_step(8)),
    ("ResNet-18 inference, 8 × 3 × 64 × 64", 1.5, resnet_inference),
    ("transformer block step, d = 128, 4 heads, T = 64, batch 16", 1.6, transformer_block),
    ("convolution 3 × 3, 16 × 64 × 32 × 32, forward", 1.5, convolution(False)),
    ("convolution 3 × 3, 16 × 64 × 32 × 32, forward + backward", 1.6, convolution(True)),
    ("layer norm, 4096 × 512, forward + backward", 5.0, layer_norm),
    ("DataLoader epoch, 60,000 × 784, shuffled", 0.2, data_loader),
    ("randn, 1,000,000", 10.0, sampled("randn", 1_000_000)),
    ("rand, 1,000,000", 10.0, sampled("rand", 1_000_000)),
    ("randperm, 60,000", 10.0, sampled("randperm", 60_000)),
)
"""What is timed, and the greatest time ÷ PyTorch's that the project accepts."""
