"""Chapter 11 of mytorch against minitorch: windows as columns, convolutions both ways, pools, their layers, LeNet."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch.models.lenet
from tests.mytorch import compare
from tests.mytorch.compare import ORACLES, close, numbers, same

part = pytest.mark.part
convolution = "mytorch.nn.convolution:"
pooling = "mytorch.nn.pooling:"


def results(function: Callable[..., Any], arrays: list[Any], library: ModuleType) -> list[Any]:
    """The result, and the gradients of all inputs when its entries count differently."""
    inputs = [library.tensor(each).requires_grad_() for each in arrays]
    result = function(library, *inputs)
    weights = np.linspace(0.5, 1.5, result.numel()).reshape(tuple(result.shape))
    result.backward(library.tensor(weights.astype(np.float32)))
    return [np.array(each.tolist()) for each in (result.detach(), *(x.grad for x in inputs))]


def agree(function: Callable[..., Any], arrays: list[Any], mytorch: ModuleType) -> None:
    compare.agree(lambda torch: results(function, arrays, torch), mytorch, atol=1e-4)


GEOMETRIES: list[dict[str, Any]] = [
    {},
    {"stride": 2},
    {"padding": (2, 1)},
    {"dilation": (1, 2)},
    {"stride": (3, 2), "padding": 2, "dilation": (2, 3)},
]


@part(convolution + "im2col", convolution + "Windows.counts", convolution + "Windows.seen")
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_columns_are_those_of_unfold(mytorch: ModuleType, geometry: dict[str, Any]) -> None:
    from mytorch.nn.convolution import im2col, windows_of

    filled = {"stride": 1, "padding": 0, "dilation": 1} | geometry
    images = numbers(2, 3, 9, 8)
    columns = im2col(mytorch.tensor(images), windows_of((3, 2), **filled))
    for torch in ORACLES:
        expected = torch.nn.functional.unfold(torch.tensor(images), (3, 2), **geometry)
        assert columns.tolist() == expected.tolist()


@part(convolution + "col2im")
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_columns_add_up_to_what_fold_gives(mytorch: ModuleType, geometry: dict[str, Any]) -> None:
    from mytorch.nn.convolution import col2im, windows_of

    windows = windows_of((3, 2), **{"stride": 1, "padding": 0, "dilation": 1} | geometry)
    high, wide = windows.counts((9, 8))
    columns = numbers(2, 3 * 3 * 2, high * wide)
    images = col2im(mytorch.tensor(columns), windows, (9, 8))
    for torch in ORACLES:
        expected = torch.nn.functional.fold(torch.tensor(columns), (9, 8), (3, 2), **geometry)
        close([images], [expected], rtol=1e-5, atol=1e-6)


@part(convolution + "convolve", convolution + "conv2d")
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_a_convolution_and_its_gradients(mytorch: ModuleType, geometry: dict[str, Any], groups: int) -> None:
    def function(torch: Any, x: Any, w: Any, b: Any) -> Any:
        return torch.nn.functional.conv2d(x, w, b, **geometry, groups=groups)

    agree(function, [numbers(2, 4, 9, 8), numbers(8, 4 // groups, 3, 2, seed=1), numbers(8, seed=2)], mytorch)


@part(convolution + "convolve_back", convolution + "conv_transpose2d")
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("geometry", [*GEOMETRIES, {"stride": 2, "output_padding": (1, 0)}])
def test_a_transposed_convolution_and_its_gradients(mytorch: ModuleType, geometry: dict[str, Any], groups: int) -> None:
    def function(torch: Any, x: Any, w: Any, b: Any) -> Any:
        return torch.nn.functional.conv_transpose2d(x, w, b, **geometry, groups=groups)

    agree(function, [numbers(2, 4, 5, 4), numbers(4, 6 // groups, 3, 2, seed=1), numbers(6, seed=2)], mytorch)


@part(convolution + "conv2d")
def test_one_image_alone_and_second_derivatives(mytorch: ModuleType) -> None:
    def curvature(torch: Any, x: Any, w: Any) -> Any:
        result = torch.nn.functional.conv2d(x, w, stride=2, padding=1)
        (grad,) = torch.autograd.grad((result**3).sum(), [x], create_graph=True)
        return grad

    agree(curvature, [numbers(2, 5, 6), numbers(3, 2, 3, 3, seed=1)], mytorch)


POOLS: dict[str, Callable[..., Any]] = {
    "max": lambda F, x: F.max_pool2d(x, 2),
    "max, overlapping": lambda F, x: F.max_pool2d(x, 3, 2, padding=1),
    "max, dilated": lambda F, x: F.max_pool2d(x, (2, 3), 1, dilation=2),
    "max of equal ones": lambda F, x: F.max_pool2d(x.round(), 3, 1),
    "max of one image": lambda F, x: F.max_pool2d(x[0], 2),
    "mean": lambda F, x: F.avg_pool2d(x, (3, 2)),
    "mean with padding": lambda F, x: F.avg_pool2d(x, 3, 2, 1),
    "adaptive": lambda F, x: F.adaptive_avg_pool2d(x, (4, 3)),
    "adaptive, one": lambda F, x: F.adaptive_avg_pool2d(x, 1),
}


@part(pooling + "max_pool2d", pooling + "avg_pool2d", pooling + "bounds")
@pytest.mark.parametrize("name", POOLS)
def test_a_pool_and_its_gradient(mytorch: ModuleType, name: str) -> None:
    agree(lambda torch, x: POOLS[name](torch.nn.functional, x), [numbers(2, 3, 9, 8)], mytorch)


CALLS: dict[str, Callable[[Any], Any]] = {
    "channels": lambda torch: torch.nn.functional.conv2d(torch.ones(1, 3, 8, 8), torch.ones(4, 2, 3, 3)),
    "channels of groups": lambda torch: torch.nn.functional.conv2d(
        torch.ones(1, 3, 8, 8), torch.ones(4, 2, 3, 3), groups=2
    ),
    "kernels and groups": lambda torch: torch.nn.functional.conv2d(
        torch.ones(1, 4, 8, 8), torch.ones(3, 2, 3, 3), groups=2
    ),
    "too small": lambda torch: torch.nn.functional.conv2d(
        torch.ones(1, 1, 5, 4), torch.ones(1, 1, 3, 3), padding=(0, 1), dilation=3
    ),
    "no image": lambda torch: torch.nn.functional.conv2d(torch.ones(5, 4), torch.ones(1, 1, 3, 3)),
    "stride 0": lambda torch: torch.nn.functional.conv2d(torch.ones(1, 5, 4), torch.ones(1, 1, 3, 3), stride=0),
    "padding": lambda torch: torch.nn.functional.conv2d(torch.ones(1, 5, 4), torch.ones(1, 1, 3, 3), padding=-1),
    "dilation": lambda torch: torch.nn.functional.conv2d(torch.ones(1, 5, 4), torch.ones(1, 1, 3, 3), dilation=-1),
    "three strides": lambda torch: torch.nn.functional.conv2d(
        torch.ones(1, 5, 4), torch.ones(1, 1, 3, 3), stride=(1, 1, 1)
    ),
    "transposed channels": lambda torch: torch.nn.functional.conv_transpose2d(
        torch.ones(1, 3, 8, 8), torch.ones(4, 2, 3, 3)
    ),
    "pool too large": lambda torch: torch.nn.functional.max_pool2d(torch.ones(2, 3, 3), 4),
    "pool in the padding": lambda torch: torch.nn.functional.max_pool2d(torch.ones(2, 3, 3), 2, padding=2),
    "no groups": lambda torch: torch.nn.Conv2d(3, 4, 3, groups=0),
    "groups of inputs": lambda torch: torch.nn.Conv2d(3, 4, 3, groups=2),
    "groups of outputs": lambda torch: torch.nn.Conv2d(4, 3, 3, groups=2),
    "printed": lambda torch: [
        torch.nn.Conv2d(1, 6, 5),
        torch.nn.Conv2d(4, 6, (3, 1), stride=2, padding=(1, 0), dilation=2, groups=2, bias=False),
        torch.nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1),
        torch.nn.MaxPool2d(3, 2, padding=1),
        torch.nn.AvgPool2d(2),
        torch.nn.AdaptiveAvgPool2d((1, 1)),
    ],
    "drawn": lambda torch: (
        torch.manual_seed(3),
        list(torch.nn.Conv2d(4, 2, (1, 3), groups=2).parameters()),
        [each.shape for each in torch.nn.ConvTranspose2d(4, 6, 3, groups=2).parameters()],
    )[1:],
}


@part(convolution + "windows_of", convolution + "check_channels", convolution + "check_fits", convolution + "as_batch")
@pytest.mark.parametrize("name", CALLS)
def test_what_is_printed_and_raised(mytorch: ModuleType, name: str) -> None:
    same(CALLS[name], mytorch)


def test_what_is_refused_in_words_of_its_own(mytorch: ModuleType) -> None:
    """As PyTorch words it for images; minitorch words it alike for lines, images and volumes."""
    one = mytorch.ones(1, 1, 3, 3)
    with pytest.raises(RuntimeError, match=r"^output padding must be smaller than either stride or dilation"):
        mytorch.nn.functional.conv_transpose2d(one, one, stride=(2, 1), output_padding=1)
    with pytest.raises(RuntimeError, match=r"^non-empty 3D or 4D .batch mode. tensor expected for input$"):
        mytorch.nn.functional.avg_pool2d(mytorch.ones(3, 3), 2)


LAYERS: dict[str, Callable[[Any], Any]] = {
    "Conv2d": lambda nn: nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=1, groups=2),
    "ConvTranspose2d": lambda nn: nn.ConvTranspose2d(4, 6, (3, 2), stride=(2, 1), padding=1, groups=2),
    "pools": lambda nn: nn.Sequential(nn.MaxPool2d(3, 2, padding=1), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d((2, 1))),
}


@part(convolution + "convolve", convolution + "convolve_back")
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_with_the_same_seed_and_state(mytorch: ModuleType, name: str) -> None:
    def function(torch: Any, x: Any) -> Any:
        torch.manual_seed(0)
        return LAYERS[name](torch.nn)(x)

    agree(function, [numbers(2, 4, 9, 8)], mytorch)


def lenet(library: ModuleType) -> Any:
    """minitorch's LeNet, written for this library by nothing but its imports."""
    text = inspect.getsource(minitorch.models.lenet).replace("minitorch", library.__name__)
    namespace: dict[str, Any] = {"__name__": "lenet"}
    exec(compile(text, "lenet", "exec"), namespace)
    return namespace["LeNet"]


@part(convolution + "im2col", convolution + "col2im", convolution + "convolve")
def test_lenet_is_minitorchs(mytorch: ModuleType) -> None:
    assert sys.modules["mytorch"] is mytorch

    def function(torch: Any, x: Any) -> Any:
        torch.manual_seed(0)
        return lenet(torch)()(x)

    agree(function, [numbers(3, 1, 32, 32)], mytorch)
