"""Convolutions of sizes at which the kernels go other ways than in the op table: wide, many images, deep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch.arrays import fast_numpy
from minitorch.kernels.convolution import CORRELATE, OUTER, SCATTER, im2col
from minitorch.kernels.convolution.routes import Sizes, adjoint_route, open_routes, route

CASES = {
    "one dimension": ((5, 3, 40), (4, 3, 5), {"stride": 2, "padding": 2}),
    "one dimension, dilated": ((4, 2, 90), (3, 2, 3), {"dilation": 4}),
    "3 by 3": ((4, 3, 20, 18), (5, 3, 3, 3), {"padding": 1}),
    "strided": ((6, 3, 31, 33), (4, 3, 3, 3), {"stride": 2, "padding": 1}),
    "uneven": ((7, 2, 13, 30), (3, 2, 2, 5), {"stride": (3, 1), "padding": (0, 2)}),
    "dilated in its rows": ((7, 2, 13, 30), (3, 2, 3, 3), {"dilation": (1, 3)}),
    "dilated in its columns": ((7, 2, 13, 30), (3, 2, 3, 3), {"dilation": (2, 1)}),
    "more padding than kernel": ((7, 2, 13, 30), (3, 2, 2, 2), {"padding": 2}),
    "1 by 1": ((4, 3, 20, 20), (5, 3, 1, 1), {}),
    "grouped": ((4, 4, 20, 20), (6, 2, 3, 3), {"groups": 2}),
    "deep": ((3, 48, 6, 40), (4, 48, 3, 3), {"padding": (1, 2), "stride": (2, 1)}),
    "deep, dilated": ((2, 48, 6, 60), (4, 48, 3, 3), {"dilation": (1, 2)}),
    "deep, one dimension": ((2, 130, 80), (4, 130, 3), {"padding": 1}),
    "deep, three dimensions": ((1, 48, 4, 5, 70), (3, 48, 2, 3, 3), {"stride": (2, 1, 1), "padding": (1, 0, 1)}),
    "each channel": ((4, 3, 20, 18), (3, 1, 3, 3), {"groups": 3, "padding": 1}),
    "each channel, several outputs, strided": (
        (3, 4, 13, 16),
        (8, 1, 3, 2),
        {"groups": 4, "stride": (2, 3), "padding": (1, 2), "dilation": (1, 2)},
    ),
    "each channel, one dimension": ((2, 5, 30), (5, 1, 4), {"groups": 5, "stride": 3}),
    "each channel, three dimensions": ((2, 3, 5, 6, 7), (3, 1, 2, 3, 2), {"groups": 3, "dilation": (2, 1, 1)}),
    "many kernels, few positions": ((1, 2, 6, 6), (40, 2, 3, 3), {"padding": 1}),
    "three dimensions": ((5, 2, 6, 7, 16), (3, 2, 2, 3, 3), {"padding": 1, "dilation": (2, 1, 1)}),
}


def results(lib: Any, transposed: bool, shape: tuple[int, ...], kernel: tuple[int, ...], options: Any) -> list[Any]:
    """The convolution and its gradients in input, weight and bias."""
    rng = np.random.default_rng(0)
    name = f"conv{'_transpose' * transposed}{len(shape) - 2}d"
    channels = kernel[0] if transposed else shape[1]
    weight = rng.standard_normal(kernel)
    arrays = rng.standard_normal((shape[0], channels, *shape[2:])), weight
    x, w = (lib.from_numpy(each).requires_grad_() for each in arrays)
    bias = lib.zeros(kernel[1] * options.get("groups", 1) if transposed else kernel[0], dtype=lib.float64)
    bias.requires_grad_()
    result = getattr(lib.nn.functional, name)(x, w, bias, **options)
    result.backward(lib.from_numpy(rng.standard_normal(tuple(result.shape))))
    return [each.detach().numpy() for each in (result, x.grad, w.grad, bias.grad)]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("workspace", [im2col.WORKSPACE, 2000])
def test_like_torch(case: str, transposed: bool, workspace: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch at once, and a few images at a time."""
    torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")
    monkeypatch.setattr(im2col, "WORKSPACE", workspace)
    for ours, theirs in zip(
        results(minitorch, transposed, *CASES[case]), results(torch, transposed, *CASES[case]), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)
        assert ours.strides == theirs.strides or 1 in ours.shape


def sizes_of(shape: tuple[int, ...], kernel: tuple[int, ...], options: Any) -> tuple[Sizes, dict[str, Any]]:
    """The sizes of a case, and the geometry with its defaults."""
    n = len(shape) - 2
    spatial = {name: options.get(name, default) for name, default in (("stride", 1), ("padding", 0), ("dilation", 1))}
    spatial = {name: (each,) * n if isinstance(each, int) else each for name, each in spatial.items()}
    each = zip(shape[2:], kernel[2:], *spatial.values(), strict=True)
    output = tuple((s + 2 * p - d * (k - 1) - 1) // t + 1 for s, k, t, p, d in each)
    groups = options.get("groups", 1)
    sizes = Sizes(shape[0], shape[1], kernel[0], groups, kernel[2:], output, spatial["stride"], spatial["dilation"])
    return sizes, {**spatial, "groups": groups}


@pytest.mark.parametrize("case", CASES)
def test_all_open_routes_agree(case: str) -> None:
    """Of the convolution, of its adjoint in the weight, and of that in the images."""
    shape, kernel, options = CASES[case]
    sizes, geometry = sizes_of(shape, kernel, options)
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal(shape), rng.standard_normal(kernel)
    grad = rng.standard_normal((shape[0], kernel[0], *sizes.output))
    padding = geometry["padding"]
    inside = im2col.padded(fast_numpy, x, padding)
    stride, dilation, groups = sizes.stride, sizes.dilation, sizes.groups
    expected: dict[str, Any] = {}
    for name in open_routes(sizes, True):
        found = {"correlate": CORRELATE[name](fast_numpy, x, weight, stride, padding, dilation, groups)}
        if name in SCATTER:
            found["outer"] = OUTER[name](fast_numpy, grad, inside, kernel[2:], stride, dilation, groups)
            found["scatter"] = np.zeros_like(inside)
            SCATTER[name](fast_numpy, grad, weight, found["scatter"], stride, dilation, groups)
        for what, result in found.items():
            np.testing.assert_allclose(result, expected.setdefault(what, result), rtol=1e-10, atol=1e-10, err_msg=name)


def test_every_route_is_chosen_and_open() -> None:
    cases = [sizes_of(*case)[0] for case in CASES.values()]
    many = [each._replace(images=images) for each in cases for images in (1, 3, 40)]
    assert {route(each, True) for each in many} == CORRELATE.keys()
    assert {adjoint_route(each, True) for each in many} == SCATTER.keys() == OUTER.keys()
    assert all({route(each, True), adjoint_route(each, True)} <= {*open_routes(each, True)} for each in many)
    assert {route(each, False) for each in many} == {"images", "batch"}


def test_transposed_with_output_padding() -> None:
    """With dilation it may be asked for without strides; then it is more than the gradient of a convolution."""
    torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")
    case = ((4, 3, 20, 20), (3, 2, 3, 3), {"dilation": 2, "output_padding": 1})
    for ours, theirs in zip(results(minitorch, True, *case), results(torch, True, *case), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)
