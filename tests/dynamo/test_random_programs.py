"""Programs made up at random, of tensors, branches, loops, prints, closures and effects: compiled as eager."""

from __future__ import annotations

import random
import sys
from typing import Any

import pytest

import minitorch as torch
from minitorch._dynamo.stack import VERSION

pytestmark = pytest.mark.skipif(sys.version_info[:2] != VERSION, reason="capture reads the bytecode of Python 3.11")

HEAD = """
log, state = [], {"n": 0}

class Box:
    seen = 0

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.count = torch.nn.Parameter(torch.ones(3)), 0
    def forward(self, x):
        self.count += 1
        y = x * self.weight
        return y + self.count if y.sum() > 1 else y

def noisy(x):
    y = x + 1
    print("noisy", y.sum() > 0)
    return y * 2

box, model = Box(), Model()
"""
VALUES = "{a} + {b}", "{a} * {b}", "{a}.sin()", "{a} * {n}", "noisy({a})", "model({a})", "{a}.view(3, 1).sum(1)"
PLAIN = [
    *("{v} = {value}", "{v} = {value}", "print({n}, {a}.shape)", "n = {a}.sum().item()", "box.seen += 1"),
    *("log.append({n})", "xs.append({a})", "state['n'] = {n}", "k = {n} + 1", "{v} = (lambda y: y * k + n)({a})"),
    "{v} = {{'a': {a}, 'n': {n}}}['a'] * 2",
]
BLOCKS = [
    "if {a}.sum() > {n}:\n    BLOCK\nelse:\n    BLOCK",
    "if {a}.sum() > 0:\n    BLOCK\n    if {b}.sum() > 2:\n        return {a}, xs, {n}",
    "for i in range(3):\n    BLOCK",
    "with torch.no_grad():\n    BLOCK",
    "try:\n    BLOCK\n    raise ValueError({n})\nexcept ValueError as error:\n    print('caught', error)",
]
"""Statements around others, which take the place of BLOCK."""


def program(seed: int) -> str:
    """A function of two tensors and a number."""
    rng = random.Random(seed)

    def statement(depth: int) -> str:
        if depth < 2 and rng.random() < 0.3:
            text = filled(rng.choice(BLOCKS))
            while "BLOCK" in text:
                before, _, after = text.partition("BLOCK")
                pad = before[before.rfind("\n") + 1 :]
                body = "\n".join(statement(depth + 1) for _ in range(2)).replace("\n", "\n" + pad)
                text = before + body + after
            return text
        return filled(rng.choice(PLAIN))

    def filled(text: str) -> str:
        fields = {key: rng.choice("xyzw") for key in "abv"} | {"n": rng.choice(["n", "k", "2", "len(xs)"])}
        return text.format(**fields, value=rng.choice(VALUES).format(**fields))

    body = "\n".join(statement(0) for _ in range(rng.randrange(4, 10))).replace("\n", "\n    ")
    head = "def function(x, w, n):\n    k, xs, y, z = n, [x], x + 1, w * 2"
    return f"{head}\n    {body}\n    return y + z + sum(xs), xs, n\n"


def observed(text: str, backend: str | None, capsys: Any) -> list[str]:
    """All that five calls of a program give, print and leave behind."""
    scope: dict[str, Any] = {"torch": torch}
    exec(compile(HEAD + text, "<program>", "exec"), scope)
    function, model = scope["function"], scope["model"]
    called = function if backend is None else torch.compile(function, backend=backend)
    found = []
    for value, n in ((1.0, 2), (-1.0, 2), (0.5, 3), (-0.5, 1), (2.0, 0)):
        x, w = torch.tensor([value, 2.0, -0.5], requires_grad=n > 2), torch.tensor([0.5, -1.0, value])
        result, xs, number = called(x, w, n)
        if result.requires_grad:
            result.sum().backward()
        tensors = [[*each.tolist()] for each in (result.detach(), *(each.detach() for each in xs), x.detach())]
        found.append(
            f"{tensors} {number} {x.grad} {model.weight.grad} {model.count} {len(scope['log'])} {scope['state']}"
        )
    return [*found, str(scope["box"].seen), str(scope["log"]), capsys.readouterr().out]


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_compiled_programs_do_what_eager_ones_do(backend: str, capsys: Any) -> None:
    graphs = torch._dynamo.utils.counters["stats"]
    before = graphs["unique_graphs"]
    for seed in range(25):
        text = program(seed)
        assert observed(text, backend, capsys) == observed(text, None, capsys), text
    assert graphs["unique_graphs"] - before > 50
