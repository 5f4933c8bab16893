"""Channels dealt out among groups. Source: https://pytorch.org/docs/stable/generated/torch.nn.ChannelShuffle.html"""

from __future__ import annotations

from minitorch.nn import functional as F
from minitorch.nn.modules.module import Module
from minitorch.tensor import Tensor


class ChannelShuffle(Module):
    """(N, C, …) with the channels of `groups` groups in turn: the first of each, the second of each, …"""

    __constants__ = ["groups"]

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
