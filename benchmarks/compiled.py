"""Twenty elementwise operations, eager and compiled, interleaved in one process: processor time of the thread.

    python benchmarks/compiled.py [--torch]

With `--torch` the same function is timed in PyTorch's eager mode too, with one thread. Numbers are medians in µs.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

SIZES = (10, 10_000, 1_000_000)
ROUNDS = 9


def chain(x: Any) -> Any:
    """Twenty operations."""
    for _ in range(5):
        x = (x * 1.01 + 0.5).tanh() - x
    return x


def seconds(run: Callable[[Any], Any], x: Any, times: int) -> float:
    """The processor time of one call."""
    start = time.thread_time()
    for _ in range(times):
        run(x)
    return (time.thread_time() - start) / times


def timed(size: int, modules: dict[str, Any]) -> dict[str, float]:
    """The median of each way of computing, in µs."""
    ways: dict[str, tuple[Callable[[Any], Any], Any]] = {}
    for name, torch in modules.items():
        x = torch.linspace(-1.0, 1.0, size)
        ways[f"{name}, eager"] = chain, x
        if name == "minitorch":
            ways["compiled"] = torch.compile(chain, dynamic=False), x
            ways["compiled, with loops"] = torch.compile(chain, dynamic=False, mode="max-autotune"), x
    times = max(1, 200_000 // (size + 100))
    found: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(ROUNDS + 1):
        for name, (run, x) in ways.items():
            spent = seconds(run, x, times)
            if turn:  # the first round compiles
                found[name].append(spent)
    return {name: 1e6 * statistics.median(each) for name, each in found.items()}


def main() -> None:
    """Prints a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", action="store_true", help="time PyTorch's eager mode too")
    modules = {"minitorch": importlib.import_module("minitorch")}
    if parser.parse_args().torch:
        modules["torch"] = importlib.import_module("torch")
        modules["torch"].set_num_threads(1)
    for size in SIZES:
        numbers = timed(size, modules)
        print(f"{size:>9,} elements: " + ", ".join(f"{name} {number:,.1f}" for name, number in numbers.items()))


if __name__ == "__main__":
    main()
