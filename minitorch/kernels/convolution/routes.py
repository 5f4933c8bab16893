"""Which route a convolution takes: a pure function of its sizes.

| route | what it does | where it is open |
|---|---|---|
| images | multiplies the matrix of windows of each image and group | everywhere |
| batch | multiplies one matrix of windows of all images | without groups |
| rows | multiplies by rows of the output; copies the columns of the windows | CPU, no groups, no vertical dilation |
| lines | multiplies by rows of all images in one line; copies no windows | as rows, with steps of one column |
| channels | multiplies planes by numbers, and adds | CPU, a group for each channel |

The constants are crossovers: the sizes from which one route takes less time than another. `python -m benchmarks routes`
measures them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

Ints = tuple[int, ...]

WIDE = 64
"""Columns of one output row in all images from which `rows` overtakes `images` and `batch`."""

DEEP = 128
"""Products of channels and kernel rows from which `lines` overtakes `rows`."""

LEFT_OVER = 8
"""The line has to be this many times as long as what `lines` computes in vain between two images."""

FEW_POSITIONS = 128
"""Output positions of an image below which `batch` overtakes `images`, unless the kernel has one element."""


class Sizes(NamedTuple):
    """What decides on a route."""

    images: int
    channels: int
    outputs: int
    groups: int
    kernel: Ints
    output: Ints
    stride: Ints
    dilation: Ints


def open_routes(sizes: Sizes, is_host: bool) -> tuple[str, ...]:
    """The routes that can compute a convolution of these sizes."""
    routes = ["images"]
    if sizes.groups == 1:
        routes.append("batch")
    if sizes.groups == 1 and is_host and sizes.dilation[-2:-1] in ((), (1,)):
        routes.append("rows")
        if sizes.stride[-1] == 1:
            routes.append("lines")
    if 1 < sizes.groups == sizes.channels and is_host:
        routes.append("channels")
    return tuple(routes)


def route(sizes: Sizes, is_host: bool) -> str:
    """The fastest route of a convolution."""
    routes = open_routes(sizes, is_host)
    width = sizes.output[-1]
    if "rows" in routes and sizes.images * width >= WIDE and math.prod(sizes.kernel) > 1:
        depth = sizes.channels * (sizes.kernel[-2] if len(sizes.kernel) > 1 else sizes.channels)
        left_over = sizes.dilation[-1] * (sizes.kernel[-1] - 1)
        return "lines" if "lines" in routes and depth >= DEEP and LEFT_OVER * left_over <= width else "rows"
    return adjoint_route(sizes, is_host)


def adjoint_route(sizes: Sizes, is_host: bool) -> str:
    """The fastest route of the adjoint in the weight, and of that in the image where it isn't a convolution itself."""
    if "channels" in open_routes(sizes, is_host):
        return "channels"
    few = math.prod(sizes.output) < FEW_POSITIONS and math.prod(sizes.kernel) > 1
    return "batch" if few and sizes.groups == 1 and sizes.images > 1 else "images"


def is_convolution(sizes: Sizes, is_host: bool, size: Ints, whole: Ints, covered: Ints, around: Ints) -> bool:
    """Whether the adjoint in the image is computed as a convolution, of the gradient with the kernel turned round.

    With strides of 1 it can be. That pays where there are more positions than kernels to turn, and where the image
    isn't much larger than the gradient, which would be mostly padding.
    """
    turns = {*sizes.stride} == {1} and sizes.groups == 1 and covered == whole and min(around) >= 0
    positions = math.prod(sizes.output)
    shrunk = is_host and adjoint_route(sizes, is_host) == "batch" and 3 * positions < 2 * math.prod(size)
    return turns and not shrunk and sizes.images * positions >= sizes.outputs
