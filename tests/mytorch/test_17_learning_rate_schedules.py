"""Chapter 17 of mytorch against minitorch and PyTorch: the rates of all schedules, what is saved, averaged weights."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import minitorch
from tests.mytorch.compare import close, numbers, outcome, pytorch, same

part = pytest.mark.part
file = "mytorch.optim.lr_scheduler:"
base = file + "LRScheduler."
LIBRARIES = [each for each in (minitorch, pytorch) if each is not None]


def make_optimizer(torch: Any, kind: str = "SGD", **options: Any) -> Any:
    """An optimizer with two groups; their rates are 0.5 and 2."""
    a, b = (torch.zeros(1, requires_grad=True) for _ in range(2))
    return getattr(torch.optim, kind)([{"params": [a], "lr": 0.5}, {"params": [b], "lr": 2.0}], **options)


SCHEDULERS: dict[str, Callable[[Any, Any], Any]] = {
    "StepLR": lambda s, o: s.StepLR(o, 3),
    "StepLR, gamma": lambda s, o: s.StepLR(o, step_size=1, gamma=0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5, 9], gamma=0.5),
    "MultiStepLR, from the first": lambda s, o: s.MultiStepLR(o, [0, 4]),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "LinearLR": lambda s, o: s.LinearLR(o),
    "LinearLR, down": lambda s, o: s.LinearLR(o, start_factor=1.0, end_factor=0.0, total_iters=8),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 4),
    "CosineAnnealingLR, eta_min": lambda s, o: s.CosineAnnealingLR(o, T_max=5, eta_min=0.1),
    "CosineAnnealingLR, T_max 1": lambda s, o: s.CosineAnnealingLR(o, 1),
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 1 / (1 + epoch)),
    "LambdaLR, two": lambda s, o: s.LambdaLR(o, [lambda epoch: 0.5**epoch, lambda epoch: 1 - epoch / 20]),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 3.0, 16),
    "OneCycleLR, early": lambda s, o: s.OneCycleLR(o, max_lr=0.1, total_steps=20, pct_start=0.1),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=3), s.CosineAnnealingLR(o, 5), s.StepLR(o, 2)], [3, 9]
    ),
    "SequentialLR, at once": lambda s, o: s.SequentialLR(
        o, [s.ExponentialLR(o, 0.5), s.LambdaLR(o, lambda epoch: 2 + epoch)], milestones=[1]
    ),
}


def run(torch: Any, name: str, steps: int, resume: Any = None) -> Any:
    """The rates of each epoch, the optimizer and the scheduler. `resume` holds two state dicts."""
    optimizer = make_optimizer(torch, "SGD", momentum=0.9)
    scheduler = SCHEDULERS[name](torch.optim.lr_scheduler, optimizer)
    if resume is not None:
        optimizer.load_state_dict(resume[0])
        scheduler.load_state_dict(resume[1])
    rates = []
    for _ in range(steps):
        rates.append([(group["lr"], group["momentum"]) for group in optimizer.param_groups])
        optimizer.step()
        scheduler.step()
        assert scheduler.get_last_lr() == [group["lr"] for group in optimizer.param_groups]
    return rates, optimizer, scheduler


@part(base + "__init__", base + "step", file + "StepLR.get_lr", file + "CosineAnnealingLR._next")
@part(file + "LambdaLR.get_lr", file + "OneCycleLR.get_lr", file + "SequentialLR.step")
@part(base + "_update_lr", file + "SequentialLR._begin")
@pytest.mark.parametrize("name", SCHEDULERS)
def test_rates_are_pytorchs(mytorch: ModuleType, name: str) -> None:
    rates, _, scheduler = run(mytorch, name, 16)
    for library in LIBRARIES:
        expected, _, other = run(library, name, 16)
        close(rates, expected, rtol=1e-12, atol=1e-15)
        assert (scheduler.last_epoch, len(scheduler.state_dict()) > 2) == (other.last_epoch, True)


@part(base + "state_dict", base + "load_state_dict")
@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_schedule_goes_on_where_it_was_saved(mytorch: ModuleType, name: str) -> None:
    whole, _, _ = run(mytorch, name, 12)
    _, optimizer, scheduler = run(mytorch, name, 4)
    saved = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
    run(mytorch, name, 3, saved)
    close(run(mytorch, name, 8, saved)[0], whole[4:], rtol=1e-12)


@part(file + "watch")
def test_a_copy_of_an_optimizer_with_a_schedule_moves_its_own_parameters(mytorch: ModuleType) -> None:
    def moved(torch: ModuleType) -> list[float]:
        parameter = torch.tensor([1.0], requires_grad=True)
        optimizer = torch.optim.SGD([parameter], lr=0.5)
        torch.optim.lr_scheduler.StepLR(optimizer, 1)
        other, copied = copy.deepcopy((parameter, optimizer))
        other.grad = torch.tensor([1.0])
        copied.step()
        return [parameter.item(), other.item()]

    assert [moved(library) for library in (mytorch, *LIBRARIES)] == [[1.0, 0.5]] * (1 + len(LIBRARIES))


@pytest.mark.parametrize("name", ["StepLR", "MultiStepLR", "LinearLR", "CosineAnnealingLR", "LambdaLR", "SequentialLR"])
def test_state_is_exchanged_with_pytorch(mytorch: ModuleType, name: str) -> None:
    for library in LIBRARIES:
        whole, _, _ = run(library, name, 12)
        for one, other in ((mytorch, library), (library, mytorch)):
            _, optimizer, scheduler = run(one, name, 4)
            rates = [group["lr"] for group in optimizer.param_groups]
            state = scheduler.state_dict()
            fresh = make_optimizer(other, "SGD", momentum=0.9)
            resumed = SCHEDULERS[name](other.optim.lr_scheduler, fresh)
            resumed.load_state_dict(state)
            for group, rate in zip(fresh.param_groups, rates, strict=True):
                group["lr"] = rate
            for _ in range(8):
                close([group["lr"] for group in fresh.param_groups], [rate for rate, _ in whole[resumed.last_epoch]])
                fresh.step()
                resumed.step()


PLATEAUS: dict[str, dict[str, Any]] = {
    "defaults": {"patience": 2},
    "no patience": {"patience": 0, "factor": 0.5},
    "cooldown": {"patience": 1, "cooldown": 3},
    "maximum": {"mode": "max", "patience": 1},
    "relative": {"patience": 1, "threshold": 0.1},
    "absolute": {"patience": 1, "threshold": 0.2, "threshold_mode": "abs"},
    "maximum, relative": {"mode": "max", "patience": 1, "threshold": 0.1},
    "maximum, absolute": {"mode": "max", "patience": 1, "threshold": 0.2, "threshold_mode": "abs"},
    "lowest rate": {"patience": 0, "min_lr": 0.3},
    "eps": {"patience": 0, "eps": 0.1},
}
METRICS = [1.0, 0.8, 0.85, 0.75, 0.76, 0.74, 0.9, 1.1, 1.05, 1.3, 1.2, 1.2, 1.2, 0.2, 0.3, 0.19, 0.4, 0.4, 0.4, 0.4]


@part(file + "ReduceLROnPlateau.step")
@pytest.mark.parametrize("name", PLATEAUS)
def test_rates_fall_on_a_plateau(mytorch: ModuleType, name: str) -> None:
    def rates(torch: Any) -> list[Any]:
        optimizer = make_optimizer(torch)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **PLATEAUS[name])
        found = [scheduler.get_last_lr()]
        for metric in METRICS:
            scheduler.step(torch.tensor(metric))
            state = scheduler.state_dict()
            found += [scheduler.get_last_lr(), [group["lr"] for group in optimizer.param_groups]]
            found += [state[key] for key in ("best", "num_bad_epochs", "cooldown_counter", "last_epoch", "min_lrs")]
        return found

    for library in LIBRARIES:
        close(rates(mytorch), rates(library), rtol=1e-12)


def twice(torch: Any, first: str, second: str, add: bool = False) -> Any:
    """The rates that two schedulers on one optimizer make together."""
    optimizer = make_optimizer(torch, momentum=0.9)
    schedulers = [SCHEDULERS[name](torch.optim.lr_scheduler, optimizer) for name in (first, second)]
    if add:
        optimizer.add_param_group({"params": [torch.zeros(1)], "lr": 1.0})
    found = []
    for _ in range(6):
        optimizer.step()
        for scheduler in schedulers:
            scheduler.step()
        found.append([round(group["lr"], 10) for group in optimizer.param_groups])
    return found


CALLS: dict[str, Callable[[Any], Any]] = {
    "multiply": lambda torch: twice(torch, "StepLR", "CosineAnnealingLR"),
    "the last wins": lambda torch: twice(torch, "StepLR", "LambdaLR"),
    "a group comes later": lambda torch: twice(torch, "StepLR", "ExponentialLR", add=True),
    "a group comes later, closed": lambda torch: twice(torch, "LambdaLR", "LambdaLR", add=True),
    "no optimizer": lambda torch: torch.optim.lr_scheduler.StepLR(torch.zeros(1), 3),
    "no get_lr": lambda torch: torch.optim.lr_scheduler.LRScheduler(make_optimizer(torch)),
    "start factor": lambda torch: torch.optim.lr_scheduler.LinearLR(make_optimizer(torch), start_factor=0.0),
    "end factor": lambda torch: torch.optim.lr_scheduler.LinearLR(make_optimizer(torch), end_factor=1.5),
    "functions": lambda torch: torch.optim.lr_scheduler.LambdaLR(make_optimizer(torch), [abs]),
    "no milestone": lambda torch: (
        lambda o, s: s.SequentialLR(o, [s.ExponentialLR(o, 0.9), s.ExponentialLR(o, 0.9)], [])
    )(make_optimizer(torch), torch.optim.lr_scheduler),
    "plateau, factor": lambda torch: torch.optim.lr_scheduler.ReduceLROnPlateau(make_optimizer(torch), factor=1.0),
    "decay": lambda torch: torch.optim.swa_utils.get_ema_avg_fn(1.5),
    "resumed": lambda torch: torch.optim.lr_scheduler.StepLR(resumed(torch), 2, last_epoch=3).get_last_lr(),
    "Adam cycles betas": lambda torch: [
        (
            lambda o: [
                torch.optim.lr_scheduler.OneCycleLR(o, 1.0, 4),
                [group["betas"] for group in o.param_groups],
            ][1]
        )(make_optimizer(torch, "Adam"))
    ],
    "the cycle ends": lambda torch: cycle(torch, 6),
    "momentum stays": lambda torch: cycle(torch, 3, cycle_momentum=False),
}


def resumed(torch: Any) -> Any:
    optimizer = make_optimizer(torch)
    for group in optimizer.param_groups:
        group["initial_lr"] = 3.0
    return optimizer


def cycle(torch: Any, steps: int, **options: Any) -> Any:
    optimizer = make_optimizer(torch, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, 4, **options)
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
    return [(round(group["lr"], 9), round(group["momentum"], 9)) for group in optimizer.param_groups]


@part(base + "__init__", base + "step", file + "watch", file + "OneCycleLR.__init__", file + "SequentialLR.__init__")
@part(file + "LinearLR.__init__", file + "LambdaLR.__init__", file + "ReduceLROnPlateau.__init__")
@pytest.mark.parametrize("name", CALLS)
def test_what_is_returned_and_raised(mytorch: ModuleType, name: str) -> None:
    same(CALLS[name], mytorch)


@part(base + "__init__")
def test_a_schedule_without_a_beginning_is_refused(mytorch: ModuleType) -> None:
    def call(torch: Any) -> Any:
        return torch.optim.lr_scheduler.StepLR(make_optimizer(torch), 3, last_epoch=2)

    for library in (mytorch, *LIBRARIES):
        kind, message = outcome(call, library)
        assert kind == "KeyError"
        assert "param 'initial_lr' is not specified in param_groups[0] when resuming scheduler" in message


@part(base + "step", file + "watch")
@pytest.mark.parametrize("first", ["optimizer", "scheduler", "two optimizers"])
def test_a_step_of_the_scheduler_before_the_optimizers_is_warned_of(mytorch: ModuleType, first: str) -> None:
    def warned(torch: Any) -> list[str]:
        optimizer = make_optimizer(torch)
        other = make_optimizer(torch)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            schedulers = [torch.optim.lr_scheduler.StepLR(each, 2) for each in (optimizer, optimizer, other)]
            if first == "optimizer":
                optimizer.step()
            if first == "two optimizers":
                other.step()
            for _ in range(2):
                schedulers[0].step()
        return [str(each.message) for each in caught]

    found = warned(mytorch)
    assert len(found) == (first != "optimizer")
    for library in LIBRARIES:
        assert found == warned(library)


@part(file + "watch")
def test_a_watched_optimizer_steps_once_and_returns_the_loss(mytorch: ModuleType) -> None:
    def call(torch: Any) -> Any:
        x = torch.ones(1, requires_grad=True)
        optimizer = torch.optim.SGD([x], lr=0.5)
        for _ in range(2):
            torch.optim.lr_scheduler.StepLR(optimizer, 5)
        x.grad = torch.ones(1)
        return optimizer.step(lambda: 7), x

    same(call, mytorch)


def averages(torch: Any, ema: bool) -> Any:
    """Averaged parameters and copied buffers of a batch norm and a linear layer, and what the average says."""
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))
    options = {"avg_fn": torch.optim.swa_utils.get_ema_avg_fn(0.75)} if ema else {}
    averaged = torch.optim.swa_utils.AveragedModel(model, **options)
    for step in range(4):
        with torch.no_grad():
            for number, parameter in enumerate(model.parameters()):
                parameter.copy_(torch.tensor(numbers(*parameter.shape, seed=10 * step + number)))
        model(torch.tensor(numbers(5, 2, seed=step)))
        averaged.update_parameters(model)
    averaged.eval()
    state = averaged.state_dict()
    return [list(state), state["n_averaged"].item()], [*state.values(), averaged(torch.tensor(numbers(3, 2)))]


@part("mytorch.optim.swa_utils:AveragedModel.update_parameters", "mytorch.optim.swa_utils:get_ema_avg_fn")
@part("mytorch.optim.swa_utils:AveragedModel.__init__", "mytorch.optim.swa_utils:AveragedModel.forward")
@part("mytorch.optim.swa_utils:mean")
@pytest.mark.parametrize("ema", [False, True])
def test_averaged_weights_are_pytorchs(mytorch: ModuleType, ema: bool) -> None:
    names, values = averages(mytorch, ema)
    for library in LIBRARIES:
        expected_names, expected = averages(library, ema)
        assert names == expected_names
        close(values, expected, rtol=1e-5, atol=1e-6)


# What the lesson and its exercises say of PyTorch


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.__name__)
def test_a_loaded_optimizer_writes_into_the_state_that_it_was_given(library: Any) -> None:
    def step(optimizer: Any) -> None:
        for group in optimizer.param_groups:
            group["params"][0].grad = library.ones(1)
        optimizer.step()

    first, second = make_optimizer(library, momentum=0.5), make_optimizer(library, momentum=0.5)
    step(first)
    state = copy.deepcopy(first.state_dict())
    second.load_state_dict(state)
    step(second)
    assert state["state"][0]["momentum_buffer"].item() == 1.5


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.__name__)
def test_a_callable_objects_attributes_are_saved_and_a_function_is_not(library: Any) -> None:
    class Half:
        def __init__(self) -> None:
            self.factor = 0.5

        def __call__(self, epoch: int) -> float:
            return self.factor**epoch

    scheduler = library.optim.lr_scheduler.LambdaLR(make_optimizer(library), [Half(), lambda epoch: 1.0])
    assert scheduler.state_dict()["lr_lambdas"] == [{"factor": 0.5}, None]
