"""Numbers as people write them: `2 × 10^9 bytes`, `half a billion`, `1/65`, `600 megs`, `± 6.5 pp`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from course.interview import numerals
from course.interview.prompts import code

_SCALES = {"dozen": 12.0, "hundred": 1e2, "k": 1e3, "thousand": 1e3, "grand": 1e3}
_SCALES |= {"m": 1e6, "mn": 1e6, "mil": 1e6, "mio": 1e6, "million": 1e6}
_SCALES |= {"b": 1e9, "bn": 1e9, "g": 1e9, "billion": 1e9, "t": 1e12, "tn": 1e12, "trillion": 1e12}
_LETTERS = {each for each in _SCALES if len(each) == 1} - {"k"}
_SECONDS = {"ns": 1e-9, "nsec": 1e-9, "nanosecond": 1e-9, "nano": 1e-9}
_SECONDS |= {"us": 1e-6, "usec": 1e-6, "microsecond": 1e-6, "micro": 1e-6}
_SECONDS |= {"ms": 1e-3, "msec": 1e-3, "millisecond": 1e-3, "milli": 1e-3}
_SECONDS |= {"s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hr": 3600.0}
_SECONDS |= {"hour": 3600.0, "d": 86400.0, "day": 86400.0, "week": 604800.0, "year": 365 * 86400.0}
_BYTES = {"byte": 1.0, "bit": 1 / 8}
for _at, (_letter, _name, _binary) in enumerate(
    [("k", "kilo", "kibi"), ("m", "mega", "mebi"), ("g", "giga", "gibi"), ("t", "tera", "tebi"), ("p", "peta", "pebi")],
    1,
):
    _ten, _two = 1000.0**_at, 1024.0**_at
    _BYTES |= {f"{_letter}b": _ten, f"{_name}byte": _ten, f"{_letter}byte": _ten}
    _BYTES |= {f"{_letter}ib": _two, f"{_letter}i": _two, f"{_binary}byte": _two, f"{_letter}ibyte": _two}
    _BYTES |= {f"{_letter}bit": _ten / 8, f"{_name}bit": _ten / 8}
_BYTES |= {"meg": 1e6, "gig": 1e9, "kilo": 1e3, "mega": 1e6, "giga": 1e9, "tera": 1e12}
_DOLLARS = {"dollar": 1.0, "usd": 1.0, "buck": 1.0, "cent": 0.01}
_PERCENT = {"percent": 1.0, "percentage": 1.0, "point": 1.0, "pp": 1.0, "ppt": 1.0, "pct": 1.0}
_COUNTED = {"token", "tok", "parameter", "param", "multiplication", "operation", "flop"}
_PASSED = {*("a", "an", "per", "of", "or", "so", "s", "second", "at", "most", "total"), *_COUNTED}
"""Words behind a number that change nothing: what is counted, and `a second` behind a rate."""

_ABOUT = (
    r"(?:(?:about|around|roughly|approximately|approx\.?|circa|ca\.?|say|nearly|almost|some|maybe|up to|at most|under|"
    r"over|±|\+/-|\+-|~|≈|=|≤|≥|<|>|\$)\s*)*"
)
_DIGITS = r"[-+]?[\d,_]*\.?\d+(?:e[-+]?\d+)?"
_SPAN = re.compile(rf"{_ABOUT}({_DIGITS})\s*([a-z]+)[\s,]*(?:and\s+)?({_DIGITS})\s*([a-z]+)", re.IGNORECASE)
_NUMBER = re.compile(rf"{_ABOUT}({_DIGITS})((?:\s*[a-z]*)[^\d*^×·+]*)", re.IGNORECASE)
_ARTICLE = re.compile(rf"^({_ABOUT})an?\b", re.IGNORECASE)
_FRACTION = re.compile(rf"({_ABOUT})(\d+)\s*(?:/|in|out of|of)\s*(\d+)(?![\d.,])", re.IGNORECASE)
_POWER = re.compile(r"(?:([\d.]+)\s*[x×·*]\s*)?(?<![\d.])10(?:(?:\^|\*\*)(\d+)|([⁰¹²³⁴-⁹]+))")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_UNSURE = re.compile(r"\b[KMGT]b\b")


def number(text: str, unit: str = "") -> float:
    """The number that somebody typed, in this unit: `12.5`, `1,664`, `3e9`, `two million`, `0.5 TB`, `1/65`.

    `1.5e8` and `151e6` are read as they are, so in millions they are 150 and 151, `2 hours` is a twelfth of a day,
    `600 million bytes` are 0.6 GB, and `$0.05 / M tokens` are 5 cents. `151,000,000` is too large to be in millions, so
    it is read as a count. A fraction below 1 is a number, and as a share it is in percent: `1/65` is 1.54 %. Any other
    calculation isn't carried out: it's the learner's part.

    Raises:
        ValueError: it isn't one number, has an unknown unit, or can be read in two ways.
    """
    asked = _singular(unit.partition(" ")[0].lower())
    if asked in _SECONDS and (span := _SPAN.fullmatch(text.strip())):  # 4 min 16 s
        units = [_SECONDS.get(_singular(each.lower())) for each in span.group(2, 4)]
        if units[0] and units[1]:
            return (_value(span[1]) * units[0] + _value(span[3]) * units[1]) / _SECONDS[asked]
    digits, behind = _digits(text)
    if found := _UNSURE.search(behind):
        raise ValueError(f"{code(found[0])} may be bits or bytes: write {found[0][0]}bit or {found[0][0]}B")
    behind = behind.lower().translate({ord("¢"): " cents", ord("%"): " percent", ord("µ"): "u", ord("μ"): "u"})
    value = _value(digits)
    measures = _measures(asked)
    if unit:
        _check(behind, unit, asked, measures)
    above = [_singular(each) for each in re.findall("[a-z]+", re.split(r"/|\bper\b", behind)[0])]
    scale = math.prod(_SCALES[each] for each in above if each in _SCALES and each not in measures)
    measure = next((measures[each] for each in above if each in measures), None)
    is_scaled = any(each in _SCALES and each not in measures for each in above)
    if asked in ("percent", "point"):
        return _share(text, value * scale, measure)
    if measure is None and asked in _BYTES and (is_scaled or _is_count(digits)):
        measure = 1.0
    if asked == "million":
        return value * scale / 1e6 if is_scaled or _is_count(digits) else value
    return value * scale * (measures.get(asked, 1.0) if measure is None else measure) / measures.get(asked, 1.0)


def _digits(text: str) -> tuple[str, str]:
    """The digits of a number, and what stands behind them. Words are put as digits.

    Raises:
        ValueError: there isn't one number.
    """
    plain = _POWER.sub(lambda power: f"{power[1] or 1}e{power[2] or power[3].translate(_SUPERSCRIPTS)}", text.strip())
    plain = _ARTICLE.sub(r"\g<1>1", numerals.digits(plain))  # an hour, a million
    fraction = _FRACTION.match(plain)
    if fraction and 0 < int(fraction[2]) < int(fraction[3]):
        plain = f"{int(fraction[2]) / int(fraction[3])}{plain[fraction.end() :]}"
    if not (found := _NUMBER.fullmatch(plain)):
        raise ValueError(f"{code(text.strip())} isn't one number: write 12.5, 1,664 or 3e9")
    return found[1], found[2]


def _measures(asked: str) -> Mapping[str, float]:
    """The units in which an answer may be given that is asked for in this one."""
    families: tuple[dict[str, float], ...] = (_BYTES, _SECONDS, _DOLLARS, _PERCENT)
    return next((each for each in families if asked in each), {})


def _check(behind: str, unit: str, asked: str, measures: Mapping[str, float]) -> None:
    """Look for a word that no number in this unit has behind it.

    Raises:
        ValueError: there is one.
    """
    own = {_singular(each) for each in re.findall("[a-z]+", unit.lower())}
    scales = {*_SCALES} - (_LETTERS if asked in _SECONDS else set())  # where `m` may be minutes or millions
    known = {*own, *measures, *scales, *_PASSED}
    typed = re.findall("[a-z]+|[^\\W\\d_a-z]+|[€£¥‰]", behind)
    unknown = [each for each in typed if _singular(each) not in known]
    what = next((each for each in typed if _singular(each) not in _SCALES), "")
    counted = [what] if asked in {*_BYTES, *_SECONDS} and _singular(what) in _COUNTED else []  # tokens are no bytes
    if unknown or counted:
        raise ValueError(f"I don't know the unit {code((unknown or counted)[0])}; the answer is asked for in {unit}")


def _share(text: str, value: float, measure: float | None) -> float:
    """A share in percent.

    Raises:
        ValueError: it is less than 1 and may be a share of 1 as well.
    """
    if measure is None and 0 < value < 1:
        if _FRACTION.search(numerals.digits(text)):
            return 100 * value
        raise ValueError(f"{code(text.strip())} may be {value:g} % or {100 * value:g} %: write the sign")
    return value * (measure or 1.0)


def _singular(word: str) -> str:
    return word if word in _SECONDS or len(word) == 1 else word.removesuffix("s")


def _value(digits: str) -> float:
    """The value of digits; a comma that no three digits follow is a decimal one, as in `43,2`."""
    decimal = re.fullmatch(r"[-+]?\d+,\d{1,2}", digits)
    return float(digits.replace(",", "." if decimal else "").replace("_", ""))


def _is_count(digits: str) -> bool:
    """Whether a number without a scale is so large that it counts single things, as `151e6` or `151,000,000` does."""
    return _value(digits) >= (1e5 if "e" in digits.lower() else 5e6)


def shown(value: float) -> str:
    """A number with three digits, or all of a whole one."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
