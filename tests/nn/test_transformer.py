"""What a stack of encoder layers does with padding, and what it warns of."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import minitorch
from tests.nn.beyond import LINEAR
from tests.same import exactly_the_same

torch = pytest.importorskip("torch", reason="torch is the oracle: pip install torch==2.13.0")

ENDS = [[0, 0, 0, 0, 1], [0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]
MIDDLE = [[0, 1, 0, 0, 1], [0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]


def encoded(
    lib: Any, padding: list[list[int]], layer: dict[str, Any], stack: dict[str, Any], grad: bool, mode: str
) -> Any:
    lib.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        norm = lib.nn.LayerNorm(8) if stack.pop("norm", False) else None
        layers = lib.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, **{"batch_first": True, **layer})
        encoder = lib.nn.TransformerEncoder(layers, 2, norm, **stack)
        encoder.train(mode == "train")
        if norm is not None:
            lib.nn.init.ones_(norm.bias)
        mask = lib.tensor(padding).bool()
        with lib.set_grad_enabled(grad):
            return encoder(lib.randn(3, 5, 8), src_key_padding_mask=mask).detach().numpy()


@LINEAR
@pytest.mark.parametrize("padding", [ENDS, MIDDLE], ids=["at the ends", "in the middle"])
@pytest.mark.parametrize(
    ("layer", "stack", "grad", "mode"),
    [
        ({}, {}, False, "eval"),
        ({"activation": "gelu"}, {"norm": True}, False, "eval"),
        ({}, {"enable_nested_tensor": False}, False, "eval"),
        ({"norm_first": True}, {}, False, "eval"),
        ({}, {}, True, "eval"),
        ({}, {}, False, "train"),
    ],
)
def test_padding_comes_out_as_in_torch(
    padding: list[list[int]], layer: dict[str, Any], stack: dict[str, Any], grad: bool, mode: str
) -> None:
    theirs, ours = (encoded(lib, padding, layer, {**stack}, grad, mode) for lib in (torch, minitorch))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=2e-6)


@LINEAR
@pytest.mark.parametrize(
    "options",
    [
        {"norm_first": True},
        {},
        {"batch_first": True, "bias": False},
        {"batch_first": True, "activation": torch.tanh},
        {"batch_first": True, "nhead": 1},
    ],
)
@exactly_the_same
def test_warns_of_what_keeps_padding_in(lib: Any, options: dict[str, Any]) -> Any:
    given = {**options, "activation": lib.tanh} if "activation" in options else options
    layer = lib.nn.TransformerEncoderLayer(8, **{"nhead": 2, "dim_feedforward": 16, **given})
    with pytest.warns(UserWarning, match="enable_nested_tensor is True") as caught:
        lib.nn.TransformerEncoder(layer, 1)
    return [str(each.message) for each in caught]
