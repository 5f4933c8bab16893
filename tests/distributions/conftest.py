"""PyTorch checks the arguments of distributions until something is compiled, which ends that for the process."""

from __future__ import annotations

import pytest

from tests.conftest import missing_torch


@pytest.fixture(autouse=True)
def torch_validates() -> None:
    if missing_torch() is None:
        import torch

        torch.distributions.Distribution.set_default_validate_args(True)
