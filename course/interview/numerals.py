"""Numbers in words, as digits: `six`, `minus twenty-one`, `two hundred and five`, `a dozen`, `one and a half`."""

from __future__ import annotations

import re
from fractions import Fraction

_LOW = "zero one two three four five six seven eight nine ten eleven twelve"
_LOW += " thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_VALUES = {word: value for value, word in enumerate(_LOW.split())} | {"a": 1, "an": 1}
_VALUES |= {word: 10 * value for value, word in enumerate(_TENS.split(), 2)}
_PARTS = {"half": Fraction(1, 2), "third": Fraction(1, 3), "quarter": Fraction(1, 4), "fifth": Fraction(1, 5)}
_PARTS |= {"sixth": Fraction(1, 6), "eighth": Fraction(1, 8), "tenth": Fraction(1, 10)}

_ONE = "|".join(_LOW.split()[:10])
_SMALL = rf"(?:{_TENS.replace(' ', '|')})(?:[- ](?:{_ONE}))?|{'|'.join(_LOW.split()[10:])}|{_ONE}"
_PART = "|".join([*_PARTS, "halve"])
_NUMBER = re.compile(
    rf"\b(?:(?P<sign>minus|negative)\s+)?(?:"
    rf"(?P<halfdozen>half a dozen)"
    rf"|(?P<dozens>{_SMALL}|a)\s+dozen"
    rf"|(?P<hundreds>{_SMALL}|a)\s+hundred(?:\s+(?:and\s+)?(?P<rest>{_SMALL}))?"
    rf"|(?P<whole>{_SMALL})\s+and\s+a\s+(?P<more>half|quarter|third)"
    rf"|(?P<before>{_SMALL})\s+point\s+(?P<after>(?:{_ONE})(?:\s+(?:{_ONE}))*)"
    rf"|(?:(?P<many>{_ONE}|a|one)[\s-]+)?(?P<part>{_PART})s?(?!\s+a\s+dozen)"
    rf"|(?P<small>{_SMALL})"
    r")\b",
    re.IGNORECASE,
)


def digits(text: str) -> str:
    """A text in which the numbers that are written in words, up to hundreds, stand as digits."""
    return _NUMBER.sub(_as_digits, text)


def _as_digits(found: re.Match[str]) -> str:
    part = {name: given.lower() for name, given in found.groupdict().items() if given}
    value: Fraction | int | float
    if "halfdozen" in part:
        value = 6
    elif "dozens" in part:
        value = 12 * _small(part["dozens"])
    elif "hundreds" in part:
        value = 100 * _small(part["hundreds"]) + _small(part.get("rest", "zero"))
    elif "whole" in part:
        value = _small(part["whole"]) + _PARTS[part["more"]]
    elif "before" in part:
        value = float(f"{_small(part['before'])}.{''.join(str(_VALUES[each]) for each in part['after'].split())}")
    elif "part" in part:
        value = _small(part.get("many", "one")) * _PARTS[part["part"].replace("halve", "half")]
    else:
        value = _small(part["small"])
    return f"{'-' if 'sign' in part else ''}{value if isinstance(value, int) else float(value)}"


def _small(words: str) -> int:
    """The value of a number below a hundred."""
    return sum(_VALUES[each] for each in re.split(r"[-\s]+", words))
