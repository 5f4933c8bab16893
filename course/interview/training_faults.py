"""The faults of `training.py`, each with an assertion of its own."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable
from typing import Any

from course.interview.fault import Fault, Program, expect


def no_position_sees_a_later_token(program: Program) -> None:
    """Another last token changes nothing before it."""
    model = _model(program).eval()
    rows = program.sequences(4, 0)[:, :-1]
    other = rows.clone()
    other[:, -1] = (other[:, -1] + 1) % program.TOKENS
    moved = (model(rows) - model(other))[:, :-1].abs().max().item()
    expect(moved < 1e-5, f"another last token changed earlier outputs by {moved:.2f}")


def the_next_token_is_the_target(program: Program) -> None:
    """Who says the next token loses less than who repeats the present one."""
    following, repeating = _losses_of_two_predictors(program)
    expect(following < repeating, f"the next token costs {following:.1f}, a copy of the input {repeating:.1f}")


def a_sure_and_right_answer_costs_nothing(program: Program) -> None:
    """With logits of 30 on the target the loss is 0."""
    lowest = min(_losses_of_two_predictors(program))
    expect(lowest < 0.01, f"a sure and right answer costs {lowest:.2f}")


def a_step_is_as_long_as_the_clipped_gradient(program: Program) -> None:
    """With SGD and a rate of 1 the weights move by the gradient's norm, or by MAX_NORM if that is less."""
    import minitorch as torch

    model, rows = _model(program), program.sequences(16, 0)
    with torch.no_grad():
        model.head.weight.mul_(10.0)  # a gradient that is longer than MAX_NORM
    twin = copy.deepcopy(model)
    program.loss_of(twin, rows).backward()
    norm = sum(each.grad.square().sum().item() for each in twin.parameters() if each.grad is not None) ** 0.5
    before = _flat(model)
    program.step(model, torch.optim.SGD(model.parameters(), lr=1.0), _scaler(), rows)
    moved, right = (_flat(model) - before).norm().item(), min(norm, program.MAX_NORM)
    expect(abs(moved - right) < 0.2 * right, f"the weights moved by {moved:.4f}, and should move by {right:.4f}")


def a_step_forgets_the_gradients_before_it(program: Program) -> None:
    """The second step is the same whether or not the first one's gradients were thrown away."""
    import minitorch as torch

    moves = []
    for throws_away in (False, True):
        model, rows = _model(program), program.sequences(16, 0)
        optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), _scaler(1.0)
        program.step(model, optimizer, scaler, rows[:8])
        if throws_away:
            model.zero_grad()
        before = _flat(model)
        program.step(model, optimizer, scaler, rows[8:])
        moves.append(_flat(model) - before)
    apart = ((moves[0] - moves[1]).norm() / moves[1].norm()).item()
    expect(apart < 0.01, f"the first step's gradients changed the second step by {apart:.0%}")


def every_row_counts_the_same(program: Program) -> None:
    """Three rows and one, in two batches, have the mean of four."""
    import minitorch as torch
    from minitorch.utils.data import DataLoader, TensorDataset

    model, rows = _Table(program), program.sequences(4, 0)
    rows[3] = 0  # a row that costs much more than the others
    apart = program.evaluate(model, DataLoader(TensorDataset(rows), batch_size=3))
    with torch.no_grad():
        together = program.loss_of(model, rows).item()
    expect(abs(apart - together) < 1e-3, f"four rows cost {together:.2f} together, and {apart:.2f} as three and one")


def watching_changes_nothing(program: Program) -> None:
    """A watched model gives what it gave before."""
    model, rows = _model(program).eval(), program.sequences(4, 0)[:, :-1]
    before = model(rows).detach()
    program.watch(model.out, [])
    apart = (model(rows) - before).abs().max().item()
    expect(apart < 1e-6, f"outputs moved by {apart:.2f} when the model was watched")


def epochs_differ_in_their_order(program: Program) -> None:
    """The second epoch's rows come in another order than the first's."""
    seen: list[Any] = []
    _trained(program, lambda model, optimizer, rows: seen.append(rows.flatten().tolist()))
    half = len(seen) // 2
    expect(seen[:half] != seen[half:], "both epochs brought the same rows in the same order")


def evaluation_is_in_eval_mode(program: Program) -> None:
    """Each forward pass of an evaluation finds the model in eval mode."""
    expect(not any(training for training, _ in _evaluated(program)), "the model was evaluated in train mode")


def evaluation_records_nothing(program: Program) -> None:
    """Autograd is off in an evaluation."""
    expect(not any(recording for _, recording in _evaluated(program)), "autograd recorded the evaluation")


def no_graph_outlives_its_step(program: Program) -> None:
    """When a step begins, the graph of the step before is gone."""
    graphs: list[weakref.ref[Any]] = []
    alive: list[int] = []
    loss_of = program.loss_of

    def noted(model: Any, rows: Any) -> Any:
        loss = loss_of(model, rows)
        if loss.grad_fn is not None:
            graphs.append(weakref.ref(loss.grad_fn))
        return loss

    program.loss_of = noted  # type: ignore[attr-defined]
    try:
        _trained(program, lambda model, optimizer, rows: alive.append(sum(each() is not None for each in graphs)))
    finally:
        program.loss_of = loss_of  # type: ignore[attr-defined]
    expect(max(alive) == 0, f"{max(alive)} graphs of earlier steps were still alive")


def the_rate_halves_after_two_epochs(program: Program) -> None:
    """Each step of the first two epochs is made at RATE, and each of the third at half of it."""
    rates: list[float] = []
    _trained(program, lambda model, optimizer, rows: rates.append(optimizer.param_groups[0]["lr"]), epochs=3)
    size = len(rates) // 3
    used = [sorted(set(rates[begin : begin + size]), reverse=True) for begin in (0, size, 2 * size)]
    right = [[program.RATE], [program.RATE], [program.RATE / 2]]
    told = ["/".join(f"{rate:.2g}" for rate in (each if len(each) < 3 else (each[0], each[-1]))) for each in used]
    expect(
        used == right,
        f"three epochs were trained at {told[0]}, {told[1]} and {told[2]}, and should be at "
        f"{program.RATE:g}, {program.RATE:g} and {program.RATE / 2:g}",
    )


def the_best_weights_stay(program: Program) -> None:
    """Training on doesn't change the weights that were kept."""
    model, best, _ = program.train(epochs=1)
    shared = [name for name, each in model.state_dict().items() if each.data_ptr() == best[name].data_ptr()]
    expect(
        not shared, f"{len(shared)} of the best weights share memory with the model's, {shared[0] if shared else ''}"
    )


def training_is_in_train_mode(program: Program) -> None:
    """Each step of both epochs finds the model in train mode."""
    modes: list[bool] = []
    _trained(program, lambda model, optimizer, rows: modes.append(model.training))
    expect(all(modes), f"{modes.count(False)} of {len(modes)} steps were made in eval mode")


def _model(program: Program) -> Any:
    import minitorch as torch

    torch.manual_seed(0)
    return program.Model()


def _scaler(scale: float = 1024.0) -> Any:
    import minitorch as torch

    return torch.amp.GradScaler("cpu", init_scale=scale)


def _flat(model: Any) -> Any:
    import minitorch as torch

    return torch.cat([each.detach().flatten() for each in model.parameters()]).clone()


def _losses_of_two_predictors(program: Program) -> tuple[float, float]:
    """The losses of a model that always predicts the next token, and of one that repeats its input."""
    import minitorch as torch

    rows = (3 * torch.arange(3 * program.LENGTH) % program.TOKENS).reshape(3, program.LENGTH)
    following, repeating = (
        program.loss_of(lambda ids, by=by: torch.eye(program.TOKENS)[(ids + by) % program.TOKENS] * 30, rows).item()
        for by in (3, 0)
    )
    return following, repeating


def _Table(program: Program) -> Any:
    """A model without dropout: a row of logits for each token."""
    import minitorch as torch

    torch.manual_seed(0)
    return torch.nn.Embedding(program.TOKENS, program.TOKENS)


def _evaluated(program: Program) -> list[tuple[bool, bool]]:
    """For each forward pass of an evaluation: whether the model was in train mode, and autograd on."""
    import minitorch as torch
    from minitorch.utils.data import DataLoader, TensorDataset

    seen: list[tuple[bool, bool]] = []
    model = _Table(program).train()
    model.register_forward_pre_hook(lambda module, _: seen.append((module.training, torch.is_grad_enabled())))
    program.evaluate(model, DataLoader(TensorDataset(program.sequences(8, 0)), batch_size=4))
    expect(seen, "evaluate never called the model")
    return seen


def _trained(program: Program, look: Callable[[Any, Any, Any], None], epochs: int = 2) -> None:
    """Train for some epochs; `look` gets model, optimizer and rows before each step."""
    step = program.step

    def looked(model: Any, optimizer: Any, scaler: Any, rows: Any) -> Any:
        look(model, optimizer, rows)
        return step(model, optimizer, scaler, rows)

    program.step = looked  # type: ignore[attr-defined]
    try:
        program.train(epochs=epochs)
    finally:
        program.step = step  # type: ignore[attr-defined]


_CLIP = "    nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)\n"
_UNSCALE = "    scaler.unscale_(optimizer)\n"
_EPOCHS = "    for epoch in range(epochs):\n"
_DECAY = "        scheduler.step()\n"

TRAINING = (
    Fault(
        "mask polarity",
        "14",
        "The held-out loss goes down to 0.75. A quarter of the tokens are random, so nobody can get below 0.95.",
        "The mask keeps the future and hides the past: `triu` for `tril`.",
        ((".tril()", ".triu()"),),
        no_position_sees_a_later_token,
    ),
    Fault(
        "label shift",
        "14",
        "After six epochs the loss is 0.00, and the model continues 3 with 3 3 3 3 3.",
        "The targets are the inputs. They have to be one token further.",
        (("rows[:, 1:]", "rows[:, :-1]"),),
        the_next_token_is_the_target,
    ),
    Fault(
        "softmax twice",
        "16",
        "The loss falls slowly and stays above 1.27, however long you train and however sure the model is.",
        "`cross_entropy` takes logits. It got probabilities, and no two of them differ by more than 1.",
        (("entropy(logits.flatten(0, 1),", "entropy(logits.flatten(0, 1).softmax(-1),"),),
        a_sure_and_right_answer_costs_nothing,
    ),
    Fault(
        "clip before unscale",
        "22",
        "The loss stays above 2, as before the first step. The weights hardly move.",
        "Gradients are clipped while they carry the scaler's factor, and are divided by it afterwards.",
        ((_UNSCALE, ""), (_CLIP, _CLIP + _UNSCALE)),
        a_step_is_as_long_as_the_clipped_gradient,
    ),
    Fault(
        "no zero_grad",
        "19",
        "The scaler leaves out a few steps at the start, as expected. But then it leaves out all the others.",
        "Gradients are never cleared, so one that was infinite stays infinite.",
        (("    optimizer.zero_grad()\n", ""),),
        a_step_forgets_the_gradients_before_it,
    ),
    Fault(
        "mean of means",
        "19",
        "The held-out loss of one and the same model changes when you change the batch size from 32 to 33.",
        "Each batch counts the same, and the last one is smaller than the others.",
        (
            (
                "loss_of(model, rows).item() * len(rows)\n            count += len(rows)",
                "loss_of(model, rows).item()\n            count += 1",
            ),
        ),
        every_row_counts_the_same,
    ),
    Fault(
        "in-place hook",
        "21",
        "With logging turned off, the same weights give other outputs.",
        "The hook squares the output itself: `detach` shares memory, and `square_` writes into it.",
        (("out.detach().square()", "out.detach().square_()"),),
        watching_changes_nothing,
    ),
    Fault(
        "no set_epoch",
        "18",
        "Batch 3 has the same 32 rows in every epoch.",
        "`DistributedSampler` shuffles by seed and epoch, and nobody tells it the epoch.",
        (("        sampler.set_epoch(epoch)\n", ""),),
        epochs_differ_in_their_order,
    ),
    Fault(
        "dropout in evaluation",
        "12",
        "Evaluated twice on the same rows, one model has two different losses.",
        "`evaluate` doesn't call `model.eval()`, so dropout is active.",
        (("    model.eval()\n", ""),),
        evaluation_is_in_eval_mode,
    ),
    Fault(
        "train mode forgotten",
        "12",
        "Computed twice, a batch has two losses in the first epoch, and the same loss twice from the second epoch on.",
        "`evaluate` leaves the model in eval mode, and the next epoch doesn't call `model.train()`.",
        (("        model.train()\n", ""),),
        training_is_in_train_mode,
        hidden_by="dropout in evaluation",
    ),
    Fault(
        "evaluation recorded",
        "07",
        "A forward hook finds that outputs require grad while the model is evaluated.",
        "`evaluate` has no `no_grad`, so each batch builds a graph.",
        (("    with torch.no_grad():\n", "    with torch.enable_grad():\n"),),
        evaluation_records_nothing,
    ),
    Fault(
        "graphs kept",
        "19",
        "Memory grows with every step, and the end of an epoch frees none of it.",
        "The running total is a tensor with a graph, and each step adds its own: `.item()` is missing.",
        (("    return loss.item()\n", "    return loss\n"),),
        no_graph_outlives_its_step,
    ),
    Fault(
        "scheduler first",
        "17",
        "The rate should halve after two epochs. It is 0.1 in the second epoch already, and there is a warning.",
        "`scheduler.step()` comes before the epoch's steps, so each rate begins an epoch too early.",
        ((_DECAY, ""), (_EPOCHS, _EPOCHS + _DECAY)),
        the_rate_halves_after_two_epochs,
    ),
    Fault(
        "best weights are an alias",
        "20",
        "The best epoch was the first of two. Loaded again, its weights have the loss of the last.",
        "`state_dict()` refers to the parameters themselves, and training writes into them.",
        (("copy.deepcopy(model.state_dict())", "model.state_dict()"),),
        the_best_weights_stay,
    ),
)
"""All faults; they can be planted together."""
