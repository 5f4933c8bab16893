"""Averaged weights against torch."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.same import same, same_within


def oracle() -> Any:
    return pytest.importorskip("torch", reason="torch is the oracle of the averages: pip install torch==2.13.0")


def swa_of(lib: Any) -> Any:
    return importlib.import_module(f"{lib.__name__}.optim.swa_utils")


def network(lib: Any) -> Any:
    lib.manual_seed(0)
    return lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.BatchNorm1d(4), lib.nn.Linear(4, 2))


def change(lib: Any, model: Any, step: int) -> None:
    random = np.random.default_rng(step)
    for each in [*model.parameters(), *model.buffers()]:
        if not each.is_floating_point():
            each.add_(step)
        else:
            each.detach().copy_(lib.from_numpy(np.asarray(random.normal(size=tuple(each.shape)), np.float32)))


def of_one_type(averaged: Any, current: Any, count: Any) -> None:
    assert len({each.dtype for each in (*averaged, *current)}) == 1
    for one, new in zip(averaged, current, strict=True):
        one.copy_((one + 2 * new) / (count + 2))


AVERAGES: dict[str, Callable[[Any, Any], Any]] = {
    "mean": lambda s, model: s.AveragedModel(model),
    "mean with buffers": lambda s, model: s.AveragedModel(model, use_buffers=True),
    "ema": lambda s, model: s.AveragedModel(model, avg_fn=s.get_ema_avg_fn(0.9)),
    "ema of lists": lambda s, model: s.AveragedModel(model, multi_avg_fn=s.get_ema_multi_avg_fn(0.9), use_buffers=True),
    "swa of lists": lambda s, model: s.AveragedModel(model, multi_avg_fn=s.get_swa_multi_avg_fn()),
    "ema with buffers": lambda s, model: s.AveragedModel(model, avg_fn=s.get_ema_avg_fn(0.9), use_buffers=True),
    "own of lists": lambda s, model: s.AveragedModel(model, multi_avg_fn=of_one_type, use_buffers=True),
    "own": lambda s, model: s.AveragedModel(model, avg_fn=lambda averaged, new, n: averaged * 0.5 + new * (n + 1)),
}


@pytest.mark.parametrize("name", AVERAGES)
@same_within(1e-6)
def test_averages(torch: Any, name: str) -> Any:
    model = network(torch)
    averaged = AVERAGES[name](swa_of(torch), model)
    for step in range(4):
        change(torch, model, step)
        averaged.update_parameters(model)
    return averaged.state_dict()


@same_within(1e-6)
def test_update_bn(torch: Any) -> Any:
    model = network(torch).eval()
    change(torch, model, 0)
    batches = np.random.default_rng(0).normal(size=(3, 5, 3)).astype(np.float32)
    swa_of(torch).update_bn([(torch.from_numpy(batch), 0) for batch in batches], model)
    return model.training, model[1].momentum, model[1].running_mean, model[1].running_var


@pytest.mark.parametrize(
    "options", [{}, {"anneal_epochs": 3}, {"anneal_strategy": "linear"}, {"anneal_epochs": 0}], ids=str
)
@pytest.mark.filterwarnings("ignore")
@same_within(1e-12)
def test_swalr(torch: Any, options: dict[str, Any]) -> Any:
    first, second = (torch.from_numpy(np.ones(1, np.float32)).requires_grad_() for _ in range(2))
    optimizer = torch.optim.SGD([{"params": [first]}, {"params": [second], "lr": 0.5}], lr=0.1)
    scheduler = swa_of(torch).SWALR(optimizer, [0.02, 0.9], **options)
    rates = [scheduler.get_last_lr()]
    for _ in range(13):
        optimizer.step()
        scheduler.step()
        rates.append(scheduler.get_last_lr())
    return rates


def twice(averaged: Any, model: Any) -> None:
    for _ in range(2):
        averaged.update_parameters(model)


INVALID: list[Callable[[Any, Any, Any], Any]] = [
    lambda s, model, optimizer: s.SWALR(optimizer, [0.1, 0.2]),
    lambda s, model, optimizer: s.SWALR(optimizer, 0.1, anneal_strategy="sin"),
    lambda s, model, optimizer: s.SWALR(optimizer, 0.1, anneal_epochs=-1),
    lambda s, model, optimizer: s.get_ema_avg_fn(2),
    lambda s, model, optimizer: s.get_ema_multi_avg_fn(-1),
    lambda s, model, optimizer: s.AveragedModel(model, avg_fn=max, multi_avg_fn=max),
    lambda s, model, optimizer: s.SWALR(optimizer, 0.1, anneal_epochs=1.5),
    lambda s, model, optimizer: s.SWALR(optimizer, "x"),
    lambda s, model, optimizer: s.SWALR(optimizer, 0.1, last_epoch=3),
    lambda s, model, optimizer: s.get_ema_avg_fn("x"),
    lambda s, model, optimizer: s.get_swa_multi_avg_fn()(
        [model[1].num_batches_tracked] * 2, [model[1].num_batches_tracked] * 2, 1
    ),
    lambda s, model, optimizer: twice(
        s.AveragedModel(model, multi_avg_fn=s.get_swa_multi_avg_fn(), use_buffers=True), model
    ),
]


@pytest.mark.parametrize("number", range(len(INVALID)))
@same
def test_errors_are_torchs(torch: Any, number: int) -> Any:
    model = network(torch)
    with pytest.raises(Exception) as caught:
        INVALID[number](swa_of(torch), model, torch.optim.SGD(model.parameters(), lr=0.1))
    return caught.type.__name__, str(caught.value)
