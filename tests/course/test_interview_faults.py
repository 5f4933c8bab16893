"""The debug round: each planted fault has a symptom that is real and an assertion of its own that sees it."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import minitorch as torch
from course.interview import faults
from course.interview.faults import FAULTS, Fault

ids = [fault.name for fault in FAULTS]
pytestmark = pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step", "ignore:Converting a tensor")


def test_the_program_has_80_lines() -> None:
    assert sum(bool(line.strip()) for line in faults.clean().splitlines()) == 80


def test_there_are_twelve_faults_or_more_with_names_of_their_own() -> None:
    assert len(FAULTS) >= 12
    for part in ("name", "symptom", "says", "sees"):
        assert len({getattr(fault, part) for fault in FAULTS}) == len(FAULTS), part


@pytest.mark.parametrize("fault", FAULTS, ids=ids)
def test_the_program_without_faults_passes(fault: Fault) -> None:
    assert faults.complaint(fault, faults.load(faults.clean())) == ""


@pytest.mark.parametrize("fault", FAULTS, ids=ids)
def test_a_fault_alone_fails_its_own_assertion(fault: Fault) -> None:
    with pytest.raises(AssertionError) as failed:
        fault.sees(faults.load(faults.planted([fault])))
    assert str(failed.value)


@pytest.mark.parametrize("fault", FAULTS, ids=ids)
def test_an_assertion_looks_at_its_own_fault_alone(fault: Fault) -> None:
    """With all other faults in the program it holds; with all faults it doesn't, but for one that hides it."""
    others = [each for each in FAULTS if each is not fault]
    assert faults.complaint(fault, faults.load(faults.planted(others))) == ""
    not_hidden = [each for each in FAULTS if each.name != fault.hidden_by]
    assert faults.complaint(fault, faults.load(faults.planted(not_hidden))) != ""


def test_faults_that_hide_each_other_are_not_planted_together() -> None:
    for order in (FAULTS, FAULTS[::-1]):
        chosen = faults.together(order, len(FAULTS))
        assert len(chosen) == len(FAULTS) - 1
        assert not {"batch norm in train mode", "train mode forgotten"} <= {each.name for each in chosen}
    assert faults.together(FAULTS, 4) == list(FAULTS[:4])


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("scheduler first", "        scheduler.step()\n", ""),
        ("scheduler first", "            count += len(rows)\n        sch", "            count += 32\n            sch"),
        ("clip before unscale", "    nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)\n", ""),
        ("mask polarity", ".tril()", ""),
        ("best weights are an alias", "copy.deepcopy(model.state_dict())", "dict(model.state_dict())"),
    ],
)
def test_a_wrong_mend_is_no_mend(name: str, old: str, new: str) -> None:
    source = faults.clean()
    assert source.count(old) == 1
    assert faults.complaint(faults.named(name), faults.load(source.replace(old, new))) != ""


def test_a_rate_that_is_stepped_by_batches_is_mended_too() -> None:
    """`scheduler.step()` may come after each batch if `step_size` counts batches."""
    by_batch = faults.clean().replace("step_size=2,", "step_size=2 * len(loader),")
    by_batch = by_batch.replace("len(rows)\n        scheduler", "len(rows)\n            scheduler")
    assert by_batch.count("            scheduler.step()") == 1
    assert faults.complaint(faults.named("scheduler first"), faults.load(by_batch)) == ""


def test_a_program_that_raises_fails() -> None:
    program = faults.load(faults.clean())
    del program.evaluate
    assert faults.complaint(faults.named("mean of means"), program).startswith("AttributeError")


def test_an_edit_that_fits_nowhere_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"mask polarity: .* 0 times"):
        faults.named("mask polarity").planted("nothing")


# The symptoms, each measured on the program itself


def held_out(program: Any) -> float:
    return float(program.train()[2][-1][1])


def continued(program: Any) -> int:
    """How many of the tokens that a trained model puts after others repeat them."""
    model = program.train()[0].eval()
    tokens = program.sequences(20, 5)[:, :-1]
    return int((model(tokens).argmax(-1) == tokens).sum().item())


def batch_sizes(program: Any) -> float:
    model, rows = program.train(epochs=1)[0], program.sequences(99, 1)
    by = [program.evaluate(model, [(each,) for each in rows.split(size)]) for size in (32, 33)]
    return abs(by[0] - by[1])


def logging(program: Any) -> float:
    model = program.train(epochs=1)[0].eval()
    rows = program.sequences(8, 1)[:, :-1]
    on = model(rows)
    model.out._forward_hooks.clear()
    return float((model(rows) - on).abs().max().item())


def same_rows(program: Any) -> bool:
    seen: list[Any] = []
    faults._trained(program, lambda model, optimizer, rows: seen.append(rows.tolist()))
    return bool(seen[3] == seen[len(seen) // 2 + 3])


def statistics_after_evaluation(program: Any) -> float:
    model = program.train(epochs=1)[0]
    before = model.norm.running_mean.clone()
    program.evaluate(model, [(program.sequences(8, 1),)])
    return float((model.norm.running_mean - before).abs().max().item())


def statistics_after_the_first_epoch(program: Any) -> float:
    means: list[Any] = []
    faults._trained(program, lambda model, optimizer, rows: means.append(model.norm.running_mean.clone()))
    half = len(means) // 2
    return float((means[-1] - means[half]).abs().max().item())


def outputs_that_require_grad(program: Any) -> int:
    model, found = program.Model(), []
    model.register_forward_hook(lambda module, inputs, out: found.append(out.requires_grad))
    program.evaluate(model, [(program.sequences(8, 1),)])
    return sum(found)


def graphs_alive(program: Any) -> list[int]:
    """How many graphs of steps are alive as the second epoch begins, and as its last step does."""
    graphs: list[weakref.ref[Any]] = []
    alive: list[int] = []
    loss_of = program.loss_of

    def noted(model: Any, rows: Any) -> Any:
        loss = loss_of(model, rows)
        graphs.extend([weakref.ref(loss.grad_fn)] if loss.grad_fn is not None else [])
        return loss

    program.loss_of = noted
    faults._trained(program, lambda model, optimizer, rows: alive.append(sum(each() is not None for each in graphs)))
    return [alive[len(alive) // 2], alive[-1]]


def rates(program: Any) -> list[float]:
    seen: list[float] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        faults._trained(program, lambda model, optimizer, rows: seen.append(optimizer.param_groups[0]["lr"]))
    return [*sorted(set(seen)), float(any("lr_scheduler.step()" in str(each.message) for each in caught))]


def skipped(program: Any) -> int:
    """How many of the last eight steps the scaler leaves out."""
    moved: list[Any] = []
    faults._trained(program, lambda model, optimizer, rows: moved.append(faults._flat(model)))
    return sum(bool((a == b).all()) for a, b in zip(moved[-9:], moved[-8:], strict=False))


def best_again(program: Any) -> tuple[float, float]:
    """The loss of the best epoch, and that of its weights."""
    model, best, history = program.train(epochs=2)
    model.load_state_dict(best)
    rows = program.sequences(99, 1)
    return min(held for _, held in history), program.evaluate(model, [(rows,)])


SYMPTOMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], bool]]] = {
    "mask polarity": (held_out, lambda loss: loss < 0.8),
    "label shift": (continued, lambda repeated: repeated > 150),  # of 160
    "softmax twice": (held_out, lambda loss: 1.274 < loss < 1.7),
    "clip before unscale": (held_out, lambda loss: loss > 2),
    "no zero_grad": (skipped, lambda steps: steps == 8),
    "mean of means": (batch_sizes, lambda apart: apart > 1e-3),
    "in-place hook": (logging, lambda apart: apart > 1e-2),
    "no set_epoch": (same_rows, lambda same: same),
    "batch norm in train mode": (statistics_after_evaluation, lambda moved: moved > 1e-3),
    "train mode forgotten": (statistics_after_the_first_epoch, lambda moved: moved == 0),
    "evaluation recorded": (outputs_that_require_grad, lambda count: count == 1),
    "graphs kept": (graphs_alive, lambda alive: alive == [8, 15]),
    "scheduler first": (rates, lambda seen: seen == [0.1, 0.2, 1.0]),
    "best weights are an alias": (best_again, lambda losses: losses[1] - losses[0] > 0.02),
}


@pytest.mark.parametrize("fault", FAULTS, ids=ids)
def test_a_symptom_is_there_with_the_fault_and_not_without(fault: Fault) -> None:
    measure, shows = SYMPTOMS[fault.name]
    assert shows(measure(faults.load(faults.planted([fault]))))
    assert not shows(measure(faults.load(faults.clean())))


def test_no_answer_gets_below_the_entropy_that_the_symptom_names() -> None:
    """A token follows with probability 3/4 + 1/4 · 1/8, each other one with 1/32."""
    follows = torch.tensor([25 / 32] + [1 / 32] * 7)
    assert abs(-(follows * follows.log()).sum().item() - 0.951) < 1e-3
