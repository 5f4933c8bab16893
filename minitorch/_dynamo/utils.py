"""What the compiler counts.

Source: torch/_dynamo/utils.py, `counters`
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minitorch._dynamo.capture import Captured

counters: defaultdict[str, Counter[str]] = defaultdict(Counter)
"""frames: `total` and `ok`, the captured ones. stats: `unique_graphs`, and their operations, `calls_captured`.
graph_break: how often each reason has ended a graph, apart from conditional jumps, as in PyTorch.
"""


def count_frame(found: Captured) -> None:
    """Counts a capture."""
    counters["frames"]["total"] += 1
    counters["frames"]["ok"] += found.reason is None
    if found.split is not None and found.split.jump is None and found.split.step is not None:
        counters["graph_break"][found.split.stop.reason] += 1
    if found.module is not None:
        calls = sum(each.op.startswith("call") for each in found.module.graph.nodes)
        counters["stats"].update(unique_graphs=1, calls_captured=calls)
