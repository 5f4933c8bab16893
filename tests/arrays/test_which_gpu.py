"""Which GPU is meant where none is named, which there are, and when they begin to be used: simulated ones."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import minitorch as torch


@pytest.fixture(autouse=True)
def four_gpus(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    torch.cuda.simulate(4, memory=1 << 24)
    yield
    torch.set_default_device(None)
    torch.cuda.simulate(0)


def test_the_default_device_follows_the_current_gpu() -> None:
    torch.set_default_device("cuda")
    assert repr(torch.get_default_device()) == "device(type='cuda', index=0)"
    torch.cuda.set_device(1)
    assert repr(torch.get_default_device()) == "device(type='cuda', index=1)"
    assert str(torch.zeros(1).device) == "cuda:1"
    torch.set_default_device("cuda:0")
    assert (str(torch.get_default_device()), str(torch.zeros(1).device)) == ("cuda:0", "cuda:0")


def test_a_default_device_moves_tensors_and_leaves_old_constructors() -> None:
    on_cpu, on_gpu = torch.ones(2), torch.ones(2, device="cuda:2")
    with torch.device("cuda:1"):
        made = [
            torch.as_tensor(on_cpu),
            torch.asarray(on_gpu),
            torch.as_tensor([1.0]),
            torch.as_tensor(on_gpu.tolist()),
        ]
        assert {str(each.device) for each in made} == {"cuda:1"}
        assert str(torch.as_tensor(on_gpu, device="cuda:2").device) == "cuda:2"
        assert {str(each.device) for each in (torch.Tensor([1.0]), torch.FloatTensor([1.0]))} == {"cpu"}
    with torch.device("cpu"):
        assert str(torch.as_tensor(on_gpu).device) == "cpu"
    assert torch.as_tensor(on_gpu) is on_gpu


def test_all_gpus_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert (torch.cuda.is_available(), torch.cuda.device_count()) == (False, 0)
    for call in (lambda: torch.zeros(1, device="cuda"), torch.cuda.init, torch.cuda.current_device):
        with pytest.raises(RuntimeError, match=r"^No CUDA GPUs are available$"):
            call()


def test_what_is_visible_may_change_until_a_gpu_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert torch.cuda.device_count() == 4
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    assert (torch.cuda.device_count(), torch.cuda.is_initialized()) == (2, False)
    assert str(torch.zeros(1, device="cuda:1").device) == "cuda:1"
    with pytest.raises(RuntimeError, match=r"^CUDA error: invalid device ordinal"):
        torch.zeros(1, device="cuda:2")
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"
    assert torch.cuda.device_count() == 2


def test_a_seed_doesnt_use_the_gpu() -> None:
    torch.cuda.manual_seed(6)
    assert not torch.cuda.is_initialized()
    assert (torch.cuda.initial_seed(), torch.cuda.is_initialized()) == (6, True)
