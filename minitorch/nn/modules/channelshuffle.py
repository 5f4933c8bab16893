"""Channels dealt out among groups. Source: https://pytorch.org/docs/stable/generated/torch.nn.ChannelShuffle.html"""

from __future__ import annotations

from minitorch.nn.modules.layer import Applied, layer


@layer
class ChannelShuffle(Applied, function="channel_shuffle"):
    """(N, C, …) → (N, C, …) with the channels of `groups` groups in turn: the first of each, the second of each, …

    Raises RuntimeError for groups that don't divide C.
    """

    groups: int
