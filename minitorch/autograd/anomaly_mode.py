"""Whether anomaly mode is on, for all threads as in PyTorch, and what nodes that are recorded meanwhile remember."""

from __future__ import annotations

import os
import threading
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minitorch.autograd.node import Node

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


class Running(threading.local):
    """The node that this thread's engine runs, in anomaly mode."""

    node: Node | None = None


class AnomalyMode:
    """The switches, see `minitorch.autograd.set_detect_anomaly`."""

    enabled = False
    check_nan = True
    running = Running()

    def origin(self) -> dict[str, Any]:
        """Where the program is, and the node whose backward it runs: PyTorch's entries in `Node.metadata`."""
        frames = traceback.extract_stack()
        while frames and frames[-1].filename.startswith(_PACKAGE):
            frames.pop()
        parent = self.running.node
        return {"traceback_": traceback.format_list(frames)} | ({} if parent is None else {"parent_": parent})


anomaly = AnomalyMode()
