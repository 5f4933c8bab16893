"""How an answer at the whiteboard is checked and what is said about it."""

from __future__ import annotations

import io
import itertools
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from course.checks.bundle import bundle
from course.files import CODE, Course
from course.grading.pool import Pool
from course.interview import bank as banks
from course.interview import faults, history, judged, nearness, tasks, terminal, verdicts
from course.interview.bank import Bank
from course.interview.history import Item
from course.interview.prompts import Edit, Say, Tick, Wait
from tests.course.interview.holding import at, in_terminal, talked


@pytest.mark.turns(8)
def test_a_right_function_counts_beside_a_wrong_one(bank: Bank, course: Course) -> None:
    """The shards of a fused weight take its rows as they come; the block and its width are right."""
    exercise = bank.cards["e-decoder_swiglu"].about
    solution = tasks.solution_of(course, exercise)
    answer = f"""{solution[: solution.index("def shards")]}
def shards(w_in, w_down, ways):
    return list(zip(np.split(w_in, ways), np.split(w_down, ways, axis=1)))
"""

    def reply(prompt: Any) -> Any:
        if isinstance(prompt, Edit):
            prompt.path.write_text(answer)
        return [False] * 3 if isinstance(prompt, Tick) else 0

    shown, (given,) = talked(bank, course, Item("whiteboard", ["e-decoder_swiglu"], 5), reply)
    told = next(each.text for each in shown if isinstance(each, Say) and "of 3 points" in each.text)
    assert told.startswith("**2 of 3 points.** `swiglu` and `hidden_width` are right, ")
    assert told.partition(" are right, ")[2].partition("\n")[0].startswith("`shards` not yet.")
    assert given.score == pytest.approx(0.75 * 2 / 3)


def test_functions_that_have_their_points_are_not_counted_again(
    bank: Bank, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judged.Judge, "_prepare", lambda judge: None)
    verdict = judged.Verdict(1, 2, "one: wrong\nRight: two (1 of 2 points).", {"one": False, "two": True})
    monkeypatch.setattr(judged.Judge, "check", lambda *_: verdict)
    item = Item("whiteboard", ["e-memory_int8"], 3)
    shown, (answer,) = talked(bank, course, item, lambda each: [True] * 3 if isinstance(each, Tick) else 0)
    told = next(each.text for each in shown if isinstance(each, Say) and "1 of 2 points.**" in each.text)
    assert "not yet" not in told and answer.score == pytest.approx(0.75 / 2 + 0.25)


def test_compared_values_of_a_verdict_stand_as_they_are() -> None:
    """And what is known about a mistake is a sentence of its own; a single line that is neither stays one."""
    message = "one: Divide first.\na step: expected [tensor (2,)\n[1, *2*]], got 3\ntwo: ValueError: no\nRight: three."
    told = verdicts.laid_out(message, ["Divide first."])
    assert told.split("\n\n") == [
        "one: Divide first.",
        "```text\na step: expected [tensor (2,)\n[1, *2*]], got 3\ntwo: ValueError: no\n```",
        "Right: three.",
    ]
    assert verdicts.laid_out("NameError: no such name", ["Divide first."]) == "NameError: no such name"


@pytest.mark.parametrize("answer", ["def one(): return 1\ndef two(", "def one(): return 1", "one = two = 1"])
def test_an_answer_without_each_function_has_no_right_part(answer: str) -> None:
    both = "def one(): return 1\ndef two(): return 2"
    assert judged._mixed(both, both, answer) == {}
    assert judged._mixed("def one(): ...", both, both) == {}


def test_a_function_is_checked_with_the_solutions_others_and_its_own_helpers() -> None:
    stub = "def one(): ...\ndef two(): ..."
    solution = "def help(): return 0\ndef more(): return 9\ndef one(): return help() + 1\ndef two(): return 2"
    mixed = judged._mixed(stub, solution, "def help(): return 5\ndef one(): return help()\ndef two(): return 7")
    made = {name: faults.load(text) for name, text in mixed.items()}
    assert list(made) == ["one", "two"] and (made["one"].one(), made["one"].two()) == (5, 2)
    assert (made["two"].two(), made["two"].help(), made["two"].more()) == (7, 5, 9)


@pytest.mark.turns(8)
def test_a_whiteboard_answer_is_graded_on_fresh_inputs(bank: Bank, course: Course) -> None:
    name = "init_softmax"
    exercise = bank.cards[f"e-{name}"].about
    reference = next(
        cell.source for cell in banks._read(CODE / "solutions" / f"{exercise.chapter}.ipynb").cells if cell.id == name
    )

    def reply(prompt: Any) -> Any:
        if not isinstance(prompt, Edit):
            return [True] * 3 if isinstance(prompt, Tick) else 0
        assert prompt.path.read_text().strip() == tasks.bare(exercise.stub).strip()
        prompt.path.write_text(reference)
        return 0

    shown, (answer,) = talked(bank, course, Item("whiteboard", [f"e-{name}"], 11), reply)
    assert answer.score == 1.0 and f"**{exercise.points} of {exercise.points} points.**" in shown[-1].text
    assert not (history.folder(course) / f"{name}.py").exists()  # the next time begins anew


@pytest.mark.turns(8)
def test_the_judges_own_runs_are_done_before_the_check_and_functions_are_said(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The solution and the known wrong answers run while the answer is written, and once for all that is checked."""
    own: list[int] = []
    run_own = Pool.run_own
    monkeypatch.setattr(Pool, "run_own", lambda pool, runs, *args: own.append(len(runs)) or run_own(pool, runs, *args))
    exercise = bank.cards["e-memory_int8"].about
    solution = tasks.solution_of(bank.course, exercise)
    heard: list[str] = []
    with judged.Judge(bank.course, exercise, 4) as judge:
        judge._thread.join()
        assert sum(own) > len(tasks.known_mistakes(bank.course, exercise))
        before = len(own)
        verdict = judge.check(solution.replace(".round()", ".floor()"), heard.append)
        assert judge.check(solution).points == exercise.points and not sum(own[before:])
    assert verdict.parts == {"quantize": False, "__init__": True}
    assert heard == ["running your answer"] + [
        f"running {name} with the solution's other functions" for name in ("quantize", "__init__")
    ]


def test_a_judge_that_is_left_ends_its_runs(bank: Bank) -> None:
    with judged.Judge(bank.course, bank.cards["e-memory_int8"].about, 4) as judge:
        folder = judge._folder
        assert folder.exists()
    assert not folder.exists() and not judge._thread.is_alive()


def test_a_terminal_counts_the_seconds_of_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """And says what is being done; in a file, that stands on lines of its own."""

    def does(tell: Callable[[str], None]) -> int:
        tell("running step alone")
        return 7

    assert "Checking …\n  running step alone …\n" in in_terminal(Wait("Checking …", does))
    seconds = itertools.count()
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(seconds))
    written = io.StringIO()
    assert terminal.answered(Wait("Checking …", does), Console(file=written, force_terminal=True, width=60)) == 7
    *_, last = re.findall(r"Checking … \d+ s.*", written.getvalue())
    assert re.match(r"Checking … [1-9]\d* s", last) and "alone" not in last


def test_a_notebook_says_what_a_check_is_doing(course: Course) -> None:
    room = at(course, Item("estimate", ["n-the-first-loss"], 1))
    shown: list[str] = []

    def does(tell: Callable[[str], None]) -> int:
        shown.append(room.asked.value)
        tell("running a < b alone")
        shown.append(room.asked.value)
        return 7

    assert room._wait(Wait("Checking …", does)) == 7
    assert "Checking … <span" in shown[0] and "running a &lt; b alone <span" in shown[1]
    assert 'class="left since"' in shown[1] and not room.asked.value


@pytest.mark.parametrize("last", ["", "NameError: name 'torch' is not defined"])
@pytest.mark.parametrize(
    "message",
    [
        "quantize: NameError: name 'torch' is not defined",
        "ModuleNotFoundError: minitorch is out of reach in this exercise",
    ],
)
def test_an_answer_that_lacks_a_name_is_handed_back_once(
    bank: Bank, course: Course, monkeypatch: pytest.MonkeyPatch, last: str, message: str
) -> None:
    verdicts = iter([judged.Verdict(0, 3, message), judged.Verdict(2, 3, last)])
    monkeypatch.setattr(judged.Judge, "_prepare", lambda judge: None)
    monkeypatch.setattr(judged.Judge, "check", lambda *_: next(verdicts))
    item = Item("whiteboard", ["e-memory_int8"], 3)
    shown, (answer,) = talked(bank, course, item, lambda each: [True] * 3 if isinstance(each, Tick) else 0)
    first, again = (each for each in shown if isinstance(each, Edit))
    assert again.text.startswith("Your answer needs `torch`, which isn't there. Besides Python's own names")
    assert "`Linear`" in again.text and "`quantize`" not in again.text and first.path == again.path
    assert answer.score == pytest.approx(0.75 * 2 / 3 + 0.25) and list(verdicts) == []


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("split_heads: NameError: name 'torch' is not defined (line 3)", "torch"),
        ("ModuleNotFoundError: No module named 'jax.numpy'", "jax.numpy"),
        ("ImportError: cannot import name 'scan' from 'mytorch'", "scan"),
        ("ModuleNotFoundError: torch.nn is out of reach in this exercise: write it yourself", "torch.nn"),
        ("step: AttributeError: 'Tensor' object has no attribute 'addcmul_'", "addcmul_"),
        ("AttributeError: module 'mytorch' has no attribute 'empty_like'", "empty_like"),
        ("AttributeError: 'NoneType' object has no attribute 'shape'", ""),  # a mistake of the answer's own
        ("UnboundLocalError: cannot access local variable 'm'", ""),
        ("m: 1.0 instead of 2.0", ""),
    ],
)
def test_which_name_an_answer_lacks(message: str, name: str) -> None:
    assert tasks.missing(message) == name


@pytest.mark.parametrize(
    ("line", "ours"),
    [
        ("import torch", "import minitorch as torch"),
        ("import torch, math  # as always", "import minitorch as torch, math  # as always"),
        ("    import torch.nn", "    import minitorch as torch"),
        ("import torch as t", "import minitorch as t"),
        ("import torch.nn.functional as F", "import minitorch.nn.functional as F"),
        ("from torch import Tensor, nn", "from minitorch import Tensor, nn"),
        ("from torch.nn import functional as F", "from minitorch.nn import functional as F"),
        ("import torchvision", "import torchvision"),
        ("from .torch import x", "from .torch import x"),
        ("x = torch.ones(2)", "x = torch.ones(2)"),
    ],
)
def test_an_import_of_torch_brings_minitorch(line: str, ours: str) -> None:
    assert tasks.with_our_torch(f"a = 1\n{line}\nb = 2") == f"a = 1\n{ours}\nb = 2"
    theirs = ours.replace("minitorch", "mytorch")
    assert tasks.with_our_torch(f"a = 1\n{line}\nb = 2", "mytorch") == f"a = 1\n{theirs}\nb = 2"


def test_what_cases_are_worth() -> None:
    """A property counts only beside a right result, a list of numbers is one value, and another form is none."""
    expected = bundle(
        {"a": {"loss": 1.0, "is kept": True}, "b": [1, 2, 3], "c": (2.0, "x"), "d": True}, 1e-6, 0.0, False
    )

    def shares(**values: Any) -> list[float]:
        said = {"nonce": "n", "phase": "check", "shown": [bundle(values, 1e-6, 0.0, False)]}
        return nearness.shares(expected, json.dumps(said).encode())

    assert shares(a={"loss": 1.0, "is kept": True}, b=[1, 2, 3], c=(2.0, "x"), d=True) == [1, 1, 1, 1]
    assert shares(a={"loss": 1.0, "is kept": False}, b=[1, 2, 4], c=(3.0, "x"), d=False) == [0.5, 0, 0.5, 0]
    assert shares(a={"loss": 2.0, "is kept": True}, b=[1, 2], c=(2.0,), d=True) == [0, 0, 0, 1]
    assert shares(a=1.0) == [0, 0, 0, 0]
    rank = {"result": 1.0, "gradient of x": 2.0, "bytes": 3}
    trained = bundle({"rank 0": rank, "rank 1": [rank]}, 1e-6, 0.0, False)
    said = {"rank 0": {**rank, "gradient of x": 1.0}, "rank 1": [{**rank, "bytes": 4}]}
    line = json.dumps({"nonce": "n", "phase": "check", "shown": [bundle(said, 1e-6, 0.0, False)]}).encode()
    assert nearness.shares(trained, line) == [0, 2 / 3]  # beside a wrong gradient nothing is right
    assert nearness.shares(expected, b"no message") == nearness.shares(None, b"") == []
    assert nearness.score([1, 0.5]) == 0.5625 and nearness.score([]) == 0
    assert nearness.told([1, 1, 0.5, 0]) == "Of the 4 cases, 2 are right and 1 in part."
    assert nearness.told([1, 0]) == "Of the 2 cases, 1 is right." and nearness.told([0, 0]) == nearness.told([1]) == ""


def test_a_property_that_does_not_hold_is_said_in_words_and_once() -> None:
    wrong = "at ['the reference is frozen']: at [0]: expected boolean True, got boolean False"
    told = verdicts.laid_out(f"loss: {wrong}\none pair: {wrong}\nand 2 more", [])
    assert told.splitlines()[1] == "loss, one pair: this should hold: the reference is frozen (its part 1)"
    other = verdicts.laid_out("two: at ['it grew']: expected boolean False, got boolean True", [])
    assert other == "two: this should not hold: it grew"


def test_an_empty_stub_is_said_in_words() -> None:
    told = verdicts.laid_out("NotImplementedError:", [])
    assert told == "The stub's `raise NotImplementedError()` was reached: nothing is written there."


def test_a_method_that_tensors_lack_is_said_and_costs_nothing() -> None:
    """PyTorch's own Adam calls `addcmul_`, which mytorch doesn't have."""
    told = verdicts.unknown("addcmul_", ["zeros"], "AttributeError: 'Tensor' object has no attribute 'addcmul_'")
    assert told.startswith("A tensor has no `addcmul_` here.") and "zeros" not in told


def test_several_right_functions_are_listed_with_commas() -> None:
    told = verdicts.by_part({"replaced": True, "train": True, "encode": True, "decode": False})
    assert told == "`replaced`, `train` and `encode` are right, `decode` not yet."


def test_a_verdict_states_its_points_once() -> None:
    """A grade gives whole points, and an interview parts of them as well."""
    assert verdicts.unearned("x: 1 instead of 2\nThat is worth 1 of 3 points.") == "x: 1 instead of 2"


def test_an_exception_of_a_check_is_no_message_about_a_prediction() -> None:
    raised = "Your `prediction` is a list; the check then failed with ValueError: zip() argument 2 is longer"
    assert verdicts.formless(raised) == "Your `prediction` is a list, and what is asked for has another form."
    assert verdicts.formless("The check of your answer failed with KeyError: 1").startswith("Your prediction")
    assert verdicts.formless("value 1: 2 instead of 3") == "value 1: 2 instead of 3"
    assert verdicts.unearned("Right: quantize (2 of 3 points).") == "Right: quantize."


def test_a_class_gives_way_to_the_methods_that_are_asked_for(bank: Bank) -> None:
    asked = bank.cards["e-memory_int8"].about
    text = (
        "x = 1\nclass Int8Linear(Module):\n    def __init__(self, layer):\n        pass\n    def forward(self): pass\n"
    )
    assert tasks.unwrapped(text, asked) == "x = 1\ndef __init__(self, layer):\n    pass\n"
    for other in (text.replace("Int8Linear", "Other"), text.replace("__init__", "init"), "class Int8Linear(\n"):
        assert tasks.unwrapped(other, asked) == other


def test_an_answer_may_begin_as_candidates_begin(bank: Bank) -> None:
    asked = bank.cards["e-align_dpo"].about
    answer = f"import torch\nimport torch.nn.functional as F\n\n\n{tasks.solution_of(bank.course, asked)}"
    with judged.Judge(bank.course, asked, 3) as judge:
        verdict = judge.check(answer)
    assert verdict.points == verdict.of > 0, verdict.message


def test_an_answer_for_mytorch_may_use_torch_and_stand_in_its_class(bank: Bank) -> None:
    asked = bank.cards["e-memory_int8"].about
    answer = """import torch
from torch import nn
import torch.nn.functional as F


def quantize(x, dim=-1):
    with torch.no_grad():
        rows = x.abs() if dim is not None else x.abs().flatten()
        largest = rows.amax(dim if dim is not None else 0, keepdim=True).clamp(min=1e-12)
        scale = largest / 127 if dim is not None else (largest / 127).reshape([1] * x.ndim)
        return (x / scale).round().clamp(-127, 127).to(torch.int8), scale


class Int8Linear(nn.Module):
    \"\"\"A layer.\"\"\"

    def __init__(self, layer):
        super().__init__()
        weight, scale = quantize(layer.weight)
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)
        self.register_buffer("bias", None if layer.bias is None else layer.bias.detach())

    def forward(self, x):
        return F.linear(x, self.weight.float() * self.scale, self.bias)
"""
    with judged.Judge(bank.course, asked, 3) as judge:
        verdict = judge.check(answer)
    assert verdict.points == verdict.of > 0, verdict.message


def test_an_answer_with_one_slip_earns_most_of_it_and_nonsense_nearly_nothing(bank: Bank) -> None:
    """Label smoothing weighs log σ(x) of the lead twice, where the second should be log σ(−x)."""
    asked = bank.cards["e-align_dpo"].about
    solution = tasks.solution_of(bank.course, asked)
    slip = solution.replace("F.logsigmoid(-beta * lead)", "F.logsigmoid(beta * lead)")
    nonsense = "def dpo_loss(policy, *_, **__):\n    return policy.sum() * 0, policy.detach() * 0"
    assert slip != solution
    with judged.Judge(bank.course, asked, 3) as judge:
        one, other = judge.check(slip), judge.check(nonsense)
    assert one.points == other.points == 0
    assert other.score < 0.2 < 0.6 < one.score < 1 and one.cases.startswith("Of the 10 cases, 8 are right")


@pytest.mark.turns(8)
def test_a_wrong_gradient_is_no_slip(bank: Bank) -> None:
    """Without `CopyToRanks` the results are right, and all that lies below the module trains wrongly."""
    asked = bank.cards["e-shards_build_mlp"].about
    solution = tasks.solution_of(bank.course, asked)
    answer = solution.replace("        x = distributed.CopyToRanks.apply(x)\n", "")
    assert answer != solution
    with judged.Judge(bank.course, asked, 3) as judge:
        verdict = judge.check(answer)
    assert verdict.score < 0.55 and "`CopyToRanks` adds these parts up" in verdict.message


@pytest.mark.turns(8)
def test_one_error_of_another_type_is_a_slip_and_an_empty_function_is_none(bank: Bank) -> None:
    """Both functions ask NumPy for the maximum, whose error for a dimension that isn't there is not PyTorch's."""
    asked = bank.cards["e-init_softmax"].about
    solution = tasks.solution_of(bank.course, asked)
    slip = """def softmax(x, dim):
    check_floats(x, dim, "softmax")
    powers = np.exp(x - x.max(dim, keepdims=True))
    return powers / powers.sum(dim, keepdims=True)


derivative("softmax", x=lambda g, result, dim: result * (g - (g * result).sum(dim, keepdim=True)))


def log_softmax(x, dim):
    check_floats(x, dim, "log_softmax")
    x = x - x.max(dim, keepdims=True)
    return x - np.log(np.exp(x).sum(dim, keepdims=True))


derivative("log_softmax", x=lambda g, result, dim: g - result.exp() * g.sum(dim, keepdim=True))
"""
    empty = slip.replace("return x - np.log(np.exp(x).sum(dim, keepdims=True))", "return x")
    assert empty != slip != solution
    with judged.Judge(bank.course, asked, 3) as judge:
        one, other = judge.check(slip), judge.check(empty)
    assert one.parts["derivative.softmax"] and not one.parts["softmax"] and 0.7 < one.score < 1, one
    assert other.near == 0 and other.score < 0.7 * one.score, other


def test_what_is_imported_is_said(bank: Bank) -> None:
    assert tasks.whose(bank.cards["e-align_dpo"].about) == "`torch`, `F`, `np` and `math` are imported. "
    assert tasks.whose(bank.cards["e-shards_build_mlp"].about) == "`np` is imported. "
    assert tasks.whose(bank.cards["e-features_lora"].about).startswith("You write ")


def test_the_names_in_scope_are_those_of_the_module_or_of_the_notebook(bank: Bank) -> None:
    of_module = tasks.in_scope(bank.course, bank.cards["e-features_lora"].about)
    assert {"Parameter", "empty", "zeros", "copy", "linear", "draw", "no_grad"} <= {
        *of_module
    } and "np" not in of_module
    of_notebook = tasks.in_scope(bank.course, bank.cards["e-serve_schedule"].about)
    assert {"Request", "np", "torch", "Counter"} <= {*of_notebook} and not {"check", "annotations"} & {*of_notebook}


def test_the_names_in_scope_are_none_of_the_checks_own(bank: Bank) -> None:
    """The notebook's first cells also define what only its check uses."""
    assert tasks.in_scope(bank.course, bank.cards["e-shards_build_mlp"].about) == ["distributed", "nn", "np"]
