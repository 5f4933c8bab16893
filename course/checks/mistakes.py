"""Known mistakes: which of them explain the values that a check shows, value by value.

A mistake is `{"says": an explanation, "values": {name: fingerprint}}`, with the values that it gets wrong.
"""

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

Mistake = dict[str, Any]
Values = dict[str, dict[str, Any]]
"""Encoded values by name, as in a bundle."""

MOST = 3
"""Explanations of one answer."""
_MOST_PAIRS = 24  # of mistakes in secret values: a digest takes its time
_ALL = "*"  # the name of all values together, where they cannot be told apart
_FEW = ("boolean", "none")  # kinds with few wrong values: one of them alone says little
_MANY = ("array", "tensor", "sequence", "mapping")  # kinds with so many that one value is hardly wrong by chance


def mistake(says: str, expected: Values, shown: Values, wrong: Iterable[str]) -> Mistake:
    """The mistake of a known wrong answer, which shows these values, some of them wrong."""
    return {"says": says, "values": _fingerprints(expected, shown, wrong)}


def explanations(mistakes: Iterable[Mistake], expected: Values, shown: Values, wrong: Iterable[str]) -> list[str]:
    """What to say about an answer's wrong values: the mistakes that give the same, those that explain most first.

    Unless these explain all of them, an answer can agree by chance: it refuses nothing, say, and a mistake lets one
    text through. A mistake then has to give two different values of the answer, or an array that is half of them. And a
    single wrong value is explained only by a mistake that gets nothing else wrong, for the answer got the rest right.
    Values whose numbers are all nan explain nothing alone: many faults end in them.
    """
    mine = _fingerprints(expected, shown, wrong)
    kinds = {name: shown.get(name, {}).get("kind", "") for name in mine}
    weak = {name for name, kind in kinds.items() if kind in _FEW}
    rich = {name for name, kind in kinds.items() if kind in _MANY}
    nan = {name for name in mine if name in shown and {*_numbers(shown[name])} == {"nan"}}
    possible = [each for each in mistakes if len(mine) > 1 or each["values"].keys() <= mine.keys()]
    found = [(each["says"], _agreeing(each, mine, weak, nan), len(each["values"])) for each in possible]
    chosen: list[tuple[str, bool]] = []
    left = set(mine)
    while left:
        says, same, _ = max(found, key=lambda each: (len(each[1] & left), -each[2]), default=("", set[str](), 0))
        if not same & left:
            break
        is_alike = len({mine[name] for name in same - weak}) > 1 or (bool(same & rich) and 2 * len(same) >= len(mine))
        chosen.append((says, is_alike))
        left -= same
    return list(dict.fromkeys(says for says, is_alike in chosen if is_alike or not left))[:MOST]


def pairs(right: Values, known: list[tuple[str, Values]], digest: Callable[[Values], dict[str, Any]]) -> list[Mistake]:
    """The mistakes of secret values, which one digest stands for: each alone, and each two of them that can meet.

    Args:
        right: the reference's values.
        known: what to say, and the values of each known wrong answer.
        digest: gives what is shown in the place of values.
    """
    found = {_text(values): (says, values) for says, values in reversed(known)}
    for (says, one), (also, other) in itertools.combinations(known, 2):
        both = {name: _both(right[name], one[name], other[name]) for name in right if name in one and name in other}
        if len(both) == len(right) and None not in both.values() and len(found) < len(known) + _MOST_PAIRS:
            found.setdefault(_text(both), (f"{says}\n{also}", both))
    return [
        {"says": says, "values": {_ALL: fingerprint(digest(values))}}
        for says, values in found.values()
        if values != right
    ]


def told(message: str, known: Sequence[str]) -> tuple[list[str], str]:
    """What a message says first about known mistakes, and the rest of it.

    Args:
        message: of a grade.
        known: what can be said about each.
    """
    found, rest = [], f"{message}\n"
    while says := next((says for says in known if rest.startswith(f"{says}\n")), ""):
        found.append(says)
        rest = rest.removeprefix(f"{says}\n")
    return found, rest.rstrip("\n")


def fingerprint(values: dict[str, Any]) -> str:
    """A digest of encoded values, floating-point numbers rounded to four digits: the same on most machines."""
    rounded = json.loads(
        json.dumps(values, sort_keys=True),
        parse_float=lambda number: f"{round(float(number), 6) + 0.0:.4g}",  # -0.0 + 0.0 is 0.0
    )
    return hashlib.sha256(_text(rounded).encode()).hexdigest()[:16]


def _agreeing(mistake: Mistake, mine: dict[str, str], weak: set[str], nan: set[str]) -> set[str]:
    """The wrong values that a mistake gives too; none if that says little, and its other values are not these."""
    same = {name for name, digest in mistake["values"].items() if mine.get(name) == digest}
    is_enough = len(same) == len(mistake["values"]) or not same <= weak
    return same if is_enough and not same <= nan else set()


def _numbers(value: dict[str, Any]) -> Iterator[Any]:
    """The numbers in an encoded value, without booleans, and the texts in it."""
    match value:
        case {"items": items}:
            for each in items.values() if isinstance(items, dict) else items:
                yield from _numbers(each)
        case {"kind": "array" | "tensor", "data": data}:
            yield from (str(number) for number in data)
        case {"kind": "number", "data": number}:
            yield str(number)
        case {"kind": "boolean" | "none"}:
            return
        case _:
            yield f"no number: {value}"


def _fingerprints(expected: Values, shown: Values, wrong: Iterable[str]) -> dict[str, str]:
    """By name, of the wrong values; of all together where they have other names, or are secret."""
    is_secret = any(value["kind"] == "secret" for value in expected.values())
    if is_secret or set(expected) != set(shown):
        return {_ALL: fingerprint(shown)}
    return {name: fingerprint(shown[name]) for name in wrong}


def _both(right: Any, one: Any, other: Any) -> Any:
    """A value with two mistakes in different places; None if they are in the same place."""
    if one in (right, other):
        return other
    if other == right:
        return one
    if isinstance(right, dict) and all(isinstance(each, dict) and set(each) == set(right) for each in (one, other)):
        made = {key: _both(right[key], one[key], other[key]) for key in right}
        return None if None in made.values() else made
    if isinstance(right, list) and all(isinstance(each, list) and len(each) == len(right) for each in (one, other)):
        items = [_both(*each) for each in zip(right, one, other, strict=True)]
        return None if None in items else items
    return None


def _text(values: Any) -> str:
    return json.dumps(values, sort_keys=True)
