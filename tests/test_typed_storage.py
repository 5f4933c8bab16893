"""TypedStorage, which PyTorch has deprecated and older programs print, and other words that PyTorch chooses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch

pytestmark = [pytest.mark.needs("torch"), pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")]


def said(run: Callable[[Any], Any], torch: Any) -> str:
    try:
        return repr(run(torch))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(
    "run",
    [
        lambda t: t.tensor([[1, 2], [3, 4]])[1].storage(),
        lambda t: t.tensor([0.5, 2.0], dtype=t.bfloat16).storage(),
        lambda t: t.ones(0).storage(),
        lambda t: t.arange(6.0).storage()[-1],
        lambda t: t.arange(6.0).storage()[6],
        lambda t: t.arange(6.0).storage()[1:],
        lambda t: [len(t.ones(3).storage()), t.ones(3).storage().nbytes(), t.ones(3).storage().dtype],
        lambda t: (x := t.ones(3), x.storage().fill_(2.0), x.storage().__setitem__(0, 5.0), x)[-1],
        lambda t: (x := t.ones(3), x.storage().clone().fill_(2.0), x)[-1],
        lambda t: (x := t.ones(3), x.storage().data_ptr() == x.view(3, 1).storage().data_ptr())[-1],
        lambda t: t.ones(2).storage().untyped(),
        lambda t: type(t.ones(2, 3).shape),
        lambda t: t.from_numpy(np.array(["a", "bc"])),
        lambda t: t.from_numpy(np.array([None])),
        lambda t: t.ones(2).repeat(1.5),
        lambda t: t.ones(2).repeat((1.5, 2)),
        lambda t: t.ones(2).repeat(2, -1),
    ],
)
def test_says_what_torch_says(run: Callable[[Any], Any]) -> None:
    import torch

    assert said(run, minitorch) == said(run, torch)
