"""How much of what a check shows is right, where an answer isn't: an interviewer doesn't give nothing for one slip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from course.checks import bundle
from course.checks.bundle import Bundle
from course.grading.compare import hear


def shares(expected: Bundle | None, line: bytes) -> list[float]:
    """For each value of a check, the share of it that is right, from the message of the learner's process.

    A value that has parts counts by those that are right. Properties, such as that an input is left alone, hold for
    nearly any program, so they count only beside a result that is right. Nothing counts beside a gradient that is
    wrong: what trains with it is another model.
    """
    if expected is None:
        return []
    heard = hear(line, None, keep=True)
    shown = heard.shown[0] if heard and len(heard.shown) == 1 else None
    given = shown.get("values") if isinstance(shown, dict) else None
    return [_share(expected, value, given.get(name)) for name, value in expected["values"].items() if given]


def score(found: Sequence[float]) -> float:
    """What a wrong answer with these shares earns: their mean, squared, as even nonsense is right here and there."""
    return (sum(found) / len(found)) ** 2 if found else 0.0


CLOSE = 0.9
"""The share of its values from which a function is nearly right, such as with another error for a bad argument."""


def is_close(found: Sequence[float]) -> bool:
    """Whether a function with these shares, beside the solution's others, is right or nearly so."""
    return bool(found) and sum(found) / len(found) >= CLOSE


def told(found: Sequence[float]) -> str:
    """How many cases are right, as a sentence; empty if none is, or if there is only one."""
    right, partly = sum(each == 1 for each in found), sum(0 < each < 1 for each in found)
    if len(found) < 2 or not (right or partly):
        return ""
    also = f" and {partly} in part" if partly else ""
    return f"Of the {len(found)} cases, {right} {'is' if right == 1 else 'are'} right{also}."


def _share(expected: Bundle, want: Any, got: Any) -> float:
    leaves = [(each, name, _is_right(expected, each, other)) for each, other, name in _leaves(want, got)]
    results = [is_right for each, _, is_right in leaves if each["kind"] != "boolean"]
    if any("gradient" in name and not is_right for _, name, is_right in leaves):
        return 0.0
    return sum(is_right for _, _, is_right in leaves) / len(leaves) if any(results) or not results else 0.0


def _is_right(expected: Bundle, want: Any, got: Any) -> bool:
    one, other = {**expected, "values": {"": want}}, {"version": 1, "values": {"": got}}
    return not bundle.difference({**one, "mistakes": []}, other)


def _leaves(want: Any, got: Any, name: str = "") -> Iterator[tuple[Any, Any, str]]:
    """The parts of a value with those that were given and their names; parts of a list have the list's.

    A list of numbers is one part, as its numbers are about one thing.
    """
    items, others = want.get("items"), got.get("items") if isinstance(got, dict) else None
    if items and others and type(items) is type(others) and len(items) == len(others):
        pairs = (
            [(value, others.get(each), each) for each, value in items.items()]
            if isinstance(items, dict)
            else [(*each, name) for each in zip(items, others, strict=True)]
        )
        if isinstance(items, dict) or not all(each["kind"] == "number" for each, _, _ in pairs):
            for pair in pairs:
                yield from _leaves(*pair)
            return
    yield want, got, name
