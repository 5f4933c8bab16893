"""The debug round: each planted fault has a symptom that is real and an assertion of its own that sees it."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import minitorch as torch
from course.interview import faults, serving_faults, training_faults, tuning_faults
from course.interview.fault import Fault
from course.interview.faults import EVERY, FAULTS

ids = [fault.name for fault in EVERY]
pytestmark = pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step", "ignore:Converting a tensor")


def test_the_program_has_80_lines() -> None:
    assert sum(bool(line.strip()) for line in faults.clean().splitlines()) == 80


def test_there_are_twenty_faults_or_more_with_names_of_their_own() -> None:
    assert len(EVERY) >= 20 and len(FAULTS) >= 12
    for part in ("name", "symptom", "says", "sees"):
        assert len({getattr(fault, part) for fault in EVERY}) == len(EVERY), part


@pytest.mark.parametrize("fault", EVERY, ids=ids)
def test_the_program_without_faults_passes(fault: Fault) -> None:
    assert faults.complaint(fault, faults.load(faults.clean(fault.program))) == ""


@pytest.mark.parametrize("fault", EVERY, ids=ids)
def test_a_fault_alone_fails_its_own_assertion(fault: Fault) -> None:
    with pytest.raises(AssertionError) as failed:
        fault.sees(faults.load(faults.planted([fault])))
    assert str(failed.value)


@pytest.mark.turns(4)
@pytest.mark.parametrize("fault", EVERY, ids=ids)
def test_an_assertion_looks_at_its_own_fault_alone(fault: Fault) -> None:
    """With all other faults in the program it holds; with all faults it doesn't, but for one that hides it."""
    others = [each for each in EVERY if each is not fault and each.program == fault.program]
    assert faults.complaint(fault, faults.load(faults.planted(others))) == ""
    not_hidden = [each for each in [*others, fault] if each.name != fault.hidden_by]
    assert faults.complaint(fault, faults.load(faults.planted(not_hidden))) != ""


def test_the_program_that_answers_has_90_lines_at_most() -> None:
    assert sum(bool(line.strip()) for line in faults.clean("serving").splitlines()) <= 90


def test_the_program_that_tunes_has_80_lines_at_most() -> None:
    assert sum(bool(line.strip()) for line in faults.clean("tuning").splitlines()) <= 80


def test_faults_that_hide_each_other_are_not_planted_together() -> None:
    for order in (FAULTS, FAULTS[::-1]):
        chosen = faults.together(order, len(FAULTS))
        assert len(chosen) == len(FAULTS) - 1
        assert not {"dropout in evaluation", "train mode forgotten"} <= {each.name for each in chosen}
    assert not {"no stop at END", "any for all"} <= {each.name for each in faults.together(EVERY, len(EVERY))}
    assert faults.together(FAULTS, 4) == list(FAULTS[:4])


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("scheduler first", "        scheduler.step()\n", ""),
        ("scheduler first", "            count += len(rows)\n        sch", "            count += 32\n            sch"),
        ("clip before unscale", "    nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)\n", ""),
        ("mask polarity", ".tril()", ""),
        ("best weights are an alias", "copy.deepcopy(model.state_dict())", "dict(model.state_dict())"),
        ("gradients cleared too often", "    optimizer.step()\n", "    optimizer.zero_grad()\n    optimizer.step()\n"),
        ("means of unequal batches", ".sum() / count)", ".mean() / len(group))"),
        ("last batches dropped", "        if group:\n", "        if len(group) > PARTS // 2:\n"),
        ("validation shuffled", "means.index(max(means))", "means.index(min(means))"),
    ],
)
def test_a_wrong_mend_is_no_mend(name: str, old: str, new: str) -> None:
    source = faults.clean(faults.named(name).program)
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
    training_faults._trained(program, lambda model, optimizer, rows: seen.append(rows.tolist()))
    return bool(seen[3] == seen[len(seen) // 2 + 3])


def evaluated_twice(program: Any) -> float:
    model, rows = program.train(epochs=1)[0].train(), program.sequences(8, 1)
    one, other = (program.evaluate(model, [(rows,)]) for _ in range(2))
    return abs(one - other)


def batches_computed_twice(program: Any) -> list[bool]:
    """Whether a batch has the same loss when it is computed again, in the first epoch and in the second."""
    same: list[bool] = []

    def look(model: Any, optimizer: Any, rows: Any) -> None:
        one, other = (program.loss_of(model, rows).item() for _ in range(2))
        same.append(one == other)

    training_faults._trained(program, look)
    half = len(same) // 2
    return [all(same[:half]), all(same[half:])]


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

    def look(model: Any, optimizer: Any, rows: Any) -> None:
        alive.append(sum(each() is not None for each in graphs))

    training_faults._trained(program, look)
    return [alive[len(alive) // 2], alive[-1]]


def rates(program: Any) -> list[float]:
    seen: list[float] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        training_faults._trained(program, lambda model, optimizer, rows: seen.append(optimizer.param_groups[0]["lr"]))
    return [*sorted(set(seen)), float(any("lr_scheduler.step()" in str(each.message) for each in caught))]


def skipped(program: Any) -> int:
    """How many of the last eight steps the scaler leaves out."""
    moved: list[Any] = []
    training_faults._trained(program, lambda model, optimizer, rows: moved.append(training_faults._flat(model)))
    return sum(bool((a == b).all()) for a, b in zip(moved[-9:], moved[-8:], strict=False))


def best_again(program: Any) -> tuple[float, float]:
    """The loss of the best epoch, and that of its weights."""
    model, best, history = program.train(epochs=2)
    model.load_state_dict(best)
    rows = program.sequences(99, 1)
    return min(held for _, held in history), program.evaluate(model, [(rows,)])


def cached_and_whole(program: Any) -> float:
    """How far the logits of a text move if its last token comes alone, after the cached others."""
    model, logits = serving_faults._model(program), partial(serving_faults._logits, program)
    return float((logits(model, [3, 4, 5], [6]) - logits(model, [3, 4, 5, 6])).abs().max().item())


def second_prompt_token(program: Any) -> float:
    model, logits = serving_faults._model(program), partial(serving_faults._logits, program)
    return float((logits(model, [3, 4, 5], [6]) - logits(model, [3, 8, 5], [6])).abs().max().item())


def beside_a_long_prompt(program: Any) -> float:
    model, first = serving_faults._model(program), partial(serving_faults._first, program)
    return float((first(model, [[3, 4]]) - first(model, [[3, 4], [*range(3, 12)]])).abs().max().item())


def variety(program: Any) -> list[int]:
    """How many tokens two hundred answers begin with, at temperatures of 1 and 3, after logits from −6 to 6."""
    stub = serving_faults._Stub(program, lambda ids: torch.linspace(-6, 6, 24).expand(*ids.shape, 24))
    return [len({first for (first,) in program.generate(stub, [[3]] * 200, 1, t, 0.8)}) for t in (1.0, 3.0)]


def nucleus(program: Any) -> float:
    """The probability of all tokens that ever come at top_p = 0.7."""
    logits = torch.randn(24, generator=torch.Generator().manual_seed(3))
    drawn = program.choose(logits.expand(2000, -1), 1.0, 0.7, torch.Generator().manual_seed(0))
    return float(logits.softmax(-1)[drawn.unique()].sum().item())


def behind_the_end(program: Any) -> int:
    """How many tokens stand behind END in the answers to 30 prompts together; none in the answers to each alone."""
    model, prompts = serving_faults._model(program), [[first, 2] for first in range(2, 24)] + [[5, 9, 7]] * 8
    model.head.bias.data[program.END] = 1.0
    assert all(program.END not in program.generate(model, [each], 20, 1.0)[0][:-1] for each in prompts)
    return sum(program.END in answer[:-1] for answer in program.generate(model, prompts, 20, 1.0))


def lengths(program: Any) -> list[int]:
    """How long an answer is beside one that ends early, and alone."""
    stub = serving_faults._Stub(program, lambda ids: serving_faults._sure(program, ids - 1))
    return [len(program.generate(stub, prompts, 5)[-1]) for prompts in ([[3], [9]], [[9]])]


def preferred(program: Any) -> str:
    """Which of two models `score` likes better, for an answer that counts up."""
    steps = {"repeats": 0, "counts": 1}
    stubs = {
        name: serving_faults._Stub(program, lambda ids, by=by: serving_faults._sure(program, ids + by))
        for name, by in steps.items()
    }
    return max(stubs, key=lambda name: program.score(stubs[name], [3, 4], [5, 6]))


def answers_again(program: Any) -> int:
    """How many answers one model gives to one prompt in twenty calls."""
    model = serving_faults._model(program).train()
    return len({tuple(program.generate(model, [[3, 4, 5]], 12)[0]) for _ in range(20)})


def cached_with_a_graph(program: Any) -> bool:
    model, found = serving_faults._model(program), []
    model.blocks[0].project.register_forward_hook(lambda module, inputs, out: found.append(out.requires_grad))
    program.generate(model, [[3, 4]], 3)
    return any(found)


def flat_answer(program: Any) -> int:
    """How many different tokens an answer of twenty has after flat logits."""
    stub = serving_faults._Stub(program, lambda ids: torch.eye(24)[ids * 0 + program.END] * -30)
    return len(set(program.generate(stub, [[3]], 20, 1.0)[0]))


def replaced(program: Any) -> float:
    """How far the direction of a step on four batches turns, if all but the last have other examples."""
    groups = [[program.collate(program.examples(8, seed)) for seed in seeds] for seeds in ((0, 1, 2, 3), (4, 5, 6, 3))]
    one, other = (tuning_faults._moved(program, group) for group in groups)
    return float((one / one.norm() - other / other.norm()).norm().item())


def split(program: Any) -> float:
    """How far a step on four batches is from the step on all their examples in one, as a share of its length."""
    every = program.examples(32, 0)
    groups = [[program.collate(every)], [program.collate(every[at : at + 8]) for at in range(0, 32, 8)]]
    whole, parts = (tuning_faults._moved(program, group) for group in groups)
    return float(((whole - parts).norm() / whole.norm()).item())


def right_tokens(program: Any) -> list[float]:
    """The shares of first tokens, of tokens in between, and of ENDs that a trained model gets right."""
    model = program.train()[0].eval()
    found: list[list[bool]] = [[], [], []]
    for prompt, answer in program.examples(60, 9):
        told = model(torch.tensor([[*prompt, *answer]]))[0].argmax(-1).tolist()[len(prompt) - 1 : -1]
        same = [one == other for one, other in zip(told, answer, strict=True)]
        for each, part in zip(found, (same[:1], same[1:-1], same[-1:]), strict=True):
            each.extend(part)
    return [sum(each) / len(each) for each in found]


def beside_a_long_answer(program: Any) -> float:
    model, (short, long) = program.train(epochs=1)[0], [([5, 3, 2], [3, 1]), ([5, 11, 2], [*range(11, 2, -1), 1])]
    alone, beside = (program.evaluate(model, [program.collate(each)])[0] for each in ([short], [short, long]))
    return abs(float(alone - beside))


def known(program: Any) -> int:
    """How many held-out examples a table of what was learned from has."""
    learned, evaluated, _ = tuning_faults._rows(program)
    return len({*evaluated} & {*learned}) * 60 // len({*evaluated})


def above_the_named(program: Any) -> int:
    """How many held-out examples have a larger loss than the one that is named as the hardest."""
    model, _, named = program.train()
    losses = [program.evaluate(model, [program.collate([each])])[0] for each in [named, *program.examples(60, 1)]]
    return sum(each > losses[0] + 1e-6 for each in losses)


SYMPTOMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], bool]]] = {
    "mask polarity": (held_out, lambda loss: loss < 0.8),
    "label shift": (continued, lambda repeated: repeated > 150),  # of 160
    "softmax twice": (held_out, lambda loss: 1.274 < loss < 1.7),
    "clip before unscale": (held_out, lambda loss: loss > 2),
    "no zero_grad": (skipped, lambda steps: steps == 8),
    "mean of means": (batch_sizes, lambda apart: apart > 1e-3),
    "in-place hook": (logging, lambda apart: apart > 1e-2),
    "no set_epoch": (same_rows, lambda same: same),
    "dropout in evaluation": (evaluated_twice, lambda apart: apart > 1e-3),
    "train mode forgotten": (batches_computed_twice, lambda same: same == [False, True]),
    "evaluation recorded": (outputs_that_require_grad, lambda count: count == 1),
    "graphs kept": (graphs_alive, lambda alive: alive == [8, 15]),
    "scheduler first": (rates, lambda seen: seen == [0.1, 0.2, 1.0]),
    "best weights are an alias": (best_again, lambda losses: losses[1] - losses[0] > 0.02),
    "RoPE offset": (cached_and_whole, lambda apart: apart > 0.01),
    "mask without the cache": (second_prompt_token, lambda moved: moved == 0),
    "padding mask inverted": (beside_a_long_prompt, lambda apart: apart > 0.01),
    "temperature after top-p": (variety, lambda found: found[1] < 1.2 * found[0]),
    "nucleus too small": (nucleus, lambda mass: mass < 0.7),
    "no stop at END": (behind_the_end, lambda count: count > 0),
    "any for all": (lengths, lambda found: found[0] < found[1]),
    "score shift": (preferred, lambda name: name == "repeats"),
    "dropout while answering": (answers_again, lambda count: count > 1),
    "answers recorded": (cached_with_a_graph, lambda recorded: recorded),
    "a generator for each token": (flat_answer, lambda count: count == 1),
    "gradients cleared too often": (replaced, lambda turned: turned < 1e-4),
    "means of unequal batches": (split, lambda apart: apart > 0.02),
    "marks not shifted": (right_tokens, lambda right: right[0] == 0 and right[1] > 0.99),
    "the end ignored": (right_tokens, lambda right: right[1] > 0.99 and right[2] == 0),
    "padding marked": (beside_a_long_answer, lambda apart: apart > 1e-3),
    "last batches dropped": (lambda program: len(tuning_faults._rows(program)[0]), lambda rows: rows == 224),
    "validation in training": (known, lambda rows: rows == 60),
    "validation shuffled": (above_the_named, lambda above: above > 30),
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("fault", EVERY, ids=ids)
def test_a_symptom_is_there_with_the_fault_and_not_without(fault: Fault) -> None:
    measure, shows = SYMPTOMS[fault.name]
    assert shows(measure(faults.load(faults.planted([fault]))))
    assert not shows(measure(faults.load(faults.clean(fault.program))))


def test_no_answer_gets_below_the_entropy_that_the_symptom_names() -> None:
    """A token follows with probability 3/4 + 1/4 · 1/8, each other one with 1/32."""
    follows = torch.tensor([25 / 32] + [1 / 32] * 7)
    assert abs(-(follows * follows.log()).sum().item() - 0.951) < 1e-3
