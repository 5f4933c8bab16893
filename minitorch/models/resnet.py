"""Residual networks: blocks that add what they compute to their input.

Parameters are named, ordered and initialised as in torchvision, so that its checkpoints load.
Source: He et al. (2015), *Deep residual learning for image recognition*, https://arxiv.org/abs/1512.03385; the stride
of a bottleneck is in its 3×3 convolution ("ResNet v1.5").
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import minitorch as torch
from minitorch import nn


def conv3x3(in_channels: int, out_channels: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(in_channels, out_channels, kernel_size=3, stride=stride, padding=1, bias=False)


def conv1x1(in_channels: int, out_channels: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(in_channels, out_channels, kernel_size=1, stride=stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3×3 convolutions: (N, in, H, W) to (N, channels, H / stride, W / stride)."""

    expansion = 1

    def __init__(self, in_channels: int, channels: int, stride: int, downsample: nn.Module | None) -> None:
        super().__init__()
        self.conv1 = conv3x3(in_channels, channels, stride)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(channels, channels)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = downsample

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """1×1, 3×3 and 1×1 convolutions: (N, in, H, W) to (N, 4 · channels, H / stride, W / stride)."""

    expansion = 4

    def __init__(self, in_channels: int, channels: int, stride: int, downsample: nn.Module | None) -> None:
        super().__init__()
        self.conv1 = conv1x1(in_channels, channels)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = conv3x3(channels, channels, stride)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv3 = conv1x1(channels, channels * self.expansion)
        self.bn3 = nn.BatchNorm2d(channels * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    """Maps images (N, 3, H, W) to scores (N, num_classes); `layers` is the number of blocks at each of four sizes.

    `zero_init_residual` starts every block as the identity. `width` is the number of channels of the first blocks, and
    each later size has twice as many as the one before; torchvision has no such option, there it is 64.
    """

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        layers: list[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        width: int = 64,
    ) -> None:
        super().__init__()
        self.inplanes = width
        self.conv1 = nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, width, layers[0])
        self.layer2 = self._make_layer(block, 2 * width, layers[1], stride=2)
        self.layer3 = self._make_layer(block, 4 * width, layers[2], stride=2)
        self.layer4 = self._make_layer(block, 8 * width, layers[3], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(8 * width * block.expansion, num_classes)

        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if zero_init_residual:
            for module in self.modules():
                if isinstance(module, Bottleneck):
                    nn.init.constant_(module.bn3.weight, 0)
                elif isinstance(module, BasicBlock):
                    nn.init.constant_(module.bn2.weight, 0)

    def _make_layer(
        self, block: type[BasicBlock | Bottleneck], channels: int, blocks: int, stride: int = 1
    ) -> nn.Sequential:
        out_channels = channels * block.expansion
        downsample = None
        if stride != 1 or self.inplanes != out_channels:
            downsample = nn.Sequential(conv1x1(self.inplanes, out_channels, stride), nn.BatchNorm2d(out_channels))
        first = block(self.inplanes, channels, stride, downsample)
        self.inplanes = out_channels
        return nn.Sequential(first, *(block(out_channels, channels, 1, None) for _ in range(1, blocks)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def digit_images(digits: Any, size: int = 48, corners: Any = None) -> torch.Tensor:
    """Digits (N, 8, 8) with values from 0 to 16, as scikit-learn has them, drawn on black images (N, 3, size, size).

    A pixel becomes 3×3, so that a digit is 24 pixels high and wide. `corners` (N, 2) says in which row and column
    each one begins; without, they are in the middle.
    """
    small = torch.as_tensor(digits).float() / 16
    large = small[:, :, None, :, None].expand(-1, 8, 3, 8, 3).reshape(-1, 24, 24)
    images = torch.zeros(len(large), 3, size, size)
    middle = (size - 24) // 2
    for number in range(len(large)):
        row, column = (middle, middle) if corners is None else map(int, corners[number])
        images[number, :, row : row + 24, column : column + 24] = large[number]
    return images


class ResNet18_Weights(Enum):
    """Weights for `resnet18`, used as torchvision's enum of this name: `resnet18(weights=ResNet18_Weights.DEFAULT)`.

    DIGITS_V1 are this project's own, made by `python -m tests.models.train_resnet18`: a network of width 8 that
    reads the digits 0 to 4. Weights for ImageNet don't come with it.
    """

    DIGITS_V1 = "resnet18_digits_v1.pt"
    DEFAULT = DIGITS_V1

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    @classmethod
    def verify(cls, obj: Any) -> Any:
        """The weights that are meant: a member, its name, or None. Raises KeyError and TypeError for others."""
        if isinstance(obj, str):
            return cls[obj.removeprefix(f"{cls.__name__}.")]
        if obj is not None and not isinstance(obj, cls):
            raise TypeError(
                f"Invalid Weight class provided; expected {cls.__name__} but received {type(obj).__name__}."
            )
        return obj

    @property
    def meta(self) -> dict[str, Any]:
        """The classes by number, and what the network has and reaches."""
        return {"categories": ["0", "1", "2", "3", "4"], "width": 8, "num_params": 177_037, "acc@1": 99.0}

    @property
    def transforms(self) -> Callable[..., Callable[..., torch.Tensor]]:
        """`weights.transforms()` gives the function that makes the network's input."""
        return lambda: digit_images

    def get_state_dict(self) -> dict[str, torch.Tensor]:
        """What `load_state_dict` takes. The file beside this one holds float16 numbers."""
        return torch.load(Path(__file__).with_name(self.value))


def resnet18(*, weights: ResNet18_Weights | str | None = None, progress: bool = True, **options: Any) -> ResNet:
    """18 layers, 11,689,512 parameters for 1000 classes; `options` are those of `ResNet`.

    `weights` decide the number of classes and the width, and another one is refused. `progress` is torchvision's, for
    downloads; there are none here.
    """
    chosen = ResNet18_Weights.verify(weights)
    if chosen is None:
        return ResNet(BasicBlock, [2, 2, 2, 2], **options)
    for name, value in (("num_classes", len(chosen.meta["categories"])), ("width", chosen.meta["width"])):
        if options.setdefault(name, value) != value:
            raise ValueError(f"The parameter '{name}' expected value {value} but got {options[name]} instead.")
    model = ResNet(BasicBlock, [2, 2, 2, 2], **options)
    model.load_state_dict(chosen.get_state_dict())
    return model


def resnet34(**options: Any) -> ResNet:
    """34 layers, 21,797,672 parameters for 1000 classes; `options` are those of `ResNet`."""
    return ResNet(BasicBlock, [3, 4, 6, 3], **options)


def resnet50(**options: Any) -> ResNet:
    """50 layers in bottlenecks, 25,557,032 parameters for 1000 classes; `options` are those of `ResNet`."""
    return ResNet(Bottleneck, [3, 4, 6, 3], **options)
