"""Chapter 19 of mytorch against loops written out in minitorch and PyTorch: accumulation, clipping, checkpoints."""

from __future__ import annotations

import copy
from types import ModuleType
from typing import Any

import pytest

from tests.mytorch.compare import agree, numbers, same

part = pytest.mark.part
trainer = "mytorch.training:Trainer."


states = "get_rng_state", "set_rng_state", "state_of", "set_state"


@part(*(f"mytorch.random:{name}" for name in states))
@pytest.mark.parametrize("drawn", [0, 1, 3, 700])
def test_a_saved_state_gives_the_same_numbers_again(mytorch: ModuleType, drawn: int) -> None:
    def twice(torch: Any) -> Any:
        torch.manual_seed(3)
        torch.randn(drawn)
        state = torch.get_rng_state()
        first = torch.randn(5).tolist(), torch.rand(800).tolist(), torch.randperm(9).tolist()
        torch.manual_seed(4)
        torch.set_rng_state(state)
        return (
            state.dtype,
            state.dim(),
            first == (torch.randn(5).tolist(), torch.rand(800).tolist(), torch.randperm(9).tolist()),
        )

    same(twice, mytorch)


def weights(torch: Any, model: Any) -> list[Any]:
    return [each.detach() for each in model.parameters()]


def made(torch: Any, micro_batches: int = 1, max_norm: float = float("inf"), dropout: float = 0.0) -> Any:
    """A model, an optimizer, a schedule, data and, of mytorch, a trainer of them."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Dropout(dropout), torch.nn.Linear(8, 2)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)
    x = torch.tensor(numbers(11, 3).tolist())
    data = torch.utils.data.TensorDataset(x, (x.sum(1) > 0).long())
    loader = torch.utils.data.DataLoader(data, 2, shuffle=True)
    if not hasattr(torch, "Trainer"):
        return model, optimizer, schedule, loader
    return torch.Trainer(model, optimizer, schedule, loader, summed, micro_batches, max_norm)


def summed(model: Any, batch: Any) -> Any:
    """The sum of the losses of a batch, and how many there are."""
    inputs, targets = batch
    scores = model(inputs).log_softmax(1)
    return -scores.gather(1, targets.unsqueeze(1)).sum(), len(targets)


@part(trainer + "fit", trainer + "step", trainer + "accumulate", trainer + "rest_of_epoch")
@pytest.mark.parametrize("micro_batches, max_norm", [(1, float("inf")), (1, 0.3), (4, 0.3), (4, float("inf"))])
def test_a_trainer_takes_the_steps_of_a_loop(mytorch: ModuleType, micro_batches: int, max_norm: float) -> None:
    def trained(torch: Any) -> Any:
        if hasattr(torch, "Trainer"):
            trainer = made(torch, micro_batches, max_norm)
            trainer.model.eval()
            trainer.fit(4)
            trainer.fit(8)
            return [*trainer.losses, trainer.scheduler.get_last_lr(), *weights(torch, trainer.model)]
        model, optimizer, schedule, loader = made(torch)
        losses: list[float] = []
        while len(losses) < 8:
            batches = list(loader)
            for start in range(0, len(batches), micro_batches):
                if len(losses) == 8:
                    break
                chosen = batches[start : start + micro_batches]
                x, y = (torch.cat(parts) for parts in zip(*chosen, strict=True))
                loss = torch.nn.functional.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                optimizer.step()
                schedule.step()
                losses.append(loss.item())
        return [*losses, schedule.get_last_lr(), *weights(torch, model)]

    agree(trained, mytorch)


@part(trainer + "state_dict", trainer + "load_state_dict", trainer + "rest_of_epoch")
@pytest.mark.parametrize("stop", [0, 1, 2, 3, 4, 7])
def test_a_resumed_run_takes_the_same_steps(mytorch: ModuleType, stop: int, tmp_path: Any) -> None:
    """Whether it stopped in the middle of an epoch or at its end; an epoch has six batches, three steps."""
    straight = made(mytorch, 2, 1.0, 0.5)
    straight.fit(10)
    stopped = made(mytorch, 2, 1.0, 0.5)
    stopped.fit(stop)
    state = stopped.state_dict()
    mytorch.save(state, tmp_path / "state.pt")
    stopped.fit(10)  # changes nothing in the state
    expected = [each.tolist() for each in weights(mytorch, straight.model)]
    for saved in (state, mytorch.load(tmp_path / "state.pt"), state):
        resumed = made(mytorch, 2, 1.0, 0.5)
        mytorch.manual_seed(99)
        resumed.load_state_dict(saved)
        resumed.fit(10)
        assert resumed.losses == stopped.losses == straight.losses
        assert [each.tolist() for each in weights(mytorch, resumed.model)] == expected
        assert resumed.seen == straight.seen


@part(*(trainer + name for name in ("generators", "random_state", "set_random_state", "rest_of_epoch")))
@pytest.mark.parametrize("stop", [0, 2, 3])
def test_a_run_whose_loader_has_a_generator_is_resumed(mytorch: ModuleType, stop: int) -> None:
    def run(seed: int) -> Any:
        trainer = made(mytorch, 2, 1.0, 0.5)
        generator = mytorch.Generator().manual_seed(seed)
        trainer.loader = mytorch.utils.data.DataLoader(trainer.loader.dataset, 2, shuffle=True, generator=generator)
        return trainer

    stopped = run(1)
    stopped.fit(stop)
    state = stopped.state_dict()
    stopped.fit(10)
    resumed = run(2)
    resumed.load_state_dict(state)
    resumed.fit(10)
    assert resumed.losses == stopped.losses


@part(trainer + "load_state_dict")
def test_a_trainer_that_was_in_an_epoch_can_go_back(mytorch: ModuleType) -> None:
    run = made(mytorch, 1, 1.0, 0.5)
    run.fit(2)
    state = run.state_dict()
    run.fit(9)
    first = copy.copy(run.losses)
    run.load_state_dict(state)
    run.fit(9)
    assert run.losses == first


@part(trainer + "fit")
def test_a_loader_without_batches_is_refused(mytorch: ModuleType) -> None:
    """Instead of asking for a batch forever."""
    run = made(mytorch)
    run.loader = mytorch.utils.data.DataLoader(run.loader.dataset, 64, drop_last=True)
    with pytest.raises(ValueError, match="no batches"):
        run.fit(1)


@part(trainer + "accumulate")
def test_a_parameter_without_a_gradient_and_one_that_had_one(mytorch: ModuleType) -> None:
    run = made(mytorch)
    run.model.unused = mytorch.nn.Linear(1, 1)
    run.model[0].weight.grad = mytorch.ones(8, 3)
    (batch,) = mytorch.utils.data.DataLoader(run.loader.dataset, 11)
    run.model.forward = lambda x: run.model[3](run.model[0](x).tanh())
    loss = run.accumulate([batch])
    expected, _ = summed(run.model, batch)
    assert run.model.unused.weight.grad is None
    assert loss == pytest.approx(expected.item() / 11)
    (gradient,) = mytorch.autograd.grad(expected / 11, [run.model[0].weight])
    assert (run.model[0].weight.grad - gradient).abs().max().item() < 1e-6
