"""Faults for a debug round, planted into one of its programs: each has a symptom, and an assertion of its own."""

from __future__ import annotations

import io
import itertools
import tokenize
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from course.interview.fault import Fault, Program
from course.interview.serving_faults import SERVING
from course.interview.training_faults import TRAINING
from course.interview.tuning_faults import TUNING

PROGRAMS = {
    "training": (
        "trains a small language model",
        "`train()[2]` then gives each epoch's losses: training, held out",
    ),
    "serving": (
        "continues prompts with a small language model that has a cache",
        "`generate(Model(), [[3, 4, 5], [6, 7]], 8)` then gives two answers, and `score` the log-probability of one",
    ),
    "tuning": (
        "tunes a small language model on prompts and answers",
        "`train()[1:]` then gives the held-out loss after each epoch, and the held-out example with the largest one",
    ),
}
"""What each program does, and what to begin with."""
FAULTS = TRAINING
EVERY = (*TRAINING, *SERVING, *TUNING)
"""All faults; those of one program can be planted together."""


def clean(program: str = "training") -> str:
    """The text of a program without faults."""
    return Path(__file__).with_name(f"{program}.py").read_text(encoding="utf-8")


def planted(faults: Iterable[Fault]) -> str:
    """The text of a program with these faults in it; of `training.py`, if there are none."""
    chosen = list(faults)
    source = clean(chosen[0].program) if chosen else clean()
    for fault in chosen:
        source = fault.planted(source)
    return source


def spelled(source: str, rng: np.random.Generator) -> str:
    """The program's text with other names for what is local, so that no two interviews show the same text."""
    chosen = {name: str(rng.choice([name, *others])) for name, others in _SPELLINGS.items()}
    chosen |= {name: (name, *_SPELLINGS[name])[_place(chosen, other)] for name, other in _BESIDE.items()}
    lines = source.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    for before, token in reversed(list(itertools.pairwise(tokens))):  # from the end, so that places stay
        if token.type == tokenize.NAME and token.string in chosen and before.string != ".":
            line, (row, start) = lines[token.start[0] - 1], token.start
            lines[row - 1] = line[:start] + chosen[token.string] + line[start + len(token.string) :]
    return "".join(lines)


_SPELLINGS = {
    "rows": ("batch", "ids"),
    "drawn": ("sampled", "picked"),
    "may_see": ("allowed", "visible"),
    "scores": ("similarity", "products"),
    "x": ("h", "hidden"),
    "total": ("summed", "running"),
    "count": ("number", "amount"),
    "loss": ("cost", "objective"),
    "loader": ("batches", "feed"),
    "held_out": ("validation", "unseen"),
    "best": ("snapshot", "best_weights"),
    "history": ("curve", "log"),
    "sizes": ("squares", "mean_squares"),
    "angles": ("phases", "theta"),
    "left": ("first", "x1"),
    "right": ("second", "x2"),
    "causal": ("earlier", "past"),
    "weights": ("attention", "attn"),
    "probabilities": ("probs", "sorted_probs"),
    "places": ("order", "indices"),
    "before": ("previous", "preceding"),
    "marks": ("loss_mask", "is_answer"),
    "group": ("micro_batches", "several"),
    "means": ("by_answer", "mean_losses"),
    "pairs": ("items", "entries"),
    "parts": ("pieces", "qkv"),
    "half": ("middle", "split_at"),
    "positions": ("position_ids", "pos"),
    "answers": ("replies", "outputs"),
    "length": ("span", "size"),
}
"""Names of the programs that are local to their functions, and no keyword of anything, with others that would do."""
_BESIDE = {"right": "left"}
"""Names that are spelled like another: nobody writes `first` and `x2`."""


def _place(chosen: Mapping[str, str], name: str) -> int:
    """Which spelling of a name was chosen."""
    return (name, *_SPELLINGS[name]).index(chosen[name])


def together(order: Iterable[Fault], count: int) -> list[Fault]:
    """The first `count` faults of an order that don't hide each other."""
    chosen: list[Fault] = []
    for fault in order:
        if len(chosen) < count and not any(each.hidden_by == fault.name for each in chosen):
            chosen += [fault] if fault.hidden_by not in {each.name for each in chosen} else []
    return chosen


def load(source: str) -> Program:
    """Run a program's text as a module."""
    program = Program("training")
    exec(compile(source, "training.py", "exec"), program.__dict__)
    return program


def complaint(fault: Fault, program: Program) -> str:
    """What a fault's assertion says of a program; empty if it holds."""
    import minitorch as torch

    try:
        with torch.enable_grad():  # and afterwards autograd is as it was, whatever the program does to it
            fault.sees(program)
    except AssertionError as error:
        return str(error)
    except Exception as error:  # the program may be anything
        return f"{type(error).__name__}: {error}"
    return ""


def named(name: str) -> Fault:
    """The fault of this name.

    Raises:
        KeyError: there is none.
    """
    return {fault.name: fault for fault in EVERY}[name]
