"""Values as JSON: what is equal, what is close, and how a difference reads."""

import json
import math
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from course.checks.bundle import bundle, describe, difference, encode, known_mistakes
from course.checks.mistakes import fingerprint


def compared(expected: Any, actual: Any, rtol: float = 1e-5, atol: float = 1e-6) -> str:
    """The difference, after both went through JSON as a notebook would store them."""
    pair = [
        json.loads(json.dumps(bundle({"x": value}, rtol, atol, False), allow_nan=False)) for value in (expected, actual)
    ]
    return difference(pair[0], pair[1])


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (1.0, 1.0 + 0.9e-5),
        (1, np.int64(1)),
        (0.5, np.float32(0.5)),
        (2.0, 2),
        (True, np.bool_(True)),
        ((1, 2), [1, 2]),
        (math.nan, math.nan),
        (-math.inf, -math.inf),
        (1 + 2j, 1 + 2j),
        ({"a": 1, "b": [None, "s"]}, {"b": [None, "s"], "a": 1}),
        (ValueError("no"), ValueError("no")),
        (np.array([1.0, math.nan, math.inf]), np.array([1.0 + 1e-6, math.nan, math.inf])),
        (np.array([1j, 2.0]), np.array([1j, 2.0])),
        (np.zeros((0, 3)), np.zeros((0, 3))),
        (np.array(3.5), np.array(3.5)),
        (np.dtype("float32"), np.dtype("float32")),
        (300_000, 300_000 + 1e-3),
    ],
)
def test_the_same(expected: Any, actual: Any) -> None:
    assert compared(expected, actual) == ""


@pytest.mark.parametrize(
    ("expected", "actual", "message"),
    [
        (1.0, 1.0 + 2.1e-5, "x: expected 1.0, got 1.000021"),
        (3, 4, "x: expected 3, got 4"),
        (300_000, 300_001.0, "x: expected 300000, got 300001.0"),
        (-300_000, -299_999.0, "x: expected -300000, got -299999.0"),
        (10**17, 10**17 + 1, f"x: expected {10**17}, got {10**17 + 1}"),
        (1, True, "x: expected number 1, got boolean True"),
        ("a", "b", "x: expected string 'a', got string 'b'"),
        (1.0, math.nan, "x: expected 1.0, got nan"),
        (math.inf, 1e300, "x: expected inf, got 1e+300"),
        (1.0, math.inf, "x: expected 1.0, got inf"),
        (1 + 2j, 1 + 3j, "x: expected [1.0, 2.0], got [1.0, 3.0]"),
        (float(np.float32(2.6542115)), 0.5, "x: expected 2.6542115, got 0.5"),  # the digits that a float32 has
        (float(np.float32(0.1)), 0.2, "x: expected 0.1, got 0.2"),
        (0.123456789012, 0.5, "x: expected 0.123456789012, got 0.5"),
        (0.2, float(np.float32(0.21)), "x: expected 0.2, got 0.21"),
        (None, 0, "x: expected None, got number 0"),
        ([1, 2], [1, 2, 3], "x: expected [1, 2], got [1, 2, 3]"),
        ([1, [2, 3]], [1, [2, 4]], "x: at [1]: at [1]: expected 3, got 4"),
        ({"a": 1}, {"b": 1}, "x: expected {a: 1}, got {b: 1}"),
        (ValueError("no"), ValueError("yes"), "x: expected exception ValueError: no, got exception ValueError: yes"),
        (np.zeros(3), [0.0] * 3, "x: expected array float64 (3,), got sequence [0, 0, 0]"),
        (np.zeros(3), np.zeros((3, 1)), "x: expected array float64 (3,), got array float64 (3, 1)"),
        (np.zeros(3), np.zeros(3, "float32"), "x: expected array float64 (3,), got array float32 (3,)"),
        (
            np.array([[1, 2], [3, 4]]),
            np.array([[1, 2], [0, 5]]),
            "x: array int64 (2, 2) as expected, but 2 of 4 values differ; "
            "first difference at [1, 0]: expected 3, got 0",
        ),
        (
            np.array(1.5),
            np.array(2.5),
            "x: array float64 () as expected, but 1 of 1 values differ; expected 1.5, got 2.5",
        ),
        (
            np.array([1.0, 2.0]),
            np.array([1.0, math.nan]),
            "x: array float64 (2,) as expected, but 1 of 2 values differ; "
            "first difference at [1]: expected 2.0, got nan",
        ),
    ],
)
def test_a_difference_says_what_was_expected(expected: Any, actual: Any, message: str) -> None:
    assert compared(expected, actual) == message


def test_numbers_that_would_read_alike_have_all_their_digits() -> None:
    single, double = bundle({"x": float(np.float32(0.1))}, 0, 0, False), bundle({"x": 0.1}, 0, 0, False)
    assert difference(single, double) == "x: expected 0.10000000149011612, got 0.1"


def test_an_array_of_float32_is_told_in_its_digits() -> None:
    expected, actual = (bundle({"x": np.array([x], "float32")}, 1e-5, 1e-6, False) for x in (2.6542115, 0.4423686))
    assert difference(expected, actual).endswith("at [0]: expected 2.6542115, got 0.4423686")


def test_values_are_named_in_the_order_in_which_the_check_showed_them() -> None:
    """A stored output has them by name, as nbformat writes it."""
    stored, shown = bundle({"grad": 1, "value": 1}, 0, 0, False), bundle({"value": 2, "grad": 2}, 0, 0, False)
    assert difference(stored, shown) == "value: expected 1, got 2\ngrad: expected 1, got 2"


def test_the_tolerance_is_the_expected_bundles() -> None:
    strict, loose = bundle({"x": 1.0}, 1e-5, 1e-6, False), bundle({"x": 2.0}, 10.0, 10.0, False)
    assert difference(strict, loose) == "x: expected 1.0, got 2.0"


@pytest.mark.parametrize(
    "shown",
    [
        {},
        {"version": 2, "values": {}},
        {"version": 1, "values": []},
        {"version": 1, "values": {"x": {}}},
        {"version": 1, "values": {"x": 3}},
        {"version": 1, "values": {"x": {"kind": "array", "shape": [2], "dtype": "float64", "data": [1.0]}}},
        {"version": 1, "values": {"x": {"kind": "array", "shape": [2], "dtype": "float64", "data": ["a", None]}}},
    ],
)
def test_a_forged_bundle_is_no_match_and_no_crash(shown: dict[str, Any]) -> None:
    expected = bundle({"x": np.ones(2)}, 1e-5, 1e-6, False)
    assert difference(expected, shown) == "the values shown are not of the course's format"


def test_other_names() -> None:
    expected, actual = bundle({"x": 1, "y": 2}, 0, 0, False), bundle({"x": 1}, 0, 0, False)
    assert difference(expected, actual) == "expected the values x, y; got x"


def digest_of(salt: str = "", **values: Any) -> str:
    (digest,) = {value["digest"] for value in bundle(values, 0, 0, True, salt)["values"].values()}
    return str(digest)


def test_of_several_secrets_none_can_be_found_alone() -> None:
    secret = bundle({"a": 1, "b": 2}, 0, 0, True)
    assert secret["values"]["a"] == secret["values"]["b"]
    assert difference(secret, bundle({"b": 2, "a": 1}, 0, 0, True)) == ""
    assert difference(secret, bundle({"a": 1, "b": 3}, 0, 0, True)) == "a; b: not all of them are right"


@pytest.mark.parametrize(
    ("right", "mine", "told"),
    [
        (
            {"rows, k = 1": 0, "dropped": 1, "loads": [1, 2]},
            {"rows, k = 1": 0, "dropped": 3, "loads": [1, 2]},
            "2 of 3",
        ),
        ({"prediction": [2, 2, 6, "x"]}, {"prediction": [2, 1, 7, "x"]}, "2 of 4"),
        ({"prediction": [2, 2]}, {"prediction": [2, 2, 2]}, ""),  # whichever part is missing
        ({"prediction": 2}, {"prediction": 3}, ""),
    ],
)
def test_a_grade_says_how_many_of_several_secrets_are_right(right: Any, mine: Any, told: str) -> None:
    """The learner's notebook can't, since no secret can be found alone there."""
    expected, shown = (bundle(values, 0, 0, True, "salt", reveal=True) for values in (right, mine))
    message = f"{told} are right" if told else "not the right value"
    assert difference(expected, shown) == f"{'; '.join(right)}: {message}"
    in_the_notebook = difference(bundle(right, 0, 0, True, "salt"), shown)
    assert in_the_notebook.rpartition(": ")[2] == (
        "not the right value" if len(right) == 1 else "not all of them are right"
    )


@pytest.mark.turns(8)
def test_a_secret_is_a_digest_of_exact_values() -> None:
    secret = bundle({"n": (1, "a", True, np.int64(3))}, 0, 0, True)
    assert list(secret["values"]["n"]) == ["kind", "digest"]
    assert difference(secret, bundle({"n": [1, "a", True, 3.0]}, 0, 0, True)) == ""
    assert difference(secret, bundle({"n": [1, "a", True, 4]}, 0, 0, True)) == "n: not the right value"
    assert digest_of(m=(1, "a", True, 3)) != digest_of(n=(1, "a", True, 3))
    assert digest_of(n=1) != digest_of("another grade", n=1)
    with pytest.raises(ValueError, match="a secret value is exact"):
        bundle({"n": 0.5}, 0, 0, True)
    with pytest.raises(ValueError, match="a secret value is exact"):
        bundle({"n": [np.zeros(2)]}, 0, 0, True)


def test_what_cannot_be_shown() -> None:
    with pytest.raises(TypeError, match="a check cannot show a set"):
        encode({1, 2})
    with pytest.raises(TypeError, match="names its values with strings, not int"):
        encode({1: 2})
    with pytest.raises(TypeError, match="a check cannot show a MagicMock"):
        encode(MagicMock())  # it has all that a tensor has
    with pytest.raises(TypeError, match="a check cannot show a float32"):
        encode(np.array([np.float32(1)], dtype=object))
    with pytest.raises(ValueError, match="at most 20000 elements, not 20001"):
        encode(np.zeros(20_001))


def test_the_fingerprint_rounds() -> None:
    prints = {fingerprint(encode(value)) for value in (1.0, 1.0 + 1e-9, 1.0 - 1e-9)}
    assert len(prints) == 1
    assert fingerprint(encode(1.001)) not in prints
    above, below = (fingerprint(encode(value)) for value in (1e-9, -1e-9))
    assert above == below


RIGHT: dict[str, Any] = {"a": 1, "b": [2.0], "c": "three", "d": True, "e": None}


def explained(known: dict[str, dict[str, Any]], secret: bool = False, **mine: Any) -> list[str]:
    """The lines about an answer with these values in the place of the right ones; the mistakes likewise."""
    right = bundle(RIGHT if not secret else {"all": [*"abcde"]}, 0, 0, secret, "salt", reveal=True)

    def shown(changed: dict[str, Any]) -> dict[str, Any]:
        values = RIGHT | changed if not secret else {"all": [changed.get(letter, letter) for letter in "abcde"]}
        return bundle(values, 0, 0, secret, "salt", reveal=True)

    mistakes = known_mistakes(right, [(says, shown(values)) for says, values in known.items()], "salt")
    message = difference({**right, "mistakes": mistakes}, shown(mine))
    return [line for line in message.split("\n") if line in known]


def test_each_wrong_value_has_its_own_explanation() -> None:
    known = {"A": {"a": 0}, "B": {"b": [0.0], "c": "zero"}, "AC": {"a": 0, "c": "one"}}
    assert explained(known, a=0) == ["A"]
    assert explained(known, a=0, b=[0.0]) == ["A", "B"]
    assert explained(known, a=0, c="one", b=[0.0]) == ["AC", "B"]
    assert explained(known, b=[0.0], c="another") == ["B"]
    assert explained(known, a=2) == []


def test_a_single_wrong_value_is_not_explained_by_a_mistake_that_gets_more_wrong() -> None:
    assert explained({"AB": {"a": 0, "b": [0.0]}}, a=0) == []
    assert explained({"AB": {"a": 0, "b": [0.0]}, "A": {"a": 0}}, a=0) == ["A"]


def test_at_most_three_explanations_each_once() -> None:
    known = {letter: {letter: "wrong"} for letter in "abcd"}
    assert explained(known, a="wrong", b="wrong", c="wrong", d="wrong") == ["a", "b", "c"]


def test_a_boolean_alone_says_little_about_a_mistake_that_gets_more_wrong() -> None:
    assert explained({"A": {"a": 0, "d": False}}, d=False) == []
    assert explained({"A": {"a": 0, "d": False}}, d=False, a=0) == ["A"]
    assert explained({"D": {"d": False}}, d=False) == ["D"]


def test_one_value_alone_is_no_mistake_while_others_are_wrong_without_an_explanation() -> None:
    """An answer that refuses nothing agrees with the mistake that lets one text through."""
    assert explained({"C": {"c": "NoneType"}}, c="NoneType") == ["C"]
    assert explained({"C": {"c": "NoneType"}}, c="NoneType", a=0) == []
    assert explained({"C": {"c": "NoneType"}, "A": {"a": 0}}, c="NoneType", a=0) == ["C", "A"]
    assert explained({"AC": {"a": "NoneType", "c": "NoneType"}}, a="NoneType", c="NoneType", b=[0.0]) == []
    assert explained({"AC": {"a": 0, "c": "NoneType"}}, a=0, c="NoneType", b=[0.0]) == ["AC"]
    assert explained({"B": {"b": [0.0]}}, a=0, b=[0.0], c="another") == []


@pytest.mark.parametrize("nothing", [math.nan, [math.nan, True], np.full(3, math.nan), {"x": math.nan}])
def test_values_that_are_only_nan_identify_no_mistake(nothing: Any) -> None:
    assert explained({"B": {"b": nothing}}, b=nothing) == []
    assert explained({"B": {"b": [nothing, 1.5]}}, b=[nothing, 1.5]) == ["B"]
    assert explained({"AB": {"a": 0, "b": nothing}}, a=0, b=nothing) == ["AB"]


@pytest.mark.turns(8)
def test_two_mistakes_in_secret_values_are_both_explained() -> None:
    known = {"A": {"a": "x"}, "B": {"b": "x", "c": "x"}, "also A": {"a": "y"}}
    assert explained(known, secret=True, a="x") == ["A"]
    assert explained(known, secret=True, a="x", b="x", c="x") == ["A", "B"]
    assert explained(known, secret=True, a="y", b="x", c="x") == ["B", "also A"]
    assert explained(known, secret=True, b="x") == []


def test_what_is_known_of_secret_values_tells_none_of_them() -> None:
    right, wrong = (bundle({"a": value, "b": 1}, 0, 0, True, "salt", reveal=True) for value in (1, 2))
    (mistake,) = known_mistakes(right, [("A", wrong)], "salt")
    assert list(mistake["values"]) == ["*"]
    assert bundle({"a": 1}, 0, 0, True, "salt").keys() == {"version", "rtol", "atol", "values"}


def test_the_readable_text() -> None:
    values = {
        "size": (2, 3),
        "error": KeyError("k"),
        "a": np.array([[1.0, 0.25]]),
        "none": None,
        "s": "t",
        "e": np.zeros(0),
    }
    assert describe(bundle(values, 0, 0, False)["values"]) == (
        "size: [2, 3]\nerror: KeyError: 'k'\na: array float64 (1, 2)\n  [[1, 0.25]]\n"
        "none: None\ns: 't'\ne: array float64 (0,)"
    )


def test_tensors() -> None:
    torch = pytest.importorskip("torch", reason="torch is the oracle")
    x = torch.tensor([[1.5, -2.0]], dtype=torch.bfloat16, requires_grad=True)
    assert encode(x) == {"kind": "tensor", "device": "cpu", "shape": [1, 2], "dtype": "bfloat16", "data": [1.5, -2.0]}
    assert encode(x.dtype) == {"kind": "string", "data": "bfloat16"}
    assert encode(x.shape) == encode((1, 2))
    assert compared(torch.zeros(2), torch.zeros(2, device="meta")) == (
        "x: expected tensor float32 (2,) on cpu, got tensor float32 (2,) on meta"
    )
    assert compared(torch.zeros(2), torch.zeros(2, dtype=torch.float64)) == (
        "x: expected tensor float32 (2,) on cpu, got tensor float64 (2,) on cpu"
    )
