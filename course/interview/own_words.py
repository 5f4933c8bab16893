"""What a typed answer has of the point that it should make, so that one's own words are judged and not one's memory."""

from __future__ import annotations

import re

from course.interview.prompts import code

_LISTED = 5
_STEM = 5
"""Words that share so many letters are one: *overflow* and *overflows*, *multiply* and *multiplied*."""
_TRAP = re.compile(r"^[A-Z]\w+ing\b")  # the verb that begins a trap is the narrator's, as in "Relying on"
_TERM = re.compile(r"\d[\d.,]*\d|[^\W_]{3,}")
_COMMON = (
    "about above add added adds after again against all also although always and another any are ask asks because "
    "been before begin begins behind below beside besides between both but call called calls can change changed "
    "changes come comes compare could counting counts course differ different does doesn don done down each either "
    "else enough even every few find first for found from further get gets give given gives goes had has have here "
    "hold holds how however instead into isn its itself just keep keeps kept know known large larger later least "
    "leave leaves left less let like little long longer look looks made make makes many may mean means more most much "
    "must need needs neither never new next nor not nothing now number off often old once one ones only other others "
    "otherwise our out over own part parts per place put rather read reads right run runs same say saying says see "
    "set show shows since small smaller some something start starting starts still such take takes taking tell tells "
    "than that the their them then there therefore these they thing things this those though through together too try "
    "turn two under unless until upon use used uses using usually very wait waits want was way well were what when "
    "where whereas whether which while who whole whose why will with within without work works would write writes "
    "writing wrong yet you your"
)
_COMMON_WORDS = frozenset(_COMMON.split())


def terms(text: str) -> dict[str, str]:
    """The words and numbers of a text that carry its content, by the letters that stand for each."""
    found = (each.group() for each in _TERM.finditer(text.replace("·", " ")))
    return {_key(word): word for word in reversed(list(found)) if word.lower() not in _COMMON_WORDS}


def _key(word: str) -> str:
    is_number = any(letter.isdigit() for letter in word)  # or a name with one, as of a dtype
    return word.replace(",", "").lower() if is_number else word.lower()[:_STEM]


def beside(text: str, own: str) -> str:
    """What is said beside a point about somebody's own words: which of its terms they have, and which they lack.

    It doesn't say whether the point was made. Other words may say the same, and the same words the opposite.
    """
    if not own.strip():
        return ""
    wanted, has = terms(_TRAP.sub("", text)), terms(own).keys()
    names = [word for key, word in reversed(wanted.items()) if key in has]
    lacks = [word for key, word in reversed(wanted.items()) if key not in has]
    if not names:
        return f"**Your text has none of these words.**{_listed(' They are', lacks)}"
    return f"**Compare it with your text.**{_listed(' It has', names)}{_listed(' It lacks', lacks)}"


def wrote(own: str) -> str:
    """What somebody wrote, as a sentence; empty if that is nothing."""
    return f"You wrote {code(' '.join(own.split()).rstrip('.'))}." if own.strip(" .") else ""


def _listed(verb: str, words: list[str]) -> str:
    more = " …" if len(words) > _LISTED else "."
    return f"{verb} {', '.join(f'*{word}*' for word in words[:_LISTED])}{more}" if words else ""
