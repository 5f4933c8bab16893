"""How many Python functions one operation calls, and how many lines there are: few enough to follow them all."""

from types import ModuleType

from benchmarks.mytorch import MOST_LINES, TARGETS, calls, non_blank_lines


def test_an_operation_calls_few_functions(mytorch: ModuleType) -> None:
    """For fresh tensors of shape (2, 2) that require gradients, after a warm-up."""
    found = calls(mytorch)
    assert {name: count for name, count in found.items() if count > TARGETS[name]} == {}


def test_the_reference_is_short() -> None:
    assert {chapter: most for chapter, most in MOST_LINES.items() if non_blank_lines(chapter) > most} == {}
