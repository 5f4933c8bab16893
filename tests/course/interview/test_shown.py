"""How texts are shown, and what candidates stumbled over."""

from __future__ import annotations

import re

import pytest

from course import formulas
from course.files import Course
from course.interview import asking, faults, notebook, tasks
from course.interview import export as export_module
from course.interview.bank import Bank
from course.interview.clock import Watch
from course.interview.history import Item
from course.interview.prompts import Choose, Edit, Say, Write
from course.learner import practice
from tests.course.interview.holding import Time, in_terminal, talked, words


def test_a_long_line_of_a_proof_is_set_in_where_it_goes_on() -> None:
    code = "def f(value):\n    trace.append((names.get(value), {name: each.grad for each, name in names.items()}))"
    lines = [line.rstrip() for line in in_terminal(Say(f"```python\n{code}\n```"), width=60).splitlines()]
    begin = next(place for place, line in enumerate(lines) if "trace" in line)
    assert lines[begin].startswith("     trace") and lines[begin + 1].startswith(13 * " ")
    assert words("".join(lines)) == words(code.replace("\n", "")) and max(map(len, lines)) <= 60


def test_no_answer_of_rapid_fire_vanishes(bank: Bank, course: Course) -> None:
    """`1.` is the beginning of a list in Markdown, and an empty list shows nothing."""
    for card in bank.of("line"):
        shown, _ = talked(bank, course, Item("rapid", [card.name], 1), lambda _: 0)
        answer = card.points[0].text
        assert words(in_terminal(shown[-1]))[:1] == words(answer)[:1], answer
        if re.fullmatch(r"\d+\.", answer):
            assert f"<p>{answer}</p>" in notebook._html(shown[-1].text)


def test_options_are_not_broken_at_the_edge_of_a_terminal() -> None:
    shown = in_terminal(Choose("Sure?", asking.SURE)).splitlines()
    assert [f"{place} {each}" for place, each in enumerate(asking.SURE, 1)] == shown[2:7]
    assert "1 yes  2 no" in in_terminal(Choose("Right?", ("yes", "no")))


def test_the_label_of_a_line_has_no_colon_behind_an_equals_sign() -> None:
    assert "prediction = " in in_terminal(Write("What is it?", "prediction ="))
    assert "value: " in in_terminal(Write("What is it?", "value"))


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"$\eta_t = \frac12 (\eta_0 - \eta_{min})$", "η_t = 1/2 (η_0 - η_min)"),
        (r"$1 + \cos \frac{\pi t}{T}$", "1 + cos ((π t)/T)"),
        (r"$\ln \frac{a}{b}$", "ln (a/b)"),
        (r"$\log \frac{e^{x_i}}{\sum_j e^{x_j}}$", "log ((e^(x_i))/(Σ_j e^(x_j)))"),
        (r"$1/\sqrt{\text{in\_features}}$, $\sqrt d$", "1/√in_features, √d"),
        (r"$2 / (1 - \beta_2)$ and $v^\top J$", "2 / (1 - β_2) and vᵀ J"),
        (r"$\sqrt{\hat v}$ and $\hat{m}_t$", "√(v\u0302) and m\u0302_t"),
        ("`$a$`", "$a$"),
    ],
)
def test_a_formula_is_plain_text(latex: str, text: str) -> None:
    assert text in in_terminal(Say(latex))
    assert text in notebook._html(latex)
    assert text in re.sub("<.*?>", "", export_module._inline(latex))


def test_nothing_that_is_asked_shows_latex(bank: Bank) -> None:
    told = [tasks.task_of(bank.course, card.about) for kind in ("whiteboard", "predict") for card in bank.of(kind)]
    told += [hint for card in bank.of("whiteboard") for hint in tasks.hints_of(bank.course, card.about)]
    told += tasks.statements().values()
    told += [point.text for card in bank.of("question") for point in card.points]
    left = [text for text in told if re.search(r"\$[^$\n]+\$|\\[a-z]{2,}", without_code(text))]
    assert left == []


def test_no_hint_shows_latex(course: Course) -> None:
    """`course hint` prints a hint as it is, and an interview sets it as Markdown, where only signs are escaped."""
    every = [hint for exercise in practice.exercises(course) for hint in exercise.hints]
    assert len(every) > 500
    printed = [without_code(formulas.plain(hint, is_markdown=False)) for hint in every]
    assert [text for text in printed if re.search(r"\$|\\", text)] == []
    shown = [without_code(formulas.plain(hint)) for hint in every]
    assert [text for text in shown if re.search(r"\$|\\[^_*|]", text)] == []


def test_the_next_hint_is_plain_text(course: Course) -> None:
    said = [practice.next_hint(course, "schedule_measure_limit") for _ in range(2)]
    assert "the midpoint of a and b is √(a · b), and you can\n" in said[1]


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", formulas.plain(text), flags=re.DOTALL)


def test_a_slip_of_the_pen_is_said_before_it_counts(bank: Bank, course: Course) -> None:
    item = Item("debug", [f"f-{name}" for name in ("mask-polarity", "label-shift", "softmax-twice", "no-zero-grad")], 1)
    texts = ["def broken(:", faults.clean()]
    asked: list[str] = []

    def write(prompt: Edit) -> None:
        asked.append(prompt.text)
        prompt.path.write_text(texts[len(asked) - 1])

    _, answers = talked(bank, course, item, write)
    assert len(asked) == 2 and "isn't valid Python yet: `SyntaxError: " in asked[1]
    assert [answer.score for answer in answers] == [0.75] * 4, "fixed, without tests"


@pytest.mark.usefixtures("graded")
def test_what_was_written_is_kept(bank: Bank, course: Course) -> None:
    item = Item("whiteboard", ["e-init_softmax"], 1)

    def write_x(prompt: Edit) -> None:
        prompt.path.write_text("x = 1")

    shown, (answer,) = talked(bank, course, item, lambda each: write_x(each) if isinstance(each, Edit) else 0)
    assert answer.score == 0.0 and "`my/backups/init_softmax-1.py`" in shown[-2].text
    assert (course.mine / "backups/init_softmax-1.py").read_text() == "x = 1"
    assert "`init_softmax` in `exercises/10_activations_and_initialization.ipynb`" in shown[-2].text


@pytest.mark.usefixtures("graded")
def test_a_whiteboard_says_what_is_written_and_where(bank: Bank, course: Course) -> None:
    shown, _ = talked(bank, course, Item("whiteboard", ["e-optim_adam"], 1), lambda _: None)
    assert "You write `adam` of `mytorch.optim.adam`" in shown[0].text
    assert "shapes" not in shown[0].text


@pytest.mark.parametrize("program", faults.PROGRAMS)
def test_the_program_with_faults_does_not_say_where_they_are(program: str) -> None:
    assert "fault" not in faults.clean(program)


@pytest.mark.parametrize(("seconds", "told"), [(20.0, "20 s"), (20.3, "21 s, late: 20 s are allowed")])
def test_nobody_is_late_by_a_time_that_is_allowed(seconds: float, told: str) -> None:
    time = Time()
    watch = Watch(time.clock, 20, timed=True)
    watch.seconds = seconds
    assert watch.said() == told


def test_how_sure_is_no_answer_to_yes_or_no() -> None:
    assert not [each for each in asking.SURE if {"yes", "no", "not"} & set(each.split())]


@pytest.mark.usefixtures("graded")
def test_parts_are_listed_with_commas(bank: Bank, course: Course) -> None:
    shown, _ = talked(bank, course, Item("whiteboard", ["e-init_softmax"], 1), lambda _: None)
    told = "You write `softmax`, `derivative.softmax`, `log_softmax` and `derivative.log_softmax` of"
    assert f"{told} `mytorch.nn.activation`; " in shown[0].text
