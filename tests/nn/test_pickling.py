"""Whole modules in files: what one library saves, the other loads and goes on with."""

from __future__ import annotations

import copy
import io
import warnings
from typing import Any

import numpy as np
import pytest

import minitorch
from tests.nn.beyond import LINEAR, with_linear_marked

torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")

MODULES = {
    "Sequential(Linear(4, 8), ReLU(), Linear(8, 2))": (3, 4),
    "Sequential(Conv2d(3, 4, 3, padding=1), BatchNorm2d(4), MaxPool2d(2), Flatten(), Dropout(0.1))": (2, 3, 4, 4),
    "ConvTranspose2d(2, 3, 2)": (1, 2, 3, 3),
    "GroupNorm(2, 4)": (2, 4),
    "InstanceNorm2d(3, affine=True)": (1, 3, 4, 4),
    "AdaptiveAvgPool2d(1)": (1, 2, 3, 3),
    "RNN(4, 5, nonlinearity='relu')": (3, 2, 4),
    "LSTM(4, 5, 2, bidirectional=True, batch_first=True)": (2, 3, 4),
    "LSTM(4, 5, proj_size=3)": (2, 3, 4),
    "GRU(4, 5, bias=False)": (3, 2, 4),
    "LSTMCell(2, 3)": (2, 2),
    "TransformerEncoder(TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)": (2, 3, 8),
    "ModuleList([Linear(2, 2)])": None,
    "ModuleDict({'a': Linear(2, 2)})": None,
    "MultiheadAttention(8, 2)": None,
    "Transformer(8, 2, 1, 1, 16)": None,
    "Embedding(10, 4, padding_idx=0)": None,
    "CrossEntropyLoss()": None,
}


def made(lib: Any, code: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what torch's encoder cannot make faster
        return eval(code, vars(lib.nn)).eval()


def through_file(module: Any, saver: Any, loader: Any) -> Any:
    file = io.BytesIO()
    saver.save(module, file)
    file.seek(0)
    return loader.load(file, weights_only=False)


@pytest.mark.parametrize("code", with_linear_marked(MODULES))
@pytest.mark.parametrize(("saver", "loader"), [(torch, minitorch), (minitorch, torch)], ids=["from torch", "to torch"])
def test_a_module_moves_between_the_libraries(saver: Any, loader: Any, code: str) -> None:
    module = made(saver, code)
    loaded = through_file(module, saver, loader)
    assert type(loaded) is type(made(loader, code))
    assert repr(loaded) == repr(module)
    shape = MODULES[code]
    if shape is not None:
        data = np.random.default_rng(0).random(shape, dtype=np.float32)
        results = (module(saver.from_numpy(data)), loaded(loader.from_numpy(data)))
        ours, theirs = (each[0] if isinstance(each, tuple) else each for each in results)
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=2e-5, atol=2e-6)
    calls: list[int] = []
    loaded.register_forward_hook(lambda *_: calls.append(1)).remove()
    loaded.load_state_dict(copy.deepcopy(loaded).train().state_dict())
    again = through_file(loaded, loader, saver)
    assert [name for name, _ in again.named_parameters()] == [name for name, _ in module.named_parameters()]
    for (name, after), (_, before) in zip(again.state_dict().items(), module.state_dict().items(), strict=True):
        np.testing.assert_array_equal(after.numpy(), before.numpy(), err_msg=name)


@LINEAR
@pytest.mark.parametrize(("saver", "loader"), [(torch, minitorch), (minitorch, torch)], ids=["from torch", "to torch"])
def test_a_lazy_module_finds_its_size_in_the_other_library(saver: Any, loader: Any) -> None:
    loaded = through_file(made(saver, "LazyLinear(3)"), saver, loader)
    loaded.load_state_dict(loader.nn.Linear(4, 3).state_dict())
    assert loaded(loader.ones(2, 4)).shape == (2, 3)
    assert type(loaded) is loader.nn.Linear
    assert repr(loaded) == "Linear(in_features=4, out_features=3, bias=True)"


@LINEAR
@pytest.mark.parametrize(("saver", "loader"), [(torch, minitorch), (minitorch, torch)], ids=["from torch", "to torch"])
def test_a_hook_before_loading_is_called_in_the_other_library(saver: Any, loader: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        module = saver.nn.utils.spectral_norm(saver.nn.Linear(4, 3))
    loaded = through_file(module, saver, loader)
    state = {name: each for name, each in loaded.state_dict().items() if name != "weight_v"}
    state["weight"] = loaded.weight_orig.detach() / 2  # as before version 1, which had no v
    loaded.load_state_dict(state)
    sigma = loaded.weight_u @ (loaded.weight_orig @ loaded.weight_v)
    assert sigma.item() == pytest.approx(2, rel=1e-4)
