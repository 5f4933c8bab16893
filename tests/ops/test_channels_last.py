"""Ops of images and volumes keep the channels last where PyTorch's do, and gradients lie in memory as their leaves."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch
from tests.same import exactly_the_same

torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")

LAYERS = [
    "F.conv{n}d(x, w)",
    "F.conv{n}d(x, w[:, :1], groups=4)",
    "F.conv{n}d(x.contiguous(), w.contiguous(memory_format=last))",
    "F.conv_transpose{n}d(x, w, stride=2)",
    "F.max_pool{n}d(x, 2)",
    "F.avg_pool{n}d(x, 2)",
    "F.adaptive_avg_pool{n}d(x, 2)",
    "F.adaptive_max_pool{n}d(x, 2)",
    "F.fractional_max_pool{n}d(x, 2, 2)",
    "F.batch_norm(x, None, None, training=True)",
    "F.batch_norm(x, lib.zeros(4), lib.ones(4))",
    "F.group_norm(x, 2)",
    "F.instance_norm(x)",
    "F.layer_norm(x, (5,) * n)",
    "F.pad(x, (1, 1) * n, mode='reflect')",
    "F.prelu(x, lib.ones(1))",
]
CALLS = [
    *LAYERS,
    "F.interpolate(x, scale_factor=2.0)",
    "F.interpolate(x, scale_factor=2.0, mode=('bilinear', 'trilinear')[n - 2])",
    "F.pad(x, (1, 1))",
    "lib.channel_shuffle(x, 2)",
    "F.relu(x)",
    "lib.cat([x, x], 1)",
    "x.mean(1)",
]


def strides(lib: Any, code: str, n: int) -> tuple[Any, Any]:
    """Of the result, and of the gradient of x."""
    lib.manual_seed(0)
    last = (lib.channels_last, lib.channels_last_3d)[n - 2]
    x = lib.randn(2, 4, *[5] * n).contiguous(memory_format=last).requires_grad_()
    names = {"F": lib.nn.functional, "lib": lib, "x": x, "w": lib.randn(4, 4, *[3] * n), "n": n, "last": last}
    result = eval(code.replace("{n}", str(n)), names)
    result.sum().backward()
    return result.stride(), x.grad.stride()


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("code", CALLS)
def test_channels_stay_last_as_in_torch(code: str, n: int) -> None:
    assert strides(minitorch, code, n) == strides(torch, code, n)


def gradient_strides(lib: Any, code: str, n: int) -> Any:
    """Of the gradients of x and w as they travel, for one of the result that lies row by row."""
    last = (lib.channels_last, lib.channels_last_3d)[n - 2]
    x = lib.randn(2, 4, *[5] * n).contiguous(memory_format=last).requires_grad_()
    w = lib.randn(4, 4, *[3] * n, requires_grad=True)
    result = eval(
        code.replace("{n}", str(n)), {"F": lib.nn.functional, "lib": lib, "x": x, "w": w, "n": n, "last": last}
    )
    grads = lib.autograd.grad(result, [x, w], lib.ones(result.shape), allow_unused=True)
    return [None if each is None else each.stride() for each in grads]


@pytest.mark.parametrize("n", [2, 3])
def test_gradients_keep_the_format_of_the_input(n: int) -> None:
    for code in LAYERS:
        assert gradient_strides(minitorch, code, n) == gradient_strides(torch, code, n), code


LEAVES = {
    "transposed": lambda lib: lib.ones(3, 4).t(),
    "with gaps": lambda lib: lib.ones(3, 8)[:, ::2],
    "expanded": lambda lib: lib.ones(3, 1).expand(3, 4),
    "contiguous": lambda lib: lib.ones(3, 4),
}
LOSSES = {
    "of itself": lambda lib, x: x.sum(),
    "of its transpose": lambda lib, x: (x.t() * lib.ones(*x.t().shape)).sum(),
    "of a product": lambda lib, x: (x @ lib.ones(x.shape[1], 2)).sum(),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("leaf", LEAVES)
@exactly_the_same
def test_gradients_lie_in_memory_as_their_leaves(lib: Any, leaf: str, loss: str) -> Any:
    x = LEAVES[leaf](lib).requires_grad_()
    LOSSES[loss](lib, x).backward()
    once = x.grad.stride()
    LOSSES[loss](lib, x).backward()
    return once, x.grad.stride()
