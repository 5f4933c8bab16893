"""What candidates type in an interview: numbers with units, values, and the numbers of points."""

from __future__ import annotations

import ast
import io
import math
from typing import Any

import click
import pytest
from rich.console import Console

from course.interview import asking, calibration, quantities, terminal, values
from course.interview.prompts import Rate

GB, SECONDS = "GB (10⁹ bytes)", "seconds"


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("600 megs", GB, 0.6),
        ("2 gibibytes", GB, 2**31 / 1e9),
        ("16Gi", GB, 2**34 / 1e9),
        ("64 Gbit", GB, 8),
        ("2 thousand GB", GB, 2000),
        ("3.2 T", GB, 3200),
        ("12 millis", SECONDS, 0.012),
        ("4 min 16 s", SECONDS, 256),
        ("about 4min16s", SECONDS, 256),
        ("1 h and 30 min", "minutes", 90),
        ("34 days, 12 hours", "days", 34.5),
        ("3 microseconds", SECONDS, 3e-6),
        ("two thousand seconds", SECONDS, 2000),
        ("half an hour", "minutes", 30),
        ("two and a half days", "days", 2.5),
        ("1/12 day", "days", 1 / 12),
        ("6.5 pp", "points", 6.5),
        ("± 6.5 pp", "points", 6.5),
        ("+/- 6.5 %", "points", 6.5),
        ("6.5 percent points", "points", 6.5),
        ("6.5 percentage points", "points", 6.5),
        ("0.95 pp", "points", 0.95),
        ("1/65", "percent", 100 / 65),
        ("1 in 65", "percent", 100 / 65),
        ("about 1/65", "percent", 100 / 65),
        ("0.6 %", "percent", 0.6),
        ("60 percent", "percent", 60),
        ("<1%", "percent", 1),
        ("two billion", "millions", 2000),
        ("two billion", "parameters", 2e9),
        ("half a billion", "millions", 500),
        ("a million", "parameters", 1e6),
        ("two hundred million", "millions", 200),
        ("twenty-five", "tokens", 25),
        ("20 a second", "tokens a second", 20),
        ("3 bucks", "dollars", 3),
    ],
)
def test_a_number_is_read_as_people_write_it(text: str, unit: str, value: float) -> None:
    assert math.isclose(quantities.number(text, unit), value)


@pytest.mark.parametrize(
    ("text", "unit", "told"),
    [
        ("0.05", "percent", r"`0\.05` may be 0\.05 % or 5 %: write the sign"),
        ("0.065", "points", r"may be 0\.065 % or 6\.5 %"),
        ("16 Gb", GB, "`Gb` may be bits or bytes: write Gbit or GB"),
        ("5 ‰", "percent", "I don't know the unit `‰`"),
        ("65/1", "percent", "isn't one number"),
        ("900/26", "workers", "isn't one number"),
        ("1/2/3", "percent", "isn't one number"),
        ("many", "percent", "isn't one number"),
        ("4 GB 16 s", SECONDS, "isn't one number"),
        ("4 min 16 s", GB, "isn't one number"),
        ("one two", "tokens", "isn't one number"),
    ],
)
def test_what_can_be_read_in_two_ways_is_asked_again(text: str, unit: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        quantities.number(text, unit)


@pytest.mark.parametrize(
    ("text", "wanted", "read"),
    [
        ("4 6 1", [0], "[4, 6, 1]"),
        ("4, 6, 1", [0], "[4, 6, 1]"),
        ("[[1 2] [3 4]]", [[0]], "[[1, 2], [3, 4]]"),
        ("a", "d", "'a'"),
        ("'a'", "d", "'a'"),
        ("2*10*20", 0, "400"),
        ("[2*10, 5]", [0], "[20, 5]"),
        ("true False 3", [0, True], "[True, False, 3]"),
        ("cuda:1, cpu", ["x"], "['cuda:1', 'cpu']"),
        ("float32 int64", {"a": "x", "b": "y"}, "{'a': 'float32', 'b': 'int64'}"),
        ("-3", 2, "-3"),
        ("math.log(2)", 1.0, "math.log(2)"),
        ("'four ranks'", "x", "'four ranks'"),
        ("bf16, fp32 FP16", ["x"], "['bfloat16', 'float32', 'float16']"),
        ("torch.bfloat16", "x", "'bfloat16'"),
        ("torch.int64 torch.bool", ["x"], "['int64', 'bool']"),
        ("6 16 yes", [0, True], "[6, 16, True]"),
        ("no", True, "False"),
        ("1, 4 and 7", [0], "[1, 4, 7]"),
        ("1, 4, and 7", [0], "[1, 4, 7]"),
        ("a) 4 b) 6 c) 0", [0], "[4, 6, 0]"),
        ("a: 4, b: 6, c: 0", [0], "[4, 6, 0]"),
        ("a", ["x"], "'a'"),
        ("a) 4 b) 16 c) 12,000", [0], "[4, 16, 12000]"),
        ("a) 1,200, b) 3", [0], "[1200, 3]"),
        ("4,100,200", [0], "[4, 100, 200]"),
        ("12,000", 0, "12000"),
        ("4 12k 1.5K", [0], "[4, 12000, 1500]"),
        ("4 MB, 8MB and 12", [0], "[4, 8, 12]"),
        ("4 megabytes 8 MB", [0], "[4, 8]"),
        ("1) 256 2) 80 3) 60", [0], "[256, 80, 60]"),
        ("1: 256, 2: 80", [0], "[256, 80]"),
        ("a=9 b=9 c=0 view=9", [0], "[9, 9, 0, 9]"),
        ("(2, 3), (4, 5)", [(0, 0)], "[(2, 3), (4, 5)]"),
        ("stays=True, moves = no", [True], "[True, False]"),
    ],
)
def test_a_value_is_read_as_people_write_it(text: str, wanted: Any, read: str) -> None:
    assert values.read(text, wanted, values.units("So it takes 4 MB. How many MB after each line?")) == read


@pytest.mark.parametrize(
    ("text", "wanted", "told"),
    [
        ("a", 3, "`a` is a word, and a number is asked for"),
        ("many", [1, 2], "`many` is a word, and numbers are asked for"),
        ("4", "d", "`4` is a number, and a word or a letter is asked for"),
        ("4, 4, …", [1], "leaves values open: write each of them"),
        ("4, 4, ...", [1], "leaves values open"),
        ("f(x", 3, "isn't a value such as"),
        ("[1, 2", [1], "isn't a value such as"),
    ],
)
def test_what_is_no_value_is_told_why(text: str, wanted: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        values.read(text, wanted)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", set()),
        ("none", set()),
        ("all", {1, 2, 3, 4, 5, 6, 7, 8}),
        ("1 3", {1, 3}),
        ("13", {1, 3}),
        ("1,3", {1, 3}),
        ("1-6, 8", {1, 2, 3, 4, 5, 6, 8}),
        ("1 - 3", {1, 2, 3}),
        ("2 to 4", {2, 3, 4}),
        ("1 and 3", {1, 3}),
        ("1, 3, and 4", {1, 3, 4}),
        ("1 & 3", {1, 3}),
        ("1;3", {1, 3}),
    ],
)
def test_points_are_ticked_by_numbers_ranges_or_all(text: str, numbers: set[int]) -> None:
    assert terminal.numbers(text, 8) == numbers


@pytest.mark.parametrize("text", ["9", "1-9", "x", "3-1", "0 1", "1-"])
def test_points_that_are_not_there_are_asked_again(text: str) -> None:
    with pytest.raises(ValueError):
        terminal.numbers(text, 8)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("six", "6"),
        ("a dozen", "12"),
        ("half a dozen", "6"),
        ("half", "0.5"),
        ("three quarters", "0.75"),
        ("one and a half", "1.5"),
        ("zero point four", "0.4"),
        ("minus two", "-2"),
        ("twenty-one", "21"),
        ("Seventy five", "75"),
        ("two hundred and five", "205"),
    ],
)
def test_a_number_may_be_written_in_words(text: str, value: str) -> None:
    assert ast.literal_eval(values.read(text, 1.5)) == float(value)
    assert quantities.number(f"about {text}") == float(value)


def test_several_numbers_may_be_written_in_words() -> None:
    for typed in ("four, six and one", "four six one", "[four, six, 1]", "a) four b) six c) one"):
        assert values.read(typed, [0, 0, 0]) == "[4, 6, 1]"
    assert values.read("one", "float32") == "'one'"  # where a word is asked for, it is one


@pytest.mark.parametrize(
    ("typed", "sure"),
    [
        ("5", 90),
        ("even", 50),
        ("90 %", 90),
        ("85", 85),
        ("85%", 85),
        ("85 percent", 85),
        ("0.85", 85),
        (".7", 70),
        ("9/10", 90),
        ("nine out of ten", 90),
        ("fifty-fifty", 50),
        ("5 %", 5),
        ("100", 100),
        ("0", 0),
    ],
)
def test_how_sure_somebody_is_may_be_any_percentage_and_is_repeated(typed: str, sure: int) -> None:
    asked = Rate("How sure?", asking.SURE, calibration.LEVELS)
    console = Console(file=io.StringIO(), width=80)
    assert terminal.rated(typed, asked.options, asked.percents, console) == sure
    is_option = typed in ("5", "even")
    assert console.file.getvalue() == ("" if is_option else f"That is {sure} % sure.\n")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("7", "may be 7 % or 70 %"),
        ("7.7", "may be 7.7 % or 77 %"),
        ("120 %", "isn't between 0 and 100 %"),
        ("very", "write a number from 1 to 5"),
        ("", "write a number from 1 to 5"),
    ],
)
def test_what_is_no_percentage_is_asked_again(typed: str, why: str) -> None:
    with pytest.raises(click.BadParameter, match=why):
        terminal.rated(typed, asking.SURE, calibration.LEVELS, Console(file=io.StringIO()))
