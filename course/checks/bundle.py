"""The values that a check shows, as JSON: encoded inside the kernel, compared and described outside it.

A bundle is `{"version": 1, "rtol": …, "atol": …, "values": {name: encoded}}`. When the answers of the course run
and in a grade, "plain" holds secret values beside their digest, and what is expected may hold "mistakes"
(`course.checks.mistakes`) and "each" (see `share`). An encoded value is a dict with a `kind`:

=========  ==========================================================
tensor     shape, dtype, device, data (flat, row-major)
array      shape, dtype, data
number     data
boolean    data
string     data
none
sequence   items (encoded)
mapping    items (encoded, by name)
exception  type, message
secret     digest (of all values together)
=========  ==========================================================

JSON has no NaN, infinities or complex numbers: they are the strings "nan", "inf", "-inf" and pairs [real, imaginary].
"""

import hashlib
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from course.checks import mistakes

MIME = "application/vnd.minitorch.check+json"
MAX_ELEMENTS = 20_000
MOST = 3
"""How many of the values that differ a message names."""
MALFORMED = "the values shown are not of the course's format"

Bundle = dict[str, Any]


def bundle(
    values: dict[str, Any],
    rtol: float,
    atol: float,
    secret: bool,
    salt: str = "",
    reveal: bool = False,
    each: str = "",
) -> Bundle:
    """Encode named values. `secret` ones become one digest, which is slow to compute and another for each `salt`.

    With `reveal` they stand beside it. For `each` see `share`.

    Raises:
        TypeError: a value is of a kind that a check cannot show, or a name is no string.
        ValueError: more than `MAX_ELEMENTS` elements in one value, or a secret value that is not exact.
    """
    encoded = {_name(name): encode(value) for name, value in values.items()}
    about = {"version": 1, "rtol": rtol, "atol": atol, **({"each": each} if each else {})}
    if not secret:
        return {**about, "values": encoded}
    return {**about, "values": hidden(encoded, salt), **({"plain": encoded} if reveal else {})}


def hidden(encoded: dict[str, Any], salt: str) -> dict[str, Any]:
    """What is shown in the place of secret values."""
    digest = _digest(encoded, salt)
    return {name: {"kind": "secret", "digest": digest} for name in encoded}


def encode(value: Any) -> dict[str, Any]:
    """One value as JSON (see the module's table)."""
    match value:
        case None:
            return {"kind": "none"}
        case bool() | np.bool_():
            return {"kind": "boolean", "data": bool(value)}
        case int() | float() | complex():
            return {"kind": "number", "data": _json_number(value)}
        case np.generic():
            return {"kind": "number", "data": _json_number(value.item())}
        case str():
            return {"kind": "string", "data": value}
        case BaseException():
            return {"kind": "exception", "type": type(value).__name__, "message": str(value)}
        case dict():
            return {"kind": "mapping", "items": {_name(name): encode(item) for name, item in value.items()}}
        case list() | tuple():
            if len(value) > MAX_ELEMENTS:
                raise ValueError(f"a check shows at most {MAX_ELEMENTS} elements, not {len(value)}")
            return {"kind": "sequence", "items": [encode(item) for item in value]}
        case np.ndarray():
            return {"kind": "array", **_elements(value, value.dtype)}
    if type(value).__name__ in ("dtype", "device") or isinstance(value, np.dtype):
        return {"kind": "string", "data": str(value).rpartition(".")[2]}
    if all(hasattr(value, name) for name in ("tolist", "dtype", "device", "shape")):
        return {"kind": "tensor", "device": str(value.device), **_elements(value, value.dtype)}
    raise TypeError(f"a check cannot show a {type(value).__name__}")


def difference(expected: Bundle, actual: Bundle) -> str:
    """What is wrong with `actual`, in words; empty if nothing is. The tolerances are those of `expected`.

    First comes what to say about the mistakes that `expected` knows, then at most three of the values that differ.
    """
    wanted, given = expected["values"], actual.get("values") if isinstance(actual, dict) else None
    if not isinstance(given, dict) or actual.get("version") != 1:
        return MALFORMED
    try:
        wrong = _wrong(expected, actual)
        told = mistakes.explanations(expected.get("mistakes", []), wanted, given, wrong) if wrong else []
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        return MALFORMED  # the learner's process may have shown anything
    lines = [f"{name}: {message}" if name else message for name, message in wrong.items()]
    more = [f"and {len(lines) - MOST} more"] if len(lines) > MOST else []
    return "\n".join([*told, *lines[:MOST], *more])


def share(expected: Bundle, actual: Bundle) -> float:
    """The share of the points that wrong values earn: 0, unless the values with the text `each` count one by one.

    Then it is the share of these that are right, as long as all other values are.
    """
    try:
        wanted, wrong = expected["values"], _wrong(expected, actual)
        counted = [name for name, value in wanted.items() if value.get("data") == expected["each"]]
        return sum(name not in wrong for name in counted) / len(counted) if {*wrong} <= {*counted} else 0.0
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, ZeroDivisionError):
        return 0.0


def known_mistakes(expected: Bundle, shown: list[tuple[str, Bundle]], salt: str) -> list[mistakes.Mistake]:
    """The mistakes of known wrong answers, from what to say about each and what it shows."""
    if "plain" in expected:
        plain = [(says, each["plain"]) for says, each in shown]
        return mistakes.pairs(expected["plain"], plain, lambda values: hidden(values, salt))
    wanted = expected["values"]
    return [mistakes.mistake(says, wanted, each["values"], _wrong(expected, each)) for says, each in shown]


def _wrong(expected: Bundle, actual: Bundle) -> dict[str, str]:
    """What is wrong, by the name of the value; by an empty name if it is about all."""
    wanted, given = expected["values"], actual["values"]
    if set(wanted) != set(given):
        return {"": f"expected the values {', '.join(wanted)}; got {', '.join(map(str, given)) or 'none'}"}
    if all(value["kind"] == "secret" for value in wanted.values()):
        return {} if wanted == given else {"; ".join(wanted): _how_many(expected, actual)}
    found = {name: _differ(wanted[name], given[name], expected["rtol"], expected["atol"]) for name in given}
    return {name: message for name, message in found.items() if message}


def _how_many(expected: Bundle, actual: Bundle) -> str:
    """How many of secret values that aren't all right are right, where both sides tell them."""
    if "plain" in expected and "plain" in actual:
        right, mine = _parts(expected["plain"]), _parts(actual["plain"])
        if len(right) == len(mine) > 1:
            count = sum(_exact(one) == _exact(other) for one, other in zip(right, mine, strict=True))
            return f"{count} of {len(right)} are right"
    return "not the right value" if len(expected["values"]) == 1 else "not all of them are right"


def _parts(plain: dict[str, Any]) -> list[Any]:
    """The parts of an answer: its values, or the items of its only one."""
    first, *others = plain.values()
    return list(first["items"]) if not others and first["kind"] == "sequence" else [first, *others]


def describe(values: dict[str, Any]) -> str:
    """The values of a bundle as readable text, a line or a block each."""
    return "\n".join(f"{name}: {_text(value)}" for name, value in values.items())


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"a check names its values with strings, not {type(name).__name__}")
    return name


def _json_number(value: float | complex) -> Any:
    if isinstance(value, complex):
        return [_json_number(value.real), _json_number(value.imag)]
    if not isinstance(value, (int, float)):  # an element of an array of objects, or of something like a tensor
        raise TypeError(f"a check cannot show a {type(value).__name__}")
    return value if isinstance(value, int) or math.isfinite(value) else str(value)


def _elements(value: Any, dtype: Any) -> dict[str, Any]:
    shape = [int(length) for length in value.shape]
    if math.prod(shape) > MAX_ELEMENTS:
        raise ValueError(f"a check shows at most {MAX_ELEMENTS} elements, not {math.prod(shape)}")
    on_meta = str(getattr(value, "device", "")) == "meta"
    data = [] if on_meta else [_json_number(item) for item in _flatten(value.tolist(), len(shape))]
    return {"shape": shape, "dtype": str(dtype).rpartition(".")[2], "data": data}


def _flatten(nested: Any, depth: int) -> Iterator[Any]:
    if depth == 0:
        yield nested
    else:
        for item in nested:
            yield from _flatten(item, depth - 1)


def _digest(encoded: dict[str, Any], salt: str) -> str:
    """One digest of all values, so that they cannot be found one by one, and slow, so that few guesses can be tried."""
    text = json.dumps({name: _exact(value) for name, value in encoded.items()}, sort_keys=True)
    return hashlib.scrypt(text.encode(), salt=salt.encode(), n=1 << 14, r=8, p=4, maxmem=64 << 20).hex()


def _exact(encoded: dict[str, Any]) -> dict[str, Any]:
    data = encoded.get("data")
    if encoded["kind"] in ("tensor", "array") or (isinstance(data, float) and not data.is_integer()):
        raise ValueError("a secret value is exact: integers, strings, booleans and lists of them")
    if isinstance(data, float):
        return {**encoded, "data": int(data)}
    if encoded["kind"] == "sequence":
        return {**encoded, "items": [_exact(item) for item in encoded["items"]]}
    return encoded


def _differ(expected: dict[str, Any], actual: dict[str, Any], rtol: float, atol: float) -> str:
    kind = expected["kind"]
    if kind != actual["kind"]:
        return f"expected {_summary(expected)}, got {_summary(actual)}"
    match kind:
        case "tensor" | "array":
            return _differ_elements(expected, actual, rtol, atol)
        case "sequence" | "mapping":
            return _differ_items(expected, actual, rtol, atol)
        case "number":
            want, got = expected["data"], actual["data"]
            if isinstance(want, int):  # near it there is no other whole number, however large it is
                rtol = min(rtol, 0.4 / max(1, abs(want)))
            exact = isinstance(want, int) and isinstance(got, int)
            same = want == got if exact else _close(want, got, rtol, atol)
            return "" if same else _both(want, got)
    return "" if expected == actual else f"expected {_summary(expected)}, got {_summary(actual)}"


def _differ_elements(expected: dict[str, Any], actual: dict[str, Any], rtol: float, atol: float) -> str:
    if any(expected.get(key) != actual.get(key) for key in ("shape", "dtype", "device")):
        return f"expected {_summary(expected)}, got {_summary(actual)}"
    wanted, given = expected["data"], actual["data"]
    if len(wanted) != len(given):
        raise ValueError("as many values as the shape says")
    exact = not expected["dtype"].startswith(("float", "bfloat", "complex"))
    wrong = [
        place
        for place, (want, got) in enumerate(zip(wanted, given, strict=True))
        if (want != got if exact else not _close(want, got, rtol, atol))
    ]
    if not wrong:
        return ""
    index = [int(i) for i in np.unravel_index(wrong[0], expected["shape"])] if expected["shape"] else []
    where = f"first difference at {index}: " if index else ""
    return (
        f"{_summary(expected)} as expected, but {len(wrong)} of {len(wanted)} values differ; "
        f"{where}{_both(wanted[wrong[0]], given[wrong[0]])}"
    )


def _differ_items(expected: dict[str, Any], actual: dict[str, Any], rtol: float, atol: float) -> str:
    wanted, given = expected["items"], actual["items"]
    if len(wanted) != len(given) or (isinstance(wanted, dict) and set(wanted) != set(given)):
        return f"expected {_text(expected)}, got {_text(actual)}"
    for key in wanted if isinstance(wanted, dict) else range(len(wanted)):
        if message := _differ(wanted[key], given[key], rtol, atol):
            return f"at [{key!r}]: {message}"
    return ""


def _both(want: Any, got: Any) -> str:
    """Two numbers that differ. A float32 that became a double is written in its own digits, of which 9 are enough."""
    short = f"expected {_in_its_digits(want)}, got {_in_its_digits(got)}"
    return short if _in_its_digits(want) != _in_its_digits(got) else f"expected {want}, got {got}"


def _in_its_digits(number: Any) -> str:
    if isinstance(number, float):
        with np.errstate(over="ignore"):
            single = np.float32(number)
        return str(single if float(single) == number else number)
    return f"[{', '.join(map(_in_its_digits, number))}]" if isinstance(number, list) else str(number)


def _close(expected: Any, actual: Any, rtol: float, atol: float) -> bool:
    if isinstance(expected, list) or isinstance(actual, list):
        pairs = [number if isinstance(number, list) else [number, 0] for number in (expected, actual)]
        return all(_close(want, got, rtol, atol) for want, got in zip(*pairs, strict=True))
    want, got = float(expected), float(actual)
    return (
        want == got or (math.isnan(want) and math.isnan(got)) or abs(got - want) <= atol + rtol * abs(want) < math.inf
    )


def _summary(encoded: dict[str, Any]) -> str:
    kind = encoded["kind"]
    if kind in ("tensor", "array"):
        shape = ", ".join(map(str, encoded["shape"])) + ("," if len(encoded["shape"]) == 1 else "")
        device = f" on {encoded['device']}" if kind == "tensor" else ""
        return f"{kind} {encoded['dtype']} ({shape}){device}"
    return "a secret value" if kind == "secret" else f"{kind} {_text(encoded)}" if kind != "none" else "None"


def _text(encoded: dict[str, Any]) -> str:
    match encoded["kind"]:
        case "none":
            return "None"
        case "tensor" | "array":
            numbers = np.array([_readable(number) for number in encoded["data"]], dtype=object)
            if not encoded["data"]:
                return _summary(encoded)
            body = np.array2string(
                numbers.reshape(encoded["shape"]),
                separator=", ",
                threshold=60,
                formatter={"all": str},
                max_line_width=100,
            )
            return f"{_summary(encoded)}\n  " + body.replace("\n", "\n  ")
        case "sequence":
            return f"[{', '.join(map(_text, encoded['items']))}]"
        case "mapping":
            return f"{{{', '.join(f'{name}: {_text(item)}' for name, item in encoded['items'].items())}}}"
        case "exception":
            return f"{encoded['type']}: {encoded['message']}"
        case "secret":
            return "(not shown)"
        case "number":
            return _readable(encoded["data"])
    return repr(encoded["data"])


def _readable(number: Any) -> str:
    if isinstance(number, list):
        return f"({', '.join(map(_readable, number))})"
    return f"{number:.6g}" if isinstance(number, float) else str(number)
