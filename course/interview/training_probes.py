"""What the functions of `training.py` give for random inputs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import minitorch as torch
from course.interview.fault import Program
from course.interview.probe import Probe, flat, normal, probe, replaced, tokens, weighted
from minitorch.utils.data import DataLoader, TensorDataset


@probe("sequences", "another seed")
def _rows(program: Program, rng: np.random.Generator) -> Any:
    return program.sequences(20, int(rng.integers(2**31)))


@probe("Model", "random tokens")
def _logits(program: Program, rng: np.random.Generator) -> Any:
    model = weighted(program.Model(), rng).eval()
    return [model(tokens(rng, 0, program.TOKENS, 6, length)) for length in (program.LENGTH - 1, 3)]


@probe("loss_of", "random logits")
def _loss(program: Program, rng: np.random.Generator) -> Any:
    table = normal(rng, program.TOKENS, program.TOKENS) * 2
    return program.loss_of(lambda ids: table[ids], tokens(rng, 0, program.TOKENS, 5, program.LENGTH))


@probe("watch", "a linear layer that it watches")
def _watched(program: Program, rng: np.random.Generator) -> Any:
    layer, sizes = weighted(torch.nn.Linear(3, 4), rng), list[float]()
    program.watch(layer, sizes)
    out = layer(normal(rng, 5, 3))
    out.square().sum().backward()
    gradient = layer.weight.grad
    return {"outputs": out, "gradients": gradient, "sizes": torch.tensor([float(each) for each in sizes])}


def _steps(program: Program, rng: np.random.Generator, count: int, grown: float, scale: float) -> list[Any]:
    """How each of some steps with momentum moves the weights."""
    model = weighted(program.Model(), rng).eval()
    with torch.no_grad():
        model.head.weight.mul_(grown)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    found = [flat(model)]
    for _ in range(count):
        program.step(model, optimizer, scaler, tokens(rng, 0, program.TOKENS, 8, program.LENGTH))
        found.append(flat(model))
    return [after - before for before, after in itertools.pairwise(found)]


@probe("step", "a gradient longer than MAX_NORM")
def _long_step(program: Program, rng: np.random.Generator) -> Any:
    return _steps(program, rng, 1, 5.0, 2.0 ** int(rng.integers(4, 10)))


@probe("step", "a gradient shorter than MAX_NORM")
def _short_step(program: Program, rng: np.random.Generator) -> Any:
    return _steps(program, rng, 1, 0.05, 2.0 ** int(rng.integers(4, 10)))


@probe("step", "four steps one after another")
def _four_steps(program: Program, rng: np.random.Generator) -> Any:
    return _steps(program, rng, 4, 1.0, 1.0)  # a larger scale would divide what is left of a gradient


@probe("step", "a scale with which the gradients overflow")
def _overflow(program: Program, rng: np.random.Generator) -> Any:
    return _steps(program, rng, 1, 1.0, 2.0**40)


@probe("step", "random rows, of which it returns the loss")
def _returned(program: Program, rng: np.random.Generator) -> Any:
    model = weighted(program.Model(), rng).eval()
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cpu", init_scale=1024.0)
    loss = float(program.step(model, optimizer, scaler, tokens(rng, 0, program.TOKENS, 8, program.LENGTH)))
    total = program.train(epochs=1)[2][0][0]  # step and train may share the work of leaving the graph behind
    return {"the loss is": loss, "the sum of the losses has a graph:": getattr(total, "requires_grad", False)}


def _evaluated(program: Program, rng: np.random.Generator, model: Any) -> Any:
    """What an evaluation on batches of four rows and of two returns, and in which modes each forward pass was."""
    seen: list[tuple[bool, bool]] = []
    model.train().register_forward_pre_hook(
        lambda module, _: seen.append((module.training, torch.is_grad_enabled())), with_kwargs=False
    )
    rows = tokens(rng, 0, program.TOKENS, 6, program.LENGTH)
    loss = program.evaluate(model, DataLoader(TensorDataset(rows), batch_size=4))
    return float(loss), seen


@probe("evaluate", "batches of four rows and of two", 1e-3)
def _mean(program: Program, rng: np.random.Generator) -> Any:
    model = weighted(torch.nn.Embedding(program.TOKENS, program.TOKENS), rng)
    with torch.no_grad():
        model.weight.mul_(10.0)  # so that rows differ in their losses
    return _evaluated(program, rng, model)[0]


@probe("evaluate", "a model in train mode")
def _mode(program: Program, rng: np.random.Generator) -> Any:
    return {"`model.training` is": [mode for mode, _ in _evaluated(program, rng, weighted(program.Model(), rng))[1]]}


@probe("evaluate", "a model whose forward passes note whether autograd is on, and afterwards")
def _recording(program: Program, rng: np.random.Generator) -> Any:
    seen = [recording for _, recording in _evaluated(program, rng, weighted(program.Model(), rng))[1]]
    return [*seen, torch.is_grad_enabled()]


def _trained(program: Program, epochs: int, held_out: list[float] | None = None) -> Any:
    """What `train` returns if each step adds 1 to a bias, and what its steps and evaluations saw.

    The loss of a step is the number of its rows, as a tensor, since a caller may use `item()`. `held_out` are the
    held-out losses; without them, the program's own function evaluates.
    """
    steps: list[dict[str, Any]] = []
    losses = iter(held_out or ())

    def step(model: Any, optimizer: Any, scaler: Any, rows: Any) -> Any:
        seen = {"rows": rows.tolist(), "rate": optimizer.param_groups[0]["lr"], "training": model.training}
        steps.append(seen)
        with torch.no_grad():
            model.head.bias.add_(1.0)
        optimizer.step()
        return torch.tensor(float(len(rows)))

    own = {"evaluate": lambda model, loader: next(losses)} if held_out else {}
    with replaced(program, step=step, **own):
        result = program.train(epochs=epochs)
    return result, [steps[at * len(steps) // epochs : (at + 1) * len(steps) // epochs] for at in range(epochs)]


@probe("train", "five epochs, whose learning rates are noted")
def _rates(program: Program, rng: np.random.Generator) -> Any:
    _, epochs = _trained(program, 5, [1.0] * 5)
    return [sorted({step["rate"] for step in epoch}) for epoch in epochs]


@probe("train", "three epochs, whose modes are noted")
def _modes(program: Program, rng: np.random.Generator) -> Any:
    _, epochs = _trained(program, 3)
    return {
        f"in epoch {place}, `model.training` is": all(step["training"] for step in epoch)
        for place, epoch in enumerate(epochs)
    }


@probe("train", "four epochs, whose rows are noted")
def _orders(program: Program, rng: np.random.Generator) -> Any:
    _, epochs = _trained(program, 4, [1.0] * 4)
    data = {tuple(row) for row in program.sequences(480, 0).tolist()}
    orders = [[tuple(row) for step in epoch for row in step["rows"]] for epoch in epochs]
    return {
        "the number of different orders is": len({str(order) for order in orders}),
        "the batches are": [[len(step["rows"]) for step in epoch] for epoch in epochs],
        "rows of the training set are": [all(row in data for row in order) for order in orders],
    }


@probe("train", "held-out losses that rise and fall, by whose minimum it chooses the best weights")
def _best(program: Program, rng: np.random.Generator) -> Any:
    losses = [2.0, 3.0, float(rng.uniform(0.5, 1.5)), 4.0, 3.5]
    (model, best, _), epochs = _trained(program, 5, losses)
    begun = program.train(epochs=0)[0].state_dict()
    epoch = (best["head.bias"] - begun["head.bias"]) / len(epochs[0])
    return {"they are those of epoch": epoch, "all of them are kept:": {*best} == {*model.state_dict()}}


@probe("train", "steps and evaluations with known losses")
def _history(program: Program, rng: np.random.Generator) -> Any:
    (_, _, history), _ = _trained(program, 3, rng.uniform(1, 2, size=3).tolist())
    return [torch.tensor([float(part) for part in each]) for each in history]


TRAINING: tuple[Probe, ...] = (
    _rows,
    _logits,
    _loss,
    _watched,
    _long_step,
    _returned,
    _four_steps,
    _short_step,
    _overflow,
    _mean,
    _recording,
    _mode,
    _orders,
    _rates,
    _modes,
    _best,
    _history,
)
