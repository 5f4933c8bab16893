"""The exceptions among the values that a check expects. Its header declares them: `check="NAME" raises="ValueError"`.

A check that catches what its calls raise also catches its own mistakes. It then expects an exception that nobody meant,
and accepts every answer for which the same call goes wrong.
"""

import re
from collections.abc import Iterator
from typing import Any

_IN_WORDS = re.compile(r"(\w+(?:Error|Exception|Warning))(?=$|[:(])")


def exceptions(values: dict[str, dict[str, Any]]) -> list[str]:
    """The types of the exceptions among encoded values (`course.checks.bundle`), also of those shown as strings."""
    return sorted({name for value in values.values() for name in _types(value)})


def _types(value: dict[str, Any]) -> Iterator[str]:
    match value["kind"]:
        case "exception":
            yield value["type"]
        case "string":
            yield from [found[1]] if (found := _IN_WORDS.match(value["data"])) else []
        case "sequence":
            for item in value["items"]:
                yield from _types(item)
        case "mapping":
            for item in value["items"].values():
                yield from _types(item)
