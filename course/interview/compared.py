"""A repaired program of a debug round against the correct one: which functions give other results on random inputs."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import minitorch as torch
from course.interview import faults
from course.interview.fault import Fault
from course.interview.probe import Probe
from course.interview.serving_probes import SERVING
from course.interview.training_probes import TRAINING
from course.interview.tuning_probes import TUNING
from course.parsed import parsed

PROBES: dict[str, tuple[Probe, ...]] = {"training": TRAINING, "serving": SERVING, "tuning": TUNING}
"""Of each program, those of a function before those of its callers, and the particular ones before the general."""


@dataclass(frozen=True)
class Raised:
    """What came of a function that raised an exception."""

    told: str


@dataclass
class Comparison:
    """What a repaired program does otherwise than the correct one.

    `half` says it of each fault whose repair is to blame, and `besides` lists what no repair is to blame for.
    """

    half: dict[str, str] = field(default_factory=dict)
    besides: list[str] = field(default_factory=list)


def compared(source: str, repaired: Sequence[Fault], left: Sequence[Fault], seed: int) -> Comparison:
    """Compare a program, function by function, with the correct one on inputs that are drawn from a seed.

    Args:
        repaired: the faults whose symptom is gone.
        left: the others that were planted. A function that they change can't be compared.
    """
    program = (*repaired, *left)[0].program
    found, cleared = Comparison(), set[str]()
    wrong: set[str] = set()
    """The functions that gave other results. The correct ones stand for them while their callers are looked at."""
    for each in PROBES[program]:
        right = _of_course((), program, each, seed)
        moved = [fault for fault in (*repaired, *left) if apart(_of_course((fault,), program, each, seed), right, each)]
        if any(fault in left or fault.name in found.half for fault in moved):
            continue
        mine = _outcome(_with_correct(source, program, wrong - {each.function}), each, seed)
        if not (said := apart(mine, right, each)):
            cleared |= {fault.name for fault in moved}
            continue
        if each.function in wrong and not moved:
            continue  # the same difference once more
        told = f"`{each.function}` gives other results than the correct program for {each.inputs}: {said}"
        candidates = [fault for fault in repaired if fault.name not in found.half]
        blamed = _blamed(source, each.function, moved, candidates, cleared)
        found.half |= {fault.name: told for fault in blamed}
        if not blamed:
            found.besides.append(told)
        wrong.add(each.function)
    return found


def _blamed(
    source: str, function: str, moved: list[Fault], repaired: list[Fault], cleared: Collection[str]
) -> list[Fault]:
    """Whose repair is to blame for other results of a function.

    First, the faults that would have moved these results, without those that other results of theirs have cleared. Then
    a fault of the same function, and then one whose symptom comes back with the correct function.
    """
    if moved:
        return [fault for fault in moved if fault.name not in cleared] or moved
    there = [fault for fault in repaired if function in _places(fault)]
    if there:
        return [fault for fault in there if fault.name not in cleared]
    with_correct = _with_correct(source, repaired[0].program, {function}) if repaired else source
    return [fault for fault in repaired if faults.complaint(fault, faults.load(with_correct))]


def apart(mine: Any, right: Any, each: Probe) -> str:
    """How results differ: `3 instead of 2`; empty if they are the same."""
    if isinstance(mine, Raised):
        return f"it raises {mine.told}"
    if isinstance(right, dict) and isinstance(mine, dict) and mine.keys() == right.keys():
        found = (f"{key} {said}" for key in right if (said := apart(mine[key], right[key], each)))
        return next(found, "")
    if isinstance(right, list | tuple) and isinstance(mine, list | tuple) and len(mine) == len(right):
        return next(filter(None, (apart(one, other, each) for one, other in zip(mine, right, strict=True))), "")
    one, other = _array(mine), _array(right)
    if one is None or other is None or one.shape != other.shape:
        return "" if _is_same(mine, right) else f"{_short(mine)} instead of {_short(right)}"
    if not other.size:
        return ""
    far = np.where(np.isnan(one) & np.isnan(other), 0.0, np.abs(one - other))
    far = np.where(np.isnan(far), np.inf, far)
    if far.max() <= each.tolerance * np.abs(np.nan_to_num(other)).max() + 1e-5:
        return ""
    at = np.unravel_index(far.argmax(), far.shape)
    return f"{one[at]:.3g} instead of {other[at]:.3g}"


def _array(value: Any) -> Any:
    """A tensor or a float as an array; None for anything else."""
    if isinstance(value, torch.Tensor):
        return np.asarray(value.detach().tolist(), float)
    return np.asarray(value) if isinstance(value, float) else None


def _is_same(mine: Any, right: Any) -> bool:
    return type(mine) is type(right) and not isinstance(mine, torch.Tensor) and bool(mine == right)


def _short(value: Any, width: int = 60) -> str:
    """A value on a line of a verdict."""
    text = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, torch.Tensor) else str(value)
    return text if len(text) <= width else f"{text[: width - 2]} …"


def _outcome(source: str, each: Probe, seed: int) -> Any:
    """What a probe finds in a program. Whatever the program does to autograd or raises stays in here."""
    torch.manual_seed(seed)
    with warnings.catch_warnings(), torch.enable_grad():
        warnings.simplefilter("ignore")
        try:
            return each.run(faults.load(source), np.random.default_rng(seed))
        except Exception as error:  # the learner's program
            return Raised(f"{type(error).__name__}: {error}")


@cache
def _of_course(planted: tuple[Fault, ...], program: str, each: Probe, seed: int) -> Any:
    """What a probe finds in the correct program, or with faults in it."""
    return _outcome(faults.planted(planted) if planted else faults.clean(program), each, seed)


def _with_correct(source: str, program: str, functions: Collection[str]) -> str:
    """A program's text in which these functions are the correct program's."""
    pieces = _pieces(faults.clean(program))
    return "\n\n\n".join([source, *(text for name, text in pieces.items() if name in functions)])


@cache
def _places(fault: Fault) -> frozenset[str]:
    """The functions and classes that a fault changes."""
    before, after = _pieces(faults.clean(fault.program)), _pieces(faults.planted([fault]))
    return frozenset(name for name in before if before[name] != after[name])


@cache
def _pieces(source: str) -> dict[str, str]:
    """The functions and classes of a program, by name."""
    nodes = [node for node in parsed(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return {node.name: ast.unparse(node) for node in nodes}
