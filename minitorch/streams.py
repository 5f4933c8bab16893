"""What the streams and the events of all kinds of devices are. Those of GPUs are in `minitorch.cuda`.

Source: https://pytorch.org/docs/stable/generated/torch.Stream.html
"""

from __future__ import annotations

import importlib
from typing import Any


class Stream:
    """A queue of a device's work. `torch.Stream()` is one of the current GPU; without a GPU it raises RuntimeError."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Stream:
        return object.__new__(importlib.import_module("minitorch.cuda").Stream if cls is Stream else cls)


class Event:
    """A moment in a device's work. `torch.Event()` is one of a GPU; without a GPU it raises RuntimeError."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Event:
        return object.__new__(importlib.import_module("minitorch.cuda").Event if cls is Event else cls)
