"""LeNet-5: two convolutions and three linear layers, for images of 32×32 pixels.

Source: LeCun et al. (1998), *Gradient-based learning applied to document recognition*,
http://yann.lecun.com/exdb/publis/pdf/lecun-98.pdf, in the form of PyTorch's tutorials: ReLU, max pooling, no
Gaussian output.
"""

from __future__ import annotations

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn


class LeNet(nn.Module):
    """Maps images (N, in_channels, 32, 32) to scores (N, num_classes)."""

    def __init__(self, in_channels: int = 1, num_classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, num_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)
