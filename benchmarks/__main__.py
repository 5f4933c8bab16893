"""`python -m benchmarks [--write FILE]`: the table of all workloads, one thread, in one run.

`python -m benchmarks ops [--backward] [NAME …]`: every op, or those named, on about a million elements.
`python -m benchmarks layers [NAME …]`: layers, losses and activations, forward and backward.
`python -m benchmarks loops [NAME …]`: kernels with and without their compiled loops.
`python -m benchmarks mytorch`: the learner's library beside minitorch.
`python -m benchmarks frames`: the Python functions called before a composite function's first op.
`python -m benchmarks routes`: the routes of convolutions around the sizes at which one overtakes another.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import statistics
from pathlib import Path

import minitorch  # first, so that it can choose NumPy's kernels

# isort: split

import numpy
import threadpoolctl
import torch

from benchmarks import frames, layers, loops, mytorch, routes, sweep
from benchmarks.measure import import_cost, interleaved, least_seconds, peak_memory, ratio
from benchmarks.networks import PROGRAMS
from benchmarks.workloads import WORKLOADS


def processor() -> str:
    """The processor's name, as far as the system tells it."""
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    return names[0].partition(":")[2].strip() if names else platform.processor()


def kernels() -> str:
    """The kernels of NumPy's products of matrices."""
    libraries = [each for each in threadpoolctl.threadpool_info() if "numpy" in each["filepath"]]
    return (
        ", ".join(f"{each['internal_api']} {each.get('architecture', '')}".strip() for each in libraries) or "unknown"
    )


def setup() -> str:
    """The date, the machine and the versions."""
    return (
        f"{datetime.date.today():%Y-%m-%d} · {processor()} · one thread · Python {platform.python_version()}, "
        f"NumPy {numpy.__version__} ({kernels()}), PyTorch {torch.__version__}"
    )


def report() -> str:
    """The figures as Markdown."""
    torch.set_num_threads(1)
    lines = [
        setup(),
        "",
        "| work | minitorch | PyTorch | NumPy | minitorch ÷ PyTorch | target | minitorch ÷ NumPy |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for work in WORKLOADS:
        seconds = interleaved(
            {"minitorch": work.program(minitorch), "torch": work.program(torch), "numpy": work.yardstick()}
        )
        own, reference, plain = (statistics.median(seconds[name]) * 1e6 for name in ("minitorch", "torch", "numpy"))
        lines.append(
            f"| {work.name} | {own:,.1f} µs | {reference:,.1f} µs | {plain:,.1f} µs "
            f"| **{ratio(seconds['minitorch'], seconds['torch']):.2f}** | ≤ {work.target} "
            f"| {ratio(seconds['minitorch'], seconds['numpy']):.2f} |"
        )
    lines += ["", "| processor time | minitorch | PyTorch | ÷ | target |", "|---|--:|--:|--:|--:|"]
    for name, target, program in PROGRAMS:
        least = least_seconds({"minitorch": program(minitorch), "torch": program(torch)}, 1.0)
        own, reference = least["minitorch"], least["torch"]
        lines.append(
            f"| {name} | {own * 1e3:,.2f} ms | {reference * 1e3:,.2f} ms | **{own / reference:.2f}** | ≤ {target} |"
        )
    lines += ["", "| peak memory (target ≤ 1.5) | minitorch | PyTorch | ÷ |", "|---|--:|--:|--:|"]
    for name, _, _ in PROGRAMS:
        if name.startswith("ResNet"):
            own, reference = (peak_memory(library, name) for library in ("minitorch", "torch"))
            lines.append(f"| {name} | {own:.0f} MiB | {reference:.0f} MiB | **{own / reference:.2f}** |")
    lines += ["", "| import (target ≤ 200 ms, ≤ 60 MiB) | time | memory |", "|---|--:|--:|"]
    for module in ("minitorch", "torch", "numpy"):
        milliseconds, mebibytes = import_cost(module)
        lines.append(f"| {module} | {milliseconds:.0f} ms | {mebibytes:.0f} MiB |")
    return "\n".join([*lines, "", mytorch.report()])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    parser.add_argument(
        "what",
        nargs="?",
        choices=["workloads", "ops", "layers", "loops", "mytorch", "frames", "routes"],
        default="workloads",
    )
    parser.add_argument("names", nargs="*", help="of ops, layers or loops; all of them by default")
    parser.add_argument("--backward", action="store_true", help="ops with their gradient")
    arguments = parser.parse_args()
    if arguments.what == "ops":
        text = sweep.report(arguments.names or sweep.names(), arguments.backward)
    elif arguments.what == "layers":
        text = layers.report(arguments.names or list(layers.LAYERS))
    elif arguments.what == "loops":
        text = f"{setup()}\n\n{loops.report(arguments.names)}"
    elif arguments.what == "mytorch":
        text = mytorch.report()
    elif arguments.what == "frames":
        text = frames.report()
    elif arguments.what == "routes":
        text = routes.report()
    else:
        text = report()
    print(text)
    if arguments.write:
        temporary = arguments.write.with_suffix(".tmp")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(arguments.write)


if __name__ == "__main__":
    main()
