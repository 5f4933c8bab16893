"""Every learning rate scheduler against torch."""

from __future__ import annotations

import importlib
import math
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch.optim
from tests.same import same_within

EPOCHS = 30
Make = Callable[[Any, Any], Any]


class Halving:
    """A callable object, whose attributes schedulers save."""

    def __init__(self) -> None:
        self.base = 0.5

    def __call__(self, epoch: float) -> float:
        return self.base**epoch


# Each takes the module lr_scheduler and an optimizer.
SCHEDULERS: dict[str, Make] = {
    "StepLR": lambda s, o: s.StepLR(o, 4),
    "StepLR gamma": lambda s, o: s.StepLR(o, 3, gamma=0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [3, 7, 7, 20], gamma=0.5),
    "ConstantLR": lambda s, o: s.ConstantLR(o),
    "ConstantLR options": lambda s, o: s.ConstantLR(o, factor=0.5, total_iters=10),
    "LinearLR": lambda s, o: s.LinearLR(o),
    "LinearLR options": lambda s, o: s.LinearLR(o, start_factor=0.9, end_factor=0.1, total_iters=12),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o),
    "PolynomialLR options": lambda s, o: s.PolynomialLR(o, total_iters=20, power=2.0),
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 0.9**epoch),
    "LambdaLR each": lambda s, o: s.LambdaLR(o, [lambda epoch: 1 / (1 + epoch), Halving()]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.95),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 10),
    "CosineAnnealingLR eta_min": lambda s, o: s.CosineAnnealingLR(o, 7, eta_min=0.01),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5),
    "CosineAnnealingWarmRestarts T_mult": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, T_mult=2, eta_min=0.01),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, 0.1, step_size_up=4),
    "CyclicLR down": lambda s, o: s.CyclicLR(o, 0.01, [0.1, 0.2], step_size_up=4, step_size_down=3, mode="triangular2"),
    "CyclicLR exp_range": lambda s, o: s.CyclicLR(o, 0.01, 0.1, step_size_up=4, mode="exp_range", gamma=0.9),
    "CyclicLR scale_fn": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 4, scale_fn=Halving(), scale_mode="iterations"),
    "CyclicLR alone": lambda s, o: s.CyclicLR(o, 0.01, 0.1, step_size_up=4, cycle_momentum=False),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=EPOCHS + 1),
    "OneCycleLR linear": lambda s, o: s.OneCycleLR(
        o, [0.1, 0.3], epochs=4, steps_per_epoch=9, anneal_strategy="linear"
    ),
    "OneCycleLR phases": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=40, three_phase=True, pct_start=0.4),
    "OneCycleLR alone": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=40, cycle_momentum=False, div_factor=5),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=4), s.CosineAnnealingLR(o, 10), s.ExponentialLR(o, 0.5)], [5, 18]
    ),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 6), s.ExponentialLR(o, 0.9)]),
    "nested": lambda s, o: s.SequentialLR(
        o, [s.ChainedScheduler([s.ConstantLR(o, 0.1, 3), s.StepLR(o, 2)]), s.LinearLR(o)], [6]
    ),
}
OPTIMIZERS: dict[str, Callable[[Any, Any], Any]] = {
    "SGD": lambda lib, groups: lib.optim.SGD(groups, lr=0.5, momentum=0.9),
    "Adam": lambda lib, groups: lib.optim.Adam(groups, lr=0.5),
}


def oracle() -> Any:
    return pytest.importorskip("torch", reason="torch is the oracle of the schedulers: pip install torch==2.13.0")


def optimizer_of(lib: Any, kind: str = "SGD") -> Any:
    first, second = (lib.from_numpy(np.ones(2, np.float32)).requires_grad_() for _ in range(2))
    return OPTIMIZERS[kind](lib, [{"params": [first]}, {"params": [second], "lr": 0.2}])


def schedulers_of(lib: Any) -> Any:
    return importlib.import_module(f"{lib.__name__}.optim.lr_scheduler")


def options(optimizer: Any) -> list[Any]:
    return [
        {name: value for name, value in group.items() if name in ("lr", "betas", "momentum", "initial_lr", "max_lr")}
        for group in optimizer.param_groups
    ]


def flat(value: Any) -> Any:
    """Numbers in nested containers, for a comparison within rounding."""
    if isinstance(value, dict):
        return [flat(each) for each in value.values()]
    if isinstance(value, (list, tuple)):
        return [flat(each) for each in value]
    return pytest.approx(value, rel=1e-12, abs=1e-15) if isinstance(value, float) else value


def run(lib: Any, make: Make, kind: str = "SGD", epochs: int = EPOCHS) -> tuple[Any, list[Any]]:
    optimizer = optimizer_of(lib, kind)
    scheduler = make(schedulers_of(lib), optimizer)
    history = [[options(optimizer), list(scheduler.get_last_lr())]]
    for _ in range(epochs):
        optimizer.step()
        scheduler.step()
        history.append([options(optimizer), list(scheduler.get_last_lr())])
    return scheduler, history


def unfold(value: Any) -> Any:
    if isinstance(value, dict):
        return [unfold(each) for each in value.values()]
    return [unfold(each) for each in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("name", SCHEDULERS)
def test_rates_are_torchs(name: str, kind: str) -> None:
    torch = oracle()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, expected = run(torch, SCHEDULERS[name], kind)
        ours, history = run(minitorch, SCHEDULERS[name], kind)
    for epoch, (one, other) in enumerate(zip(expected, history, strict=True)):
        assert unfold(other) == flat(one), f"epoch {epoch}"
    assert state_names(theirs.state_dict()) <= state_names(ours.state_dict())


def state_names(state: dict[str, Any]) -> set[str]:
    """What a scheduler saves, but for flags that are only set while it steps."""
    return set(state) - {"_get_lr_called_within_step", "_is_initial"}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_state_survives_saving(name: str) -> None:
    """Loaded into a new scheduler on an equal optimizer, the state continues the schedule; torch's state does too."""
    torch = oracle()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, expected = run(torch, SCHEDULERS[name], epochs=12)
        for lib in (torch, minitorch):
            saved, _ = run(lib, SCHEDULERS[name], epochs=6)
            state = pickle.loads(pickle.dumps(saved.state_dict()))
            optimizer = optimizer_of(minitorch)
            scheduler = SCHEDULERS[name](schedulers_of(minitorch), optimizer)
            for group, before in zip(optimizer.param_groups, saved.optimizer.param_groups, strict=True):
                group.update({key: value for key, value in before.items() if key != "params"})
            scheduler.load_state_dict(state)
            for epoch in range(7, 13):
                optimizer.step()
                scheduler.step()
                assert unfold([options(optimizer), scheduler.get_last_lr()]) == flat(expected[epoch])


@pytest.mark.parametrize(
    "name", ["StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR", "PolynomialLR", "CosineAnnealingLR",
             "CosineAnnealingWarmRestarts", "CosineAnnealingWarmRestarts T_mult", "LambdaLR", "CyclicLR"]
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
@same_within(1e-12)
def test_jumping_to_an_epoch(torch: Any, name: str) -> Any:
    optimizer = optimizer_of(torch)
    scheduler = SCHEDULERS[name](schedulers_of(torch), optimizer)
    optimizer.step()
    rates = []
    for epoch in (3, 11, 4, 0, 8):
        scheduler.step(epoch)
        rates.append(options(optimizer))
    return rates


@pytest.mark.parametrize(
    "name, arguments",
    [("StepLR", (2,)), ("ExponentialLR", (0.5,)), ("LinearLR", ()), ("CosineAnnealingLR", (10,)), ("ConstantLR", ()),
     ("PolynomialLR", ())]
)  # fmt: skip
@same_within(1e-12)
def test_resuming_by_last_epoch(torch: Any, name: str, arguments: tuple[Any, ...]) -> Any:
    optimizer = optimizer_of(torch)
    for group in optimizer.param_groups:
        group["initial_lr"] = 1.0
    scheduler = getattr(schedulers_of(torch), name)(optimizer, *arguments, last_epoch=3)
    rates = [options(optimizer)]
    for _ in range(4):
        optimizer.step()
        scheduler.step()
        rates.append(options(optimizer))
    return rates


PLATEAUS: list[dict[str, Any]] = [
    {},
    {"patience": 1},
    {"patience": 0, "factor": 0.5, "cooldown": 3},
    {"patience": 1, "mode": "max", "threshold": 0.3},
    {"patience": 1, "threshold_mode": "abs", "threshold": 0.5},
    {"patience": 1, "mode": "max", "threshold_mode": "abs"},
    {"patience": 0, "min_lr": [0.1, 0.02]},
    {"patience": 0, "min_lr": 0.04, "eps": 0.05},
]


METRICS = [3, 2, 1, 1.5, math.nan, 0.5, 0.6, 0.45, 0.7, 0.7, 0.7, 0.7, 0.2, 0.3, 0.3, 0.3, math.inf, *[1.0] * 14]


@pytest.mark.parametrize("given", PLATEAUS, ids=str)
@same_within(1e-12)
def test_plateau(torch: Any, given: dict[str, Any]) -> Any:
    optimizer = optimizer_of(torch)
    scheduler = schedulers_of(torch).ReduceLROnPlateau(optimizer, **given)
    history = []
    for number, metric in enumerate(METRICS):
        scheduler.step(metric)
        history.append([options(optimizer), scheduler.get_last_lr(), scheduler.num_bad_epochs, scheduler.in_cooldown])
        if number == 9:
            scheduler.load_state_dict(pickle.loads(pickle.dumps(scheduler.state_dict())))
    return history


def exhaust(scheduler: Any) -> None:
    for _ in range(5):
        scheduler.step()


def ordered(optimizer: Any, scheduler: Any) -> Any:
    """The right order of steps, and what the scheduler and the optimizer then say."""
    for _ in range(2):
        optimizer.step()
        scheduler.step()
    return scheduler.get_last_lr(), options(optimizer)


def overridden(optimizer: Any, scheduler: Any) -> Any:
    optimizer.step = lambda: None
    return scheduler.step()


def loading(scheduler: Any, state: Any) -> Any:
    scheduler.load_state_dict(state)
    return scheduler.state_dict()


def with_another_group(optimizer: Any, scheduler: Any, *metric: float) -> Any:
    optimizer.add_param_group({"params": type(optimizer.param_groups[0]["params"][0])(1)})
    optimizer.step()
    for _ in range(3):
        scheduler.step(*metric)
    return options(optimizer)


LINES: list[Make] = [
    lambda s, o: s.StepLR("optimizer", 3),
    lambda s, o: s.StepLR(o, 3, last_epoch=2),
    lambda s, o: s.ConstantLR(o, factor=2),
    lambda s, o: s.LinearLR(o, start_factor=0),
    lambda s, o: s.LinearLR(o, end_factor=2),
    lambda s, o: s.LambdaLR(o, [lambda epoch: 1]),
    lambda s, o: s.MultiplicativeLR(o, 3),
    lambda s, o: s.MultiplicativeLR(o, [len]),
    lambda s, o: s.CosineAnnealingWarmRestarts(o, 0),
    lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, T_mult=0),
    lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, eta_min="x"),
    lambda s, o: s.CosineAnnealingWarmRestarts(o, 3).step(-2),
    lambda s, o: s.CyclicLR(o, [0.1], 0.2),
    lambda s, o: s.CyclicLR(o, 0.1, 0.2, mode="square"),
    lambda s, o: s.OneCycleLR(o, 0.1),
    lambda s, o: s.OneCycleLR(o, 0.1, total_steps=0),
    lambda s, o: s.OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=3),
    lambda s, o: s.OneCycleLR(o, 0.1, epochs=3, steps_per_epoch=-1),
    lambda s, o: s.OneCycleLR(o, 0.1, total_steps=10, pct_start=2),
    lambda s, o: s.OneCycleLR(o, 0.1, total_steps=10, anneal_strategy="sin"),
    lambda s, o: exhaust(s.OneCycleLR(o, 0.1, total_steps=3)),
    lambda s, o: s.SequentialLR(o, [], []),
    lambda s, o: s.SequentialLR(o, [s.StepLR(o, 3)], [3]),
    lambda s, o: s.SequentialLR(o, ["scheduler"], []),
    lambda s, o: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []),
    lambda s, o: s.ChainedScheduler([]),
    lambda s, o: s.ReduceLROnPlateau(o, factor=1),
    lambda s, o: s.ReduceLROnPlateau(o, mode="best"),
    lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="best"),
    lambda s, o: s.ReduceLROnPlateau(o, min_lr=[0.1]),
    lambda s, o: s.ReduceLROnPlateau("optimizer"),
    lambda s, o: s.LambdaLR("optimizer", abs),
    lambda s, o: s.LambdaLR(o, 3),
    lambda s, o: s.MultiplicativeLR(o, [1, 2, 3]),
    lambda s, o: s.MultiStepLR(o, 3),
    lambda s, o: exhaust(s.ExponentialLR(o, "x")),
    lambda s, o: s.CyclicLR("optimizer", 0.1, 0.2),
    lambda s, o: s.CyclicLR(o, 0.1, 0.2, step_size_up="x"),
    lambda s, o: s.OneCycleLR(o, 0.1, total_steps="5"),
    lambda s, o: s.OneCycleLR(o, 0.1, total_steps=2.5),
    lambda s, o: s.OneCycleLR(o, 0.1, epochs="5", steps_per_epoch=1),
    lambda s, o: s.ReduceLROnPlateau(o, mode=["min"]),
    lambda s, o: s.ReduceLROnPlateau(o, mode=3),
    lambda s, o: s.ReduceLROnPlateau(o, threshold="x").step(1.0),
    lambda s, o: s.ReduceLROnPlateau(o).step(),
    lambda s, o: s.ReduceLROnPlateau(o).step("x"),
    lambda s, o: s.ReduceLROnPlateau(o).step(o.param_groups[0]["params"][0].detach()),
    lambda s, o: s.ReduceLROnPlateau(o).step(1.0, epoch=4),
    lambda s, o: s.ReduceLROnPlateau(o).get_lr(),
    lambda s, o: s.ReduceLROnPlateau(o).get_last_lr(),
    lambda s, o: with_another_group(o, s.ReduceLROnPlateau(o, patience=0), 1.0),
    lambda s, o: with_another_group(o, s.ReduceLROnPlateau(o, patience=0, min_lr=[0, 0.1]), 1.0),
    lambda s, o: with_another_group(o, s.StepLR(o, 2)),
    lambda s, o: loading(s.ReduceLROnPlateau(o), {"mode": "max"}),
    lambda s, o: loading(s.ReduceLROnPlateau(o), {"mode": "best"}),
    lambda s, o: loading(s.StepLR(o, 2), 3),
    lambda s, o: loading(s.LambdaLR(o, lambda epoch: 1), {}),
    lambda s, o: loading(s.ChainedScheduler([s.StepLR(o, 2)]), {"_schedulers": []}),
    lambda s, o: s.ChainedScheduler([s.StepLR(o, 2), 3]),
    lambda s, o: s.ChainedScheduler([s.StepLR(o, 2), s.ReduceLROnPlateau(o)]),
    lambda s, o: s.SequentialLR(o, [s.ConstantLR(o, 0.1), s.ExponentialLR(o, 0.5)], [0]).get_last_lr(),
    lambda s, o: s.SequentialLR(o, [s.StepLR(o, 2), s.ExponentialLR(o, 0.5)], ["x"]),
    lambda s, o: s.LRScheduler(o),
    lambda s, o: s.StepLR(o, 2).step(),
    lambda s, o: exhaust(s.StepLR(o, 2)),
    lambda s, o: (o.step(), exhaust(s.StepLR(o, 2))),
    lambda s, o: overridden(o, s.StepLR(o, 2)),
    lambda s, o: ordered(o, s.StepLR(o, 1)),
    lambda s, o: (s.StepLR(o, 1), ordered(o, s.ExponentialLR(o, 0.5)))[1],
    lambda s, o: s.StepLR(o, 2).step(3),
    lambda s, o: s.StepLR(o, 2).get_lr(),
    lambda s, o: isinstance(s.StepLR(o, 2), s._LRScheduler),
    lambda s, o: s.StepLR,
    lambda s, o: (s.StepLR(o, 1), pickle.loads(pickle.dumps(o)))[1],
    lambda s, o: sorted(s.__all__),
]


def said(lib: Any, line: Make) -> tuple[str, list[str]]:
    """The value or the error of a line, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = repr(line(schedulers_of(lib), optimizer_of(lib)))
        except Exception as error:
            value = f"{type(error).__name__}: {error}"
    return value.replace("minitorch", "torch"), [f"{each.category.__name__}: {each.message}" for each in caught]


def test_errors_and_warnings_are_torchs() -> None:
    torch = oracle()
    for number, line in enumerate(LINES):
        assert said(minitorch, line) == said(torch, line), f"line {number}"


def test_momentum_cycles_need_momentum() -> None:
    parameter = minitorch.from_numpy(np.ones(1, np.float32)).requires_grad_()
    optimizer = minitorch.optim.Adagrad([parameter])
    with pytest.raises(ValueError, match="must support momentum or beta1"):
        minitorch.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 0.2)


def test_scheduler_before_optimizer_warns() -> None:
    optimizer = optimizer_of(minitorch)
    scheduler = minitorch.optim.lr_scheduler.StepLR(optimizer, 3)
    with pytest.warns(UserWarning, match="before `optimizer.step\\(\\)`"):
        scheduler.step()


def test_get_lr_outside_step_warns() -> None:
    scheduler = minitorch.optim.lr_scheduler.StepLR(optimizer_of(minitorch), 3)
    with pytest.warns(UserWarning, match="please use `get_last_lr\\(\\)`"):
        scheduler.get_lr()


def test_tensor_rates_are_written_in_place() -> None:
    rate = minitorch.from_numpy(np.array(0.5, np.float32))
    parameter = minitorch.from_numpy(np.ones(1, np.float32)).requires_grad_()
    optimizer = minitorch.optim.SGD([parameter], lr=rate)
    scheduler = minitorch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is rate
    assert float(rate) == 0.25
    assert float(scheduler.get_last_lr()[0]) == 0.25
