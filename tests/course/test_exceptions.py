"""No check expects an exception that its author did not declare."""

import pytest

from course.authoring.build import differences
from course.authoring.exceptions import exceptions
from course.checks.bundle import encode
from course.files import Course
from course.source.exercises import SourceError


def test_exceptions_are_found_in_lists_and_dicts_and_strings() -> None:
    values = {
        "alone": OSError("no file"),
        "in a list": [1, {"of dicts": KeyError("a")}],
        "in words": ["IndexError: 3", "ValueError", "GradcheckError('no')"],
        "of texts": ["Error(s) in loading", "a TypeError: it says", "RuntimeErrors are many"],
    }
    expected = ["GradcheckError", "IndexError", "KeyError", "OSError", "ValueError"]
    assert exceptions({name: encode(value) for name, value in values.items()}) == expected


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('check="contiguous_strides"', 'check="contiguous_strides" raises="ValueError"', r"\[\]; .* \['ValueError'\]"),
        ('"kind": "number"', '"kind": "exception", "type": "TypeError", "message": ""', r"\['TypeError'\]; .* \[\]"),
    ],
)
def test_build_refuses_exceptions_that_are_not_those_declared(
    own_course: Course, old: str, new: str, message: str
) -> None:
    for path in (own_course.chapters / "01_fixture" / "exercises.py", own_course.solutions / "01_fixture.ipynb"):
        path.write_text(path.read_text().replace(old, new))
    with pytest.raises(SourceError, match=rf"01_fixture.exercises.py:\d+: its values hold exceptions: {message}"):
        differences(own_course, stored=True)
