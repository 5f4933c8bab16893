"""Spoilers: what each does to a function, to which functions it applies, and that they run in a grade."""

import json
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import minitorch
from course.__main__ import main
from course.authoring.mutate import Mutation
from course.authoring.spoil import spoilers
from course.files import Course

torch = minitorch


def spoiled(head: str, body: str, task: str = "", docstring: str = "") -> dict[str, Mutation]:
    """The spoilers of a function with this head, by what they do."""
    answer = f"    ### BEGIN SOLUTION\n    {body}\n    ### END SOLUTION\n"
    solution = f'from __future__ import annotations\n\ndef {head}:\n    """{docstring}"""\n{answer}'
    return {mutant.becomes: mutant for mutant in spoilers(solution, task)}


def run(mutant: Mutation) -> Any:
    """The function of a spoiled answer."""
    scope: dict[str, Any] = {"torch": torch, "np": np}
    exec(mutant.text, scope)
    return scope["f"]


DOUBLE = "f(x: torch.Tensor) -> torch.Tensor", "return 2 * x"


def test_a_result_in_another_form() -> None:
    made = spoiled(*DOUBLE, docstring="Returns a view. The gradient is 2.")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert run(made["gives another dtype"])(x).dtype == torch.float64
    assert run(made["gives another dtype"])(torch.tensor([1])).dtype == torch.int32
    assert run(made["gives one more dimension"])(x).shape == (1, 2)
    assert run(made["gives lists"])(x) == [2.0, 4.0]
    assert type(run(made["gives arrays"])(x)) is np.ndarray
    assert not run(made["gives what is detached"])(x).requires_grad
    same = spoiled("f(x: torch.Tensor) -> torch.Tensor", "return x", docstring="Returns a view.")
    assert run(same["gives a copy"])(x).data_ptr() != x.data_ptr()


def test_results_inside_tuples_and_dicts_are_changed_too() -> None:
    made = spoiled("f(x: np.ndarray) -> dict[str, tuple[np.ndarray, int]]", "return {'a': (x, 3)}")
    array, number = run(made["gives another dtype"])(np.zeros(2, np.float32))["a"]
    assert (array.dtype, number) == (np.float64, 3)


def test_an_argument_may_have_the_name_of_what_a_spoiler_computes() -> None:
    made = spoiled("f(key: np.ndarray, result: np.ndarray) -> np.ndarray", "return key + result", "It is cached.")
    key, result = np.ones(2), np.ones(2)
    assert run(made["changes result"])(key, result).tolist() == [2, 2]
    assert result.tolist() == [9, 9]
    remembers = run(made["remembers what it gave for these shapes"])
    assert [remembers(number * key, key).tolist() for number in (1, 2)] == [[2, 2], [2, 2]]


@pytest.mark.parametrize(
    ("kind", "value"),
    [("torch.Tensor", torch.tensor([True])), ("np.ndarray", np.array([1e18])), ("list[int]", []), ("dict", {"a": 1})],
)
def test_an_argument_is_changed_after_the_result_was_computed(kind: str, value: Any) -> None:
    before = repr(value)
    assert run(spoiled(f"f(x: {kind})", "return repr(x)")["changes x"])(value) == before
    assert repr(value) != before


def test_an_argument_is_ignored_or_taken_for_another() -> None:
    made = spoiled(
        "f(a: int, b: int, *, dim: int, m: str | None, k: float = 2.5, y: bool)", "return a, b, dim, m, k, y"
    )
    given: dict[str, Any] = {"dim": 5, "m": "m", "k": 7.0, "y": True}
    right = (3, 4, 5, "m", 7.0, True)
    for does, place, value in [
        ("takes 1 for a", 0, 1),
        ("takes 0 for b", 1, 0),
        ("takes -1 for dim", 2, -1),
        ("takes None for m", 3, None),
        ("takes 2.5 for k", 4, 2.5),
        ("takes False for y", 5, False),
    ]:
        assert run(made[does])(3, 4, **given) == (*right[:place], value, *right[place + 1 :])
    assert run(made["takes a for b and b for a"])(3, 4, **given) == (4, 3, *right[2:])


def is_refused(made: dict[str, Mutation], does: str, wrong: Any, right: Any) -> bool:
    """Whether one input is refused, and another one isn't."""
    run(made[does])(right)
    with pytest.raises(RuntimeError, match="spoiled"):
        run(made[does])(wrong)
    return True


def test_inputs_are_refused() -> None:
    told = "Of an empty tensor, of any shape and every dtype, even nan; 0-d inputs, views and gradients."
    tensors, full = spoiled(*DOUBLE, docstring=told), torch.ones(2, 3)
    assert is_refused(tensors, "refuses a length of 1", torch.ones(2, 1), full)
    assert is_refused(tensors, "refuses what isn't contiguous", full.T, full)
    assert is_refused(tensors, "refuses what requires grad", torch.ones(2, requires_grad=True), full)
    assert is_refused(tensors, "refuses what is empty", full[:0], full)
    assert is_refused(tensors, "refuses 0-d inputs", torch.tensor(1.0), full)
    assert is_refused(tensors, "refuses NaN and inf", full * float("nan"), full)
    of_int = spoiled("f(dim: int)", "return dim")
    of_list = spoiled("f(x: list)", "return x", "An empty list is right.")
    assert is_refused(of_int, "refuses dim of 1", 1, -1)
    assert is_refused(of_int, "refuses a negative dim", -1, 0)
    assert is_refused(of_list, "refuses x of one", [3], [])
    assert is_refused(of_list, "refuses an empty x", [], [3])
    assert is_refused(spoiled("f(x: int | None)", "return x"), "refuses x of None", None, 3)
    assert is_refused(spoiled("f(x: Iterable[int])", "return x"), "refuses x that is no list", iter([]), [])


@pytest.mark.parametrize(
    ("does", "other"),
    [("refuses another number of dimensions", torch.ones(2)), ("refuses another dtype", torch.ones(2, 3).double())],
)
def test_inputs_unlike_the_first_are_refused(does: str, other: Any) -> None:
    function = run(spoiled(*DOUBLE, docstring="Of any shape and every dtype.")[does])
    function(torch.ones(2, 3)), function(torch.zeros(5, 6))
    with pytest.raises(RuntimeError, match="spoiled"):
        function(other)


def test_an_earlier_call_is_remembered() -> None:
    assert "remembers what it gave for these shapes" not in spoiled(*DOUBLE)
    made = spoiled("f(x: torch.Tensor, k: int) -> torch.Tensor", "return k * x", docstring="Builds a table.")
    function, x = run(made["remembers what it gave for these shapes"]), torch.ones(2)
    assert function(x, 2).tolist() == function(3 * x, 2).tolist() == [2.0, 2.0]
    assert function(x, 3).tolist() == [3.0, 3.0]
    assert function(torch.ones(1), 2).tolist() == [2.0]
    once = run(made["works once"])
    once(x, 2)
    with pytest.raises(RuntimeError, match="spoiled"):
        once(x, 2)


def test_a_global_state_is_left_changed() -> None:
    made = spoiled("f(n: int, generator)", "return torch.rand(n).tolist() + [generator.random()]", "Without gradients.")
    source = np.random.default_rng

    def drawn(does: str) -> tuple[Any, Any]:
        torch.manual_seed(5)
        function, own = run(made[does]), source(3)
        return function(2, own), (torch.rand(1).item(), own.random())

    torch.manual_seed(5)
    own = source(3)
    right = [*torch.rand(2).tolist(), own.random()], (torch.rand(1).item(), own.random())
    assert drawn("takes 1 for n")[0][-1] == right[0][-1]
    for does, place in [("draws one number more", 0), ("draws one number more from generator", 1)]:
        gave, after = drawn(does)
        assert gave == right[0]
        assert [now == then for now, then in zip(after, right[1], strict=True)] == [place != 0, place != 1]
    assert drawn("sets the seed")[0] != right[0]
    try:
        run(made["leaves gradients switched off"])(1, source(0))
        assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


def test_exceptions() -> None:
    told = "If it raises, x is unchanged."
    made = spoiled("f(x: list[int])", "if x == [1, 2]: raise ValueError('no')\n    return x", docstring=told)
    for does, kind, message in [
        ("raises another type", RuntimeError, "no"),
        ("raises with another message", ValueError, "spoiled"),
        ("raises after a change", ValueError, "no"),
    ]:
        given = [1, 2]
        with pytest.raises(kind, match=message):
            run(made[does])(given)
        assert (given == [1, 2]) == (does != "raises after a change")
    assert run(made["raises nothing"])([1, 2]) is None
    assert "raises nothing" not in spoiled("f(x: list[int])", "return x")
    assert "raises nothing" not in spoiled("f(x: list[int])", "def g():\n        raise ValueError\n    return g")
    assert "raises with another message" not in spoiled("f(x: list[int])", "raise MemoryError")


def test_a_spoiler_that_needs_a_promise_applies_where_there_is_one() -> None:
    silent = spoiled(*DOUBLE, docstring="Twice x.")
    assert "changes x" in silent
    assert not {"gives a copy", "gives what is detached", "refuses what is empty", "refuses NaN and inf"} & {*silent}
    assert "gives a copy" in spoiled(*DOUBLE, task="Returns a view.")
    assert "gives what is detached" not in spoiled(*DOUBLE, docstring="The gradients; the result has no gradient.")


def test_methods_and_what_is_given() -> None:
    """Methods find `super`, generators and given functions are left alone, and a decorator stays."""
    solution = """
from __future__ import annotations
class Base:
    def f(self, n: int) -> int:
        return n
class Mine(Base):
    @staticmethod
    def given(n: int) -> int:
        return n
    def f(self, n: int = 3, *more: int, **named: int) -> int:
        ### BEGIN SOLUTION
        return super().f(n) + sum(more) + sum(named.values())
        ### END SOLUTION
    def each(self, n: int):
        ### BEGIN SOLUTION
        yield n
        ### END SOLUTION
"""
    made = [mutant for mutant in spoilers(solution, "") if mutant.becomes == "takes 3 for n"]
    assert {mutant.was for mutant in spoilers(solution, "")} == {"Mine.f"} and len(made) == 1
    scope: dict[str, Any] = {}
    exec(made[0].text, scope)
    assert scope["Mine"]().f(7, 10, a=100) == 113


def spoil(course: Course, *names: str) -> Result:
    return CliRunner().invoke(main, ["--root", str(course.root), "spoilers", *names, "--seed", "3"])


@pytest.mark.turns(8)
def test_survivors_are_listed_unless_they_are_recorded_as_equivalent(own_core_course: Course) -> None:
    said = spoil(own_core_course, "core_tensor")
    chapter = own_core_course.chapters / "06_core"
    assert "core_tensor\n- describe\n+ works once\n" in said.stdout and said.exit_code == 1, said.output
    entry = {"was": "describe", "becomes": "works once", "because": "Nobody calls it twice."}
    (chapter / "equivalent.yml").write_text(json.dumps({"core_tensor": [entry]}))
    assert "+ works once" not in spoil(own_core_course, "core_tensor").stdout


@pytest.mark.turns(8)
def test_arguments_without_an_annotation_are_what_the_check_passes(own_course: Course) -> None:
    """A record of such a spoiler can be read without running the check."""
    said = spoil(own_course, "running_mean")
    assert "running_mean\n- running_mean\n+ refuses a length of 1\n" in said.stdout, said.output
    entry = {"was": "running_mean", "becomes": "refuses a length of 1", "because": "There are two values."}
    (own_course.chapters / "01_fixture" / "equivalent.yml").write_text(json.dumps({"running_mean": [entry]}))
    said = spoil(own_course, "running_mean")
    assert "refuses a length of 1" not in said.output, said.output
