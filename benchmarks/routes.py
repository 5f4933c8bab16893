"""The routes of convolutions at sizes around their crossovers: what `minitorch.kernels.convolution.routes` goes by."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.measure import least_seconds
from minitorch.arrays import fast_numpy as xp
from minitorch.kernels.convolution import CORRELATE
from minitorch.kernels.convolution.routes import Sizes, open_routes, route

ROUTES = ("images", "batch", "rows", "lines")

SERIES: dict[str, list[tuple[int, int, int, int, int]]] = {
    "WIDE: columns of a row in all images": [(n, 16, 16, 16, 3) for n in (1, 2, 4, 8, 16)],
    "DEEP: channels · kernel rows": [(4, c, 32, 32, 3) for c in (8, 16, 32, 42, 43, 64, 128)],
    "LEFT_OVER: columns for each one in vain": [(8, 64, 32, w, 3) for w in (6, 10, 16, 18, 34)],
    "FEW_POSITIONS: output positions": [(3, 16, 16, w, 3) for w in (5, 8, 12, 14, 18)],
}
"""What is varied, and (images, channels, outputs, width, kernel)."""


def report() -> str:
    """Microseconds of each route as Markdown; the one that is chosen is bold."""
    lines = []
    for title, cases in SERIES.items():
        lines += ["", f"| {title} | {' | '.join(ROUTES)} |", f"|---|{'--:|' * len(ROUTES)}"]
        for case in cases:
            lines.append(_row(*case))
    return "\n".join(lines[1:])


def _row(images: int, channels: int, outputs: int, width: int, kernel: int) -> str:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((images, channels, width, width)).astype("float32")
    weight = rng.standard_normal((outputs, channels, kernel, kernel)).astype("float32")
    output = (width - kernel + 1,) * 2
    sizes = Sizes(images, channels, outputs, 1, weight.shape[2:], output, (1, 1), (1, 1))
    seconds = least_seconds({name: _run(name, x, weight) for name in open_routes(sizes, True)}, 0.1)
    chosen = route(sizes, True)
    cells = [f"**{seconds[name] * 1e6:.0f}**" if name == chosen else f"{seconds[name] * 1e6:.0f}" for name in ROUTES]
    return f"| ({images}, {channels}, {width}, {width}) → {outputs} | {' | '.join(cells)} |"


def _run(name: str, x: Any, weight: Any) -> Any:
    return lambda: CORRELATE[name](xp, x, weight, (1, 1), (0, 0), (1, 1), 1)
