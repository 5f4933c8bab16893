"""torch.Size."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import minitorch
from tests.same import errors, exactly_the_same

torch = pytest.importorskip("torch", reason="the expected values are torch's")


@pytest.mark.parametrize(
    "action",
    [
        lambda Size: Size([2, 3, 4]),
        lambda Size: Size([]),
        lambda Size: Size((2, 3, 4))[1:],
        lambda Size: Size((2, 3, 4))[-1],
        lambda Size: Size((2, 3)) + minitorch.Size((4,)),
        lambda Size: Size((2, 3)) * 2,
        lambda Size: Size((2, 3)).numel(),
        lambda Size: Size(()).numel(),
        lambda Size: Size((2, 3)) == (2, 3),
        lambda Size: hash(Size((2, 3))) == hash((2, 3)),
        lambda Size: list(Size((2, 3))),
    ],
)
def test_behaves_and_prints_as_pytorchs(action: Any) -> None:
    expected, actual = action(torch.Size), action(minitorch.Size)
    assert repr(actual) == repr(expected)
    assert type(actual).__name__ == type(expected).__name__


def test_pickles() -> None:
    again = pickle.loads(pickle.dumps(minitorch.Size((2, 3))))
    assert again == (2, 3) and isinstance(again, minitorch.Size)


@pytest.mark.parametrize("sizes", [["a"], [1.5], [None], [2, []], 3, [True, -1]])
@exactly_the_same
def test_refuses_what_are_no_ints(module: Any, sizes: Any) -> Any:
    return errors(lambda: module.Size(sizes))


@exactly_the_same
def test_takes_integer_tensors(module: Any) -> Any:
    return errors(lambda: module.Size(module.tensor([2, 3])), lambda: module.Size(module.tensor([1.5])))


BOOLS = """
    torch.zeros(True) | torch.ones((True,)) | torch.zeros(2, True) | torch.zeros(True, 2) | torch.full((True,), 1.0)
    torch.empty((2, True)).shape | torch.rand(True) | torch.randn((True,)) | torch.randint(3, (True,)) | torch.eye(True)
    torch.randint(True, (2,)) | torch.randperm(True) | torch.linspace(0, 1, True) | torch.tril_indices(2, True)
    torch.empty_strided((2,), (True,)) | x.new_zeros(True) | x.new_ones(2, True) | torch.arange(True)
    x.view(True, 6) | x.view(6, True) | x.reshape((True, 6)) | x.reshape(6, True) | x.expand(True, 2, 3)
    x.expand(2, True, 2, 3) | x.repeat(True, 2) | x.repeat(2, True) | x.tile(True) | x.tile(2, True)
    x.narrow(0, True, 1) | x.narrow(0, 0, True) | x.split(True) | x.split((True, 1)) | x.split((1, True))
    x.chunk(True) | x.tensor_split(True) | x.tensor_split((0, True)) | x.hsplit((True,)) | x.unflatten(1, (True, 3))
    x.unflatten(1, (3, True)) | x.unfold(0, True, 1) | x.unfold(0, 1, True) | x.topk(True) | x.topk(k=True)
    x.kthvalue(True) | x.as_strided((True,), (1,)) | x.as_strided((2, True), (1, 1)) | x.as_strided((2,), (1,), True)
    x.select(0, True) | x.roll(True) | x.roll((1, True), (0, 1)) | x.roll((True, 1), (0, 1)) | x.diff(True)
    x.diagonal(True) | x.permute(0, True) | x.permute(True, 0) | x.flip(0, True) | x.flip(True) | x.rot90(1, (0, True))
    x.sum((0, True)) | x.sum((True, 0)) | x.sum(True) | x.amax((0, True)) | x.var((0, True)) | x.squeeze((0, True))
    x.transpose(0, True) | x.movedim((0, 1), (1, False)) | torch.fft.fft(x, True) | torch.fft.fftn(x, (2, True))
    torch.fft.fftn(x, None, (0, True)) | torch.fft.fftshift(x, (0, True)) | torch.fft.fftfreq(True)
    torch.nn.functional.pad(x, (True, 1)) | torch.nn.functional.pad(x, (1, True))
    torch.nn.functional.avg_pool2d(x[None], (1, True)) | torch.nn.functional.max_pool2d(x[None], (True, 1))
    torch.nn.functional.conv1d(x, x[:, :, None].mT, stride=True) | torch.nn.functional.layer_norm(x, (True,))
    torch.nn.functional.interpolate(x[None], True)
"""


@pytest.mark.parametrize("line", [line.strip() for line in BOOLS.replace("|", "\n").strip().splitlines()])
@exactly_the_same
def test_a_bool_is_refused_but_behind_the_first_size(module: Any, line: str) -> Any:
    x = module.arange(6.0).view(2, 3)
    try:
        return eval(line, {"torch": module, "x": x})
    except TypeError:
        return "TypeError"
