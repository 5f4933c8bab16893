"""The debug round compares a repaired program with the correct one: half repairs are named, unusual ones pass."""

from __future__ import annotations

import pytest

from course.interview import compared, faults
from course.interview.compared import PROBES, Comparison
from course.interview.fault import Fault
from course.interview.faults import EVERY

ids = [fault.name for fault in EVERY]
pytestmark = pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step", "ignore:Converting a tensor")
SEED = 2026
Edits = tuple[tuple[str, str], ...]


def edited(program: str, edits: Edits) -> str:
    """The correct program with another text in some places."""
    source = faults.clean(program)
    for old, new in edits:
        assert source.count(old) == 1, (old, source.count(old))
        source = source.replace(old, new)
    return source


def one(old: str, new: str) -> Edits:
    return ((old, new),)


ZERO = "    optimizer.zero_grad()\n"
UNSCALE = "    scaler.unscale_(optimizer)\n"
CLIP = "    nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)\n"
SHUFFLES = "        sampler.set_epoch(epoch)\n"
TRAINS = "        model.train()\n"
EVALUATES = "    model.eval()\n"
DECAY = "        scheduler.step()\n"
BEST = "            best = copy.deepcopy(model.state_dict())\n"
RETURNS = ("    return loss.item()\n", "    return loss\n")
ADDS = "step(model, optimizer, scaler, rows)"
SIZE = "out.detach().square()"
VISIBLE = "        visible = causal & real[:, None]\n"
DRAW = "probabilities.masked_fill(before >= top_p, 0.0)"
KEEPS = "                if END not in answer:\n                    answer.append(token)\n"
DRAWS = "    generator = torch.Generator().manual_seed(seed)\n"
GROUP = "    for rows, marks in group:\n"
BACKWARD = "        (losses(model, rows, marks).sum() / count).backward()\n"
MARKED = "marks[:, 1:]\n\n\ndef step"
REST = "        if group:\n            step(model, optimizer, group)\n"

HALF: dict[str, tuple[Edits, ...]] = {
    "mask polarity": (
        one(".tril()", ".tril().triu(-2)"),  # sees three tokens alone
        one(".tril()", ".tril(-1).logical_or(torch.arange(x.shape[1]) == 0)"),  # sees all but itself
    ),
    "label shift": (
        one("model(rows[:, :-1]), rows[:, 1:]", "model(rows[:, :-1])[:, 1:], rows[:, 2:]"),  # drops the first target
        one("targets.flatten())", "targets.flatten(), label_smoothing=0.1)"),
    ),
    "softmax twice": (
        one("entropy(logits.flatten(0, 1),", "entropy(10 * logits.flatten(0, 1).softmax(-1),"),
        (
            (
                "return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())",
                "return 1 + nn.functional.nll_loss(logits.flatten(0, 1).softmax(-1), targets.flatten())",
            ),
        ),
    ),
    "clip before unscale": (
        one(CLIP, "    nn.utils.clip_grad_value_(model.parameters(), MAX_NORM)\n"),
        one(CLIP, "    for each in model.parameters():\n        nn.utils.clip_grad_norm_([each], MAX_NORM)\n"),
        ((UNSCALE, ""), (CLIP, "    nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM * 1024)\n")),
    ),
    "no zero_grad": (
        ((ZERO, ""), ("    scaler.update()\n", "    scaler.update()\n    model.head.zero_grad()\n")),
        ((ZERO, ""), ("    scaler.scale(loss).backward()\n", "    scaler.scale(loss).backward()\n" + ZERO)),
    ),
    "mean of means": (
        one("            count += len(rows)\n    return", "            count += loader.batch_size\n    return"),
        (
            (
                "        for (rows,) in loader:\n            total += loss_of",
                "        for (rows,) in loader:\n            if len(rows) < 3:\n"
                "                break\n            total += loss_of",
            ),
        ),
    ),
    "in-place hook": (
        one(SIZE, "out.detach().abs()"),
        one(
            "sizes.append(out.detach().square().mean().item())", "out.detach()"
        ),  # the log stays empty and outputs lose their graph
    ),
    "no set_epoch": (
        one(SHUFFLES, "        sampler.set_epoch(epoch % 2)\n"),
        (
            ("    sampler = DistributedSampler(data, num_replicas=2, rank=0)\n", ""),
            ("batch_size=32, sampler=sampler)", "batch_size=32, shuffle=True)"),  # both ranks' rows
            (SHUFFLES, ""),
        ),
    ),
    "dropout in evaluation": (
        one(
            EVALUATES,
            "    for each in model.modules():\n        if isinstance(each, nn.Dropout):\n            each.p = 0.0\n",
        ),
        one(
            "        for (rows,) in loader:\n            total += loss_of",
            "        for (rows,) in loader:\n"
            "            model.eval() if len(rows) > 2 else model.train()\n            total += loss_of",
        ),
    ),
    "train mode forgotten": (
        one(TRAINS, "        model.train(epoch < 2)\n"),
        ((TRAINS, ""), (EVALUATES, "")),  # training goes on in train mode, and so does the evaluation
    ),
    "evaluation recorded": (
        one(
            "    with torch.no_grad():\n        for (rows,)",
            "    torch.set_grad_enabled(False)\n    if True:\n        for (rows,)",
        ),
        one(
            "            total += loss_of(model, rows).item()",
            "            total += loss_of(copy.deepcopy(model).eval(), rows[:1]).item()",
        ),
    ),
    "graphs kept": (
        one("    return loss.item()\n", "    return 0.0\n"),
        one("    return loss.item()\n", "    return scaler.scale(loss).item()\n"),
        (RETURNS, ("history.append((total / count", "history.append((float(total) / count")),  # until the epoch ends
    ),
    "scheduler first": (
        ((DECAY, ""), (SHUFFLES, SHUFFLES + DECAY), ("step_size=2,", "step_size=3,")),  # the first decay is right
        one("step_size=2, gamma", "step_size=2 + 8 * (epochs > 4), gamma"),
    ),
    "best weights are an alias": (
        (
            (BEST, "            best = model.state_dict()\n"),
            ("return model, best,", "return model, copy.deepcopy(best),"),
        ),
        one("if history[-1][1] == min(held for _, held in history):", "if history[-1][1] <= history[-2:][0][1]:"),
    ),
    "RoPE offset": (
        one("(real.cumsum(1) - 1)[:, -count:]", "(real.cumsum(1) - 1)[:, -1:]"),  # all new tokens stand at one place
        one(
            "(real.cumsum(1) - 1)[:, -count:]", "(real.cumsum(1) - 1)[:, :count] + (length - count)"
        ),  # wrong with padding
    ),
    "mask without the cache": (
        one(".tril(length - count)", ""),  # the prompt sees what comes later
        one(".tril(length - count)", ".tril(length - 2)"),
    ),
    "padding mask inverted": (
        one(VISIBLE, "        visible = real[:, None]\n"),  # sees what comes later
        one(VISIBLE, "        visible = causal & real[:, None] & (torch.arange(length) >= length - 2)\n"),
    ),
    "temperature after top-p": (
        one(DRAW, f"{DRAW} ** (1 / temperature)"),  # the temperature counts twice
        one(DRAW, f"{DRAW} ** temperature"),  # it chooses the nucleus alone
    ),
    "nucleus too small": (
        one("before >= top_p", "before - probabilities >= top_p"),  # one token more
        one("before >= top_p", "before >= top_p + 0.1"),
    ),
    "no stop at END": (
        one(KEEPS, "                if END not in answer[:-2]:\n                    answer.append(token)\n"),
        one(KEEPS, "                if token != END:\n                    answer.append(token)\n"),
        one(
            "    return answers\n\n\ndef score",
            "    return [each if each[-1] == END else each[:8] for each in answers]\n\n\ndef score",
        ),
    ),
    "any for all": (
        one("all(END in answer for answer in answers)", "END in answers[-1]"),
        one("all(END in answer for answer in answers)", "sum(END in answer for answer in answers) > 1"),
    ),
    "score shift": (
        (
            ("len(prompt) - 1 : -1]", "len(prompt) : -1]"),
            ("ids[0, len(prompt) :, None]", "ids[0, len(prompt) + 1 :, None]"),
        ),
        one("return float(chosen.sum())", "return float(chosen.mean())"),
    ),
    "dropout while answering": (
        (
            (EVALUATES, ""),
            (
                "            logits = model(ids, real, caches)[:, -1]\n",
                "            logits = model(ids, real, caches)[:, -1]\n            model.eval()\n",
            ),
        ),
        one(EVALUATES, "    if temperature == 0:\n        model.eval()\n"),
    ),
    "answers recorded": (
        one(
            "    with torch.no_grad():\n        for _", "    torch.set_grad_enabled(False)\n    if True:\n        for _"
        ),
        one("    with torch.no_grad():\n        for _", "    model.requires_grad_(False)\n    if True:\n        for _"),
    ),
    "a generator for each token": (
        one(DRAWS, "    generator = torch.Generator()\n    generator.seed()\n"),  # no seed decides
        (
            (DRAWS, ""),
            (
                "        for _ in range(most):\n",
                "        for at in range(most):\n"
                "            generator = torch.Generator().manual_seed(seed + at % 2)\n",
            ),
        ),
        one(DRAWS, "    generator = torch.Generator().manual_seed(0)\n"),
    ),
    "gradients cleared too often": (
        ((ZERO + GROUP, f"    for at, (rows, marks) in enumerate(group):\n        if at % 2 == 0:\n        {ZERO}"),),
        ((ZERO, ""),),  # never cleared
        ((ZERO + GROUP, GROUP), (BACKWARD, f"    {ZERO}{BACKWARD}        optimizer.step()\n")),  # a step for each batch
    ),
    "means of unequal batches": (
        one(
            "    count = sum(marks[:, 1:].sum().item() for _, marks in group)\n",
            "    count = sum(each[1][:, 1:].sum().item() for each in group[:2])\n",
        ),
        one(
            BACKWARD,
            "        (losses(model, rows, marks).sum() / count * (len(rows) / 2 if group[2:] else 1)).backward()\n",
        ),
    ),
    "marks not shifted": (
        one(f"targets.shape) * {MARKED}", "targets.shape) * (marks[:, 1:] | marks[:, :-1])\n\n\ndef step"),
        one(
            "return each.reshape(targets.shape) * marks[:, 1:]", "return each.reshape(targets.shape) * (targets != PAD)"
        ),
    ),
    "the end ignored": (
        one(
            'reduction="none")', 'reduction="none", weight=torch.ones(TOKENS).index_fill(0, torch.tensor([END]), 0.5))'
        ),
        one('reduction="none")', 'reduction="none", ignore_index=3)'),
    ),
    "padding marked": (
        one("[True] * len(answer) + [False] * rest", "[True] * (len(answer) - 1) + [False] * (rest + 1)"),
        one("[False] * len(prompt) + [True]", "[False] * (len(prompt) - 1) + [True] * 1 + [True]"),
    ),
    "last batches dropped": (
        one(
            REST, "        while 0 < len(group) < PARTS:\n            group.append(group[0])\n" + REST
        ),  # two batches again
        one(
            REST,
            "        for pair in group:\n"
            "            step(model, optimizer, [pair])\n            step(model, optimizer, [pair])\n",
        ),
    ),
    "validation in training": (
        one(
            "data, held_out = examples(240, seed), examples(60, seed + 1)",
            "data = examples(240, seed)\n    held_out = examples(60, seed + 1)[:6]",
        ),
        one(
            "data, held_out = examples(240, seed), examples(60, seed + 1)",
            "data = examples(300, seed)\n    held_out = data[240:]",
        ),
    ),
    "validation shuffled": (
        one("means.index(max(means))", "means.index(max(means)) % 16"),
        one("held_out[means.index(max(means))]", "max(held_out, key=lambda pair: sum(pair[0] + pair[1]))"),
    ),
}
"""For each fault, other texts of the correct program, which somebody may take for a repair."""

EQUAL: dict[str, tuple[Edits, ...]] = {
    "training": (
        (
            (".tril()", ""),
            ("(~may_see, ", "(may_see.triu(1), "),
            ("q @ k.transpose(1, 2) / WIDTH**0.5", "torch.einsum('btd,bsd->bts', q, k) * WIDTH**-0.5"),
        ),
        one("model(rows[:, :-1]), rows[:, 1:]", "model(rows)[:, :-1], rows[:, 1:]"),
        one("cross_entropy(logits.flatten(0, 1), ", "nll_loss(logits.flatten(0, 1).log_softmax(-1), "),
        one("out.detach().square()", "out.detach().clone().square_()"),
        one("out.detach().square().mean()", "(out * out).detach().mean()"),
        ((ZERO, ""), ("    scaler.update()\n", "    scaler.update()\n    model.zero_grad()\n")),
        ((UNSCALE, ""), (CLIP, "    nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM * scaler.get_scale())\n")),
        one("    return loss.item()\n", "    return float(loss.detach())\n"),
        one("    return loss.item()\n", "    return loss.detach()\n"),
        (RETURNS, (ADDS, f"{ADDS}.item()")),
        (RETURNS, (ADDS, f"{ADDS}.detach()")),
        (RETURNS, (ADDS, "float(step(model, optimizer, scaler, rows))")),
        (("            count += len(rows)\n    return total / count", "    return total / len(loader.dataset)"),),
        (
            (EVALUATES, ""),
            ("def evaluate", "@torch.no_grad()\ndef evaluate"),
            (
                "    with torch.no_grad():\n        for (rows,)",
                "    model.train(False)\n    if True:\n        for (rows,)",
            ),
        ),
        (
            (TRAINS, ""),
            ("    return total / count\n\n\ndef train", "    model.train()\n    return total / count\n\n\ndef train"),
        ),
        one(SHUFFLES, "        sampler.set_epoch(seed + epoch + 1)\n"),
        (("step_size=2,", "step_size=2 * len(loader),"), ("len(rows)\n" + DECAY, "len(rows)\n    " + DECAY)),
        (("StepLR(optimizer, step_size=2, gamma=0.5)", "LambdaLR(optimizer, lambda epoch: 0.5 ** (epoch // 2))"),),
        one("copy.deepcopy(model.state_dict())", "{name: each.clone() for name, each in model.state_dict().items()}"),
        one(
            "if history[-1][1] == min(held for _, held in history):",
            "if all(history[-1][1] <= held for _, held in history):",
        ),
    ),
    "serving": (
        one("(real.cumsum(1) - 1)[:, -count:]", "torch.arange(length - count, length).expand(len(ids), -1)"),
        one("(real.cumsum(1) - 1)[:, -count:]", "real.cumsum(1)[:, length - count :]"),
        one(".tril(length - count)", ".triu(1 + length - count).logical_not()"),
        one(
            "causal = torch.ones(count, length, dtype=torch.bool).tril(length - count)",
            "causal = torch.arange(length) <= torch.arange(length - count, length)[:, None]",
        ),
        one("causal & real[:, None]", "(causal * real[:, None]).bool()"),
        (
            (
                "    probabilities, places = (logits / temperature).softmax(-1).sort(-1, descending=True)\n",
                "    ordered, places = logits.sort(-1, descending=True)\n"
                "    probabilities = (ordered / temperature).softmax(-1)\n",
            ),
            (DRAW, "probabilities * (before < top_p)"),
        ),
        (
            ("    return places.gather(-1, drawn)[:, 0]\n", "    return drawn[:, 0]\n"),
            (
                DRAW,
                "torch.zeros_like(probabilities).scatter(-1, places, probabilities.masked_fill(before >= top_p, 0.0))",
            ),
        ),
        one(KEEPS, "                if not answer or answer[-1] != END:\n                    answer.append(token)\n"),
        (
            (KEEPS, "                answer.append(token)\n"),
            (
                "    return answers\n\n\ndef score",
                "    return [each[: each.index(END) + 1] if END in each else each for each in answers]\n\n\ndef score",
            ),
        ),
        one("all(END in answer for answer in answers)", "sum(END in answer for answer in answers) == len(prompts)"),
        one("len(prompt) - 1 : -1]", "len(prompt) - 1 :]"),
        one("    model.eval()\n", "    for module in [model]:\n        module.train(False)\n"),
        (
            ("    with torch.no_grad():\n        for _", "    if True:\n        for _"),
            ("def generate(", "@torch.inference_mode()\ndef generate("),
        ),
        ((DRAWS, "    torch.manual_seed(seed)\n    generator = None\n"),),
        (
            (DRAWS, ""),
            (
                "        for _ in range(most):\n",
                "        for at in range(most):\n"
                "            generator = torch.Generator().manual_seed(1000 * seed + at)\n",
            ),
        ),
    ),
    "tuning": (
        ((ZERO + GROUP, f"    for at, (rows, marks) in enumerate(group):\n        if at == 0:\n        {ZERO}"),),
        ((ZERO, ""), ("    optimizer.step()\n", f"    optimizer.step()\n{ZERO}")),
        (
            (BACKWARD, "        (losses(model, rows, marks).sum()).backward()\n"),
            (
                "    optimizer.step()\n",
                "    for each in model.parameters():\n        each.grad /= count\n    optimizer.step()\n",
            ),
        ),
        one(
            "targets.shape) * marks[:, 1:]\n\n\ndef step",
            "targets.shape).masked_fill(~marks[:, 1:], 0.0)\n\n\ndef step",
        ),
        one('reduction="none")', 'reduction="none", ignore_index=PAD)'),
        one(
            "marks.append([False] * len(prompt) + [True] * len(answer) + [False] * rest)",
            "marks.append([len(prompt) <= at < length - rest for at in range(length)])",
        ),
        (
            (
                "            if len(group) == PARTS:",
                "            taken += 1\n            if len(group) == PARTS or taken == len(loader):",
            ),
            ("        group: list", "        taken = 0\n        group: list"),
            (REST, ""),
        ),
        one(
            "data, held_out = examples(240, seed), examples(60, seed + 1)",
            "every = examples(300, seed)\n    data, held_out = every[:240], every[240:]",
        ),
        one(
            "data, held_out = examples(240, seed), examples(60, seed + 1)",
            "every = examples(240, seed)\n    data, held_out = every[60:], every[:60]",
        ),
        one(
            "held_out[means.index(max(means))]", "max(held_out, key=lambda pair: evaluate(model, [collate([pair])])[0])"
        ),
    ),
}
"""Other texts of each program that compute the same."""


@pytest.mark.parametrize("fault", EVERY, ids=ids)
def test_a_fault_shows_in_what_a_function_gives(fault: Fault) -> None:
    """Or nothing would compare its repair."""
    shown = []
    for each in PROBES[fault.program]:
        mine, right = (compared._of_course(planted, fault.program, each, SEED) for planted in ((fault,), ()))
        if compared.apart(mine, right, each):
            shown.append(each.function)
    assert {*shown} & compared._places(fault)


@pytest.mark.turns(4)
@pytest.mark.parametrize("fault", EVERY, ids=ids)
def test_a_half_repair_is_refused(fault: Fault) -> None:
    assert len(HALF[fault.name]) >= 2
    for edits in HALF[fault.name]:
        source = edited(fault.program, edits)
        found = compared.compared(source, [fault], [], SEED)
        assert faults.complaint(fault, faults.load(source)) or fault.name in found.half, edits


@pytest.mark.parametrize(
    ("name", "edits", "told"),
    [
        (
            "dropout while answering",
            one(EVALUATES, "    if temperature == 0:\n        model.eval()\n"),
            "at temperature 1, `model.training` is True instead of False",
        ),
        (
            "train mode forgotten",
            one(TRAINS, "        if epoch == 0:\n            model.train()\n"),
            "in epoch 1, `model.training` is False instead of True",
        ),
    ],
)
def test_a_wrong_mode_is_named_where_it_is_wrong(name: str, edits: Edits, told: str) -> None:
    """`True instead of False` alone says nothing."""
    fault = faults.named(name)
    assert told in compared.compared(edited(fault.program, edits), [fault], [], SEED).half[name]


def test_most_half_repairs_hide_their_symptom() -> None:
    hidden = {
        fault.name
        for fault in EVERY
        for edits in HALF[fault.name]
        if not faults.complaint(fault, faults.load(edited(fault.program, edits)))
    }
    assert len(hidden) >= 25


@pytest.mark.turns(4)
@pytest.mark.parametrize("program", EQUAL)
def test_an_unusual_repair_that_computes_the_same_passes(program: str) -> None:
    own = [fault for fault in EVERY if fault.program == program]
    for edits in EQUAL[program]:
        source = edited(program, edits)
        assert compared.compared(source, own, [], SEED) == Comparison(), edits
        assert [fault.name for fault in own if faults.complaint(fault, faults.load(source))] == [], edits


@pytest.mark.turns(4)
@pytest.mark.parametrize("fault", EVERY, ids=ids)
def test_a_repair_counts_beside_faults_that_are_still_there(fault: Fault) -> None:
    left = [each for each in EVERY if each.program == fault.program and each.name not in (fault.name, fault.hidden_by)]
    left = [each for each in left if each.hidden_by != fault.name]
    assert compared.compared(faults.planted(left), [fault], left, SEED) == Comparison()
