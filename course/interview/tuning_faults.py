"""The faults of `tuning.py`, each with an assertion of its own."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from course.interview.fault import Fault, Program, expect


def each_batch_of_a_step_counts(program: Program) -> None:
    """With another first batch, the weights move differently."""
    one, other, last = (program.collate(program.examples(8, seed)) for seed in range(3))
    moves = [_moved(program, [first, last]) for first in (one, other)]
    apart = ((moves[0] - moves[1]).norm() / moves[0].norm()).item()
    expect(apart > 0.01, f"another first batch changed the step by {apart:.1%}")


def a_token_counts_the_same_in_each_batch(program: Program) -> None:
    """Beside a batch with six tokens of answers, one with two has a quarter of the weight."""
    import minitorch as torch

    weight = torch.nn.Parameter(torch.zeros(()))
    rows = torch.arange(2 * 4).reshape(2, 4)  # the second batch alone has a gradient
    first, last = torch.ones(2, 4, dtype=torch.bool), torch.zeros(2, 4, dtype=torch.bool)
    last[:, 1] = True
    losses = program.losses
    program.losses = lambda model, rows, marks: weight * rows[:, 1:].gt(99) * marks[:, 1:]  # type: ignore[attr-defined]
    try:
        model = torch.nn.ParameterList([weight])
        program.step(model, torch.optim.SGD([weight], lr=1.0), [(rows, first), (rows + 100, last)])
    finally:
        program.losses = losses  # type: ignore[attr-defined]
    share = -weight.item()
    expect(abs(share - 0.25) < 1e-3, f"two of eight tokens have a weight of {share:.0%}, and should have 25%")


def the_first_token_of_an_answer_counts(program: Program) -> None:
    """The token after ASK has a loss."""
    loss = _uniform(program)[2]
    expect(loss > 0.1, f"with uniform logits, the first token of an answer has a loss of {loss:.2f}")


def the_end_of_an_answer_counts(program: Program) -> None:
    """END has a loss as the other tokens of an answer."""
    loss = _uniform(program)[4]
    expect(loss > 0.1, f"with uniform logits, the END of an answer has a loss of {loss:.2f}")


def padding_does_not_count(program: Program) -> None:
    """No place behind an answer is marked as one of its tokens."""
    short, long = ([3, program.ASK], [3, program.END]), ([3, 4, 9, program.ASK], [9, 8, 7, 6, 5, 4, 3, program.END])
    _, marks = program.collate([short, long])
    wrong = int(marks[0, 4:].sum().item())
    expect(not wrong, f"{wrong} of {marks.shape[1] - 4} places of padding are marked as tokens of the answer")


def each_example_is_learned_from(program: Program) -> None:
    """In an epoch each example that isn't held out comes to `step`, and none comes twice."""
    learned, evaluated, made = _rows(program)
    missed = sum(row not in evaluated for row in (Counter(made) - Counter(learned)).elements())
    again = (Counter(learned) - Counter(made)).total()
    expect(not missed and not again, f"in the first epoch {missed} examples came to no step, and {again} came twice")


def no_held_out_example_was_learned_from(program: Program) -> None:
    """What is evaluated doesn't come to `step`."""
    learned, evaluated, _ = _rows(program)
    known = sum(row in learned for row in evaluated)
    expect(known < 0.1 * len(evaluated), f"{known} of {len(evaluated)} held-out examples are in the training set")


def the_hardest_example_has_the_largest_loss(program: Program) -> None:
    """If an example's loss were the sum of its tokens, the one with the largest sum would be named."""
    sums: list[float] = []

    def summed(model: Any, loader: Any) -> list[float]:
        found = [float(each) for rows, _ in loader for each in rows.sum(1).tolist()]  # PAD is 0
        sums.extend(found)
        return found

    evaluate = program.evaluate
    program.evaluate = summed  # type: ignore[attr-defined]
    try:
        prompt, answer = program.train(epochs=1)[2]
    finally:
        program.evaluate = evaluate  # type: ignore[attr-defined]
    named = sum(prompt + answer)
    expect(named == max(sums), f"with losses up to {max(sums):.0f}, an example with {named} was named as the hardest")


def _moved(program: Program, group: list[tuple[Any, Any]]) -> Any:
    """How one step on these batches moves the weights."""
    import minitorch as torch

    torch.manual_seed(0)
    model = program.Model().eval()
    before = torch.cat([each.detach().flatten() for each in model.parameters()])
    program.step(model, torch.optim.SGD(model.parameters(), lr=0.1), group)
    return torch.cat([each.detach().flatten() for each in model.parameters()]) - before


def _uniform(program: Program) -> list[float]:
    """The loss of each next token of 5 4 ASK 4 3 END PAD, with uniform logits."""
    import minitorch as torch

    rows = torch.tensor([[5, 4, program.ASK, 4, 3, program.END, program.PAD]])
    marks = torch.tensor([[False] * 3 + [True] * 3 + [False]])
    found: list[float] = program.losses(lambda tokens: torch.zeros(*tokens.shape, program.TOKENS), rows, marks)[
        0
    ].tolist()
    return found


def _rows(program: Program) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]], list[tuple[int, ...]]]:
    """The rows that are learned from in one epoch, those that are evaluated, and all that were made."""
    learned: list[tuple[int, ...]] = []
    evaluated: list[tuple[int, ...]] = []
    made: list[tuple[int, ...]] = []
    step, evaluate, examples = program.step, program.evaluate, program.examples

    def plain(rows: Any) -> list[tuple[int, ...]]:
        return [tuple(token for token in row if token != program.PAD) for row in rows.tolist()]

    def stepped(model: Any, optimizer: Any, group: Any) -> None:
        learned.extend(row for rows, _ in group for row in plain(rows))
        step(model, optimizer, group)

    def noted(model: Any, loader: Any) -> Any:
        evaluated.extend(row for rows, _ in loader for row in plain(rows))
        return evaluate(model, loader)

    def counted(count: int, seed: int) -> Any:
        found = examples(count, seed)
        made.extend((*prompt, *answer) for prompt, answer in found)
        return found

    program.step, program.evaluate, program.examples = stepped, noted, counted  # type: ignore[attr-defined]
    try:
        program.train(epochs=1)
    finally:
        program.step, program.evaluate, program.examples = step, evaluate, examples  # type: ignore[attr-defined]
    return learned, evaluated, made


_fault = partial(Fault, program="tuning")
_GROUP = "    for rows, marks in group:\n"
_CLEARED = "    optimizer.zero_grad()\n"
_REST = "        if group:\n            step(model, optimizer, group)\n"

TUNING = (
    _fault(
        "gradients cleared too often",
        "19",
        "Of the 32 examples of a step, 24 could be replaced with any others, and the weights would still move in the "
        "same direction.",
        "`zero_grad` is called before each batch, so the gradients of all batches but the last are lost. It belongs "
        "before the loop.",
        ((_CLEARED + _GROUP, f"{_GROUP}    {_CLEARED}"),),
        each_batch_of_a_step_counts,
    ),
    _fault(
        "means of unequal batches",
        "28",
        "A step on four batches isn't the step on the same 32 examples in one batch.",
        "Each batch is divided by its own number of tokens, so a token of a short answer counts more. The number is "
        "that of all batches.",
        (
            ("    count = sum(marks[:, 1:].sum().item() for _, marks in group)\n", ""),
            (".sum() / count)", ".sum() / marks[:, 1:].sum() / len(group))"),
        ),
        a_token_counts_the_same_in_each_batch,
    ),
    _fault(
        "marks not shifted",
        "28",
        "After four epochs the first token of each answer is wrong, and all the others are right.",
        "The targets are one token further than the inputs, and the marks aren't: `[:, :-1]` for `[:, 1:]`.",
        (("(targets.shape) * marks[:, 1:]", "(targets.shape) * marks[:, :-1]"),),
        the_first_token_of_an_answer_counts,
    ),
    _fault(
        "the end ignored",
        "28",
        "The model counts down well. But it never ends an answer, however long it is trained.",
        "`ignore_index` is END, so nothing is learned about it. Here padding has a token of its own, and no mark.",
        (('reduction="none")', 'reduction="none", ignore_index=END)'),),
        the_end_of_an_answer_counts,
    ),
    _fault(
        "padding marked",
        "24d",
        "The held-out loss of an answer changes when a longer answer is in the same batch.",
        "All that follows the prompt is marked, and so the padding counts as a part of the answer.",
        (("[True] * len(answer) + [False] * rest", "[True] * (len(answer) + rest)"),),
        padding_does_not_count,
    ),
    _fault(
        "last batches dropped",
        "19",
        "Although the loader brings 240 examples in each epoch, 16 of them make no difference to the weights.",
        "30 batches are seven groups of four and two batches more, for which there is no step after the loop.",
        ((_REST, ""),),
        each_example_is_learned_from,
    ),
    _fault(
        "validation in training",
        "19",
        "A table of the training examples, which knows nothing else, gets each held-out example right.",
        "The held-out examples are drawn with the seed of the training set, so they are its first 60.",
        (("examples(60, seed + 1)", "examples(60, seed)"),),
        no_held_out_example_was_learned_from,
    ),
    _fault(
        "validation shuffled",
        "19",
        "Most of the held-out examples have a larger loss than the one that `train` names as the hardest.",
        "The held-out loader shuffles, so the place of a loss is no longer that of its example.",
        (
            (
                "(held_out, batch_size=16, collate_fn=collate)",
                "(held_out, batch_size=16, shuffle=True, collate_fn=collate)",
            ),
        ),
        the_hardest_example_has_the_largest_loss,
    ),
)
"""All of them can be planted together."""
