"""The rounds in which a line is typed, read and repeated before it is judged: predictions and estimates."""

from __future__ import annotations

import ast
import re
from functools import partial

from course.interview import judged, predictions, programs, quantities, tasks, values, verdicts
from course.interview.asking import AGAIN, Asking, Round, a_line, is_pass, timed, understood
from course.interview.estimate import Estimate
from course.interview.estimate_mistakes import mistake
from course.interview.prompts import Say, Talk, Wait, code
from course.learner.practice import Exercise


class Predict(Round):
    """What does a program show? Its numbers are new each time; exercises of the course come, too."""

    name, title, kinds, seconds, share = "predict", "Predict", ("program", "predict"), 120, 4

    def talk(self, asking: Asking) -> Talk:
        card = asking.card
        talk = self._program if card.kind == "program" else self._exercise
        return (yield from talk(asking, card.about))

    def _program(self, asking: Asking, program: programs.Program) -> Talk:
        text = program.drawn(asking.rng)
        right = programs.run(text)
        told, again, sure = f"What is the value of the last line?\n\n```python\n{text}\n```", False, None
        while sure is None:
            reply = yield from a_line(told, "value", again)
            if is_pass(reply):
                asking.watch.stop()
                yield Say(f"**Passed.** It is `{right}`. {program.says} {timed(asking)}")
                return [asking.answer(0.0)]
            try:
                given = values.read(_plain(reply), ast.literal_eval(values.read(right)))
            except ValueError as error:
                told, again = f"{error}. `None` says that you don't know. Once more:", True
                continue
            sure = yield from understood(code(given))
            told, again = AGAIN, True
        asking.watch.stop()
        correct = programs.same(given, right)
        verdict = "Right" if correct else f"No: it is `{right}`"
        yield Say(f"**{verdict}.** {program.says} {timed(asking)}")
        return [asking.answer(float(correct), sure)]

    def _exercise(self, asking: Asking, exercise: Exercise) -> Talk:
        with judged.Judge(asking.bank.course, exercise, asking.item.seed) as judge:
            return (yield from self._predicted(asking, exercise, judge))

    def _predicted(self, asking: Asking, exercise: Exercise, judge: judged.Judge) -> Talk:
        course, task = asking.bank.course, tasks.task_of(asking.bank.course, exercise)
        told, again, sure = f"{task}\n\nWrite what `prediction` is.", False, None
        while sure is None:
            reply = yield from a_line(told, "prediction =", again)
            if is_pass(reply):  # no check is about it: most of them would fail on it
                asking.watch.stop()
                yield Say(f"**Passed.** It counts as not right.{_solution(asking)}{timed(asking)}")
                return [asking.answer(0.0)]
            try:
                given = values.read(reply, predictions.wanted(course, exercise), values.units(task))
            except ValueError as error:
                told, again = f"{error}. `None` says that you don't know. Once more:", True
                continue
            if miscounted := predictions.miscounted(course, exercise, given):
                told, again = f"{miscounted} `None` says that you don't know. Once more:", True
                continue
            sure = yield from understood(code(given))
            told, again = AGAIN, True
        asking.watch.stop()
        parts = predictions.values(course, exercise, given)
        right = sum(each.is_right for each in parts)
        if parts and right == len(parts):
            yield Say(f"**Right.** {timed(asking)}")
            return [asking.answer(1.0, sure)]
        if parts and all(each.is_right or each.says for each in parts):  # the known mistakes explain everything
            yield Say(f"**{right} of {len(parts)} values are right.**\n\n{predictions.told(parts)}\n\n{timed(asking)}")
            return [asking.answer(right / len(parts), sure, right=False)]
        check = partial(judge.check, f"prediction = {given.strip()}")
        verdict: judged.Verdict = yield Wait("Checking …", check)
        if parts and verdict.message:
            told = f"**{right} of {len(parts)} values are right.**\n\n{predictions.told(parts)}"
            score = max(right / len(parts), verdict.score)
        else:
            message, near = verdicts.counted(verdicts.formless(verdict.message))
            if astray := predictions.astray(course, exercise, given):
                counted = next((line for line in message.splitlines() if line.endswith("answers are right.")), "")
                message = f"{counted}\n\n{astray}"
            told = f"**Not right.** {message}{_solution(asking)}" if message else "**Right.** "
            score = max(verdict.score, near)
        yield Say(f"{told.rstrip()}\n\n{timed(asking)}")
        return [asking.answer(score, sure, right=not verdict.message)]


def _plain(text: str) -> str:
    """A typed value without the type around it: `torch.Size([2, 3])` is [2, 3]."""
    found = re.fullmatch(r"\s*(?:torch\.)?(?:Size|tensor)\s*\((.*)\)\s*", text)
    return found[1] if found else text


def _solution(asking: Asking) -> str:
    """The solution of an exercise, as a paragraph between others; a space where the course has none."""
    solution = tasks.solution_of(asking.bank.course, asking.card.about)
    return f"\n\n```python\n{solution}\n```\n\n" if solution else " "


class Estimates(Round):
    """Numbers for the back of an envelope."""

    name, title, kinds, seconds, share = "estimate", "Estimate", ("estimate",), 120, 4

    def talk(self, asking: Asking) -> Talk:
        estimate: Estimate = asking.card.about
        numbers, told = estimate.drawn(asking.rng), estimate.task(asking.card.about.drawn(asking.rng))
        again, sure = False, None
        while sure is None:
            reply = yield from a_line(told, estimate.unit, again)
            if is_pass(reply):
                asking.watch.stop()
                yield Say(f"**Passed.** It counts as not right. {estimate.says(numbers)}. {timed(asking)}")
                return [asking.answer(0.0)]
            try:
                given = quantities.number(reply, estimate.unit)
            except ValueError as error:
                told, again = f"{error}. `None` says that you don't know. Once more:", True
                continue
            sure = yield from understood(estimate.amount(given))
            told, again = AGAIN, True
        asking.watch.stop()
        correct = estimate.is_close(given, numbers)
        off = estimate.off(given, numbers)
        why = "" if correct else mistake(estimate, given, numbers)
        met = "**Correct.**" if estimate.tolerance == 0 else "**Close enough.**"
        verdict = met if correct else f"**No.** {why or (f'Yours is {off}.' if off else '')}".strip()
        yield Say(f"{verdict} {estimate.says(numbers)}. {timed(asking)}")
        return [asking.answer(float(correct), sure)]
