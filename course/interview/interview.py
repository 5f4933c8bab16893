"""An interview: rounds that are drawn, held, noted down after each answer, and summed up."""

from __future__ import annotations

import json
import math
import secrets
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from course.files import write_atomically
from course.interview import schedule
from course.interview.asking import Asking, Round
from course.interview.bank import Bank
from course.interview.cards import Card
from course.interview.clock import Clock, Watch, spoken
from course.interview.history import History, Item, Open
from course.interview.prompts import Prompt, Say
from course.interview.rounds import ROUNDS
from course.interview.scope import Plan, Scope
from course.interview.screen import concept
from course.interview.summary import summary
from course.interview.twins import unlike


class Interview:
    """The interview that a history has open, or a new one."""

    def __init__(self, bank: Bank, history: History, clock: Clock) -> None:
        self.bank, self.history, self.clock = bank, history, clock
        history.open_cards(bank.cards)
        self.watch: Watch | None = None
        """Of the item that is asked."""
        self.began = 0.0
        """When that item began."""
        self.asked: tuple[int, float] | None = None
        """Which item that is, and when it began; None before the first."""
        self.left_alone = threading.Event()
        """Set once nobody holds this interview any more."""

    def draw(self, plan: Plan | None = None) -> None:
        """Begin a new interview, and note it. With the same plan, seed, history and day it asks the same.

        A round that has nothing to ask within the plan is left out, which the interview says when it begins. Where
        rounds are chosen and minutes aren't, these rounds are as long as in a whole interview; where both are, each
        round has an item, even if that takes more minutes. A screen has two rounds of equal length: questions about the
        concept of one chapter, and the whiteboard.

        Raises:
            LookupError: there is no such profile or chapter, or none of the rounds has anything to ask.
        """
        plan = plan or Plan()
        scope = self.bank.scope(plan.profile, plan.chapters, plan.topics)
        seed = secrets.randbelow(2**31) if plan.seed is None else plan.seed
        rng = np.random.default_rng(seed)
        orders = [(each, self._order(each, scope, rng)) for name, each in ROUNDS.items() if name in plan.of(ROUNDS)]
        if plan.screen:
            (explain, questions), (whiteboard, problems) = orders
            least, most = 12 * plan.length, 33 * plan.length  # a fifth, and half with a tenth of it more, in seconds
            fitting = [card for card in problems if least <= whiteboard.allowed([card]) <= most] or problems
            about = concept(questions, fitting) if questions else (questions, fitting)
            orders = list(zip((explain, whiteboard), about, strict=True))
        held = [(each, order, 1.0 if plan.screen else each.share) for each, order in orders if each.groups(order)]
        if not held:
            raise LookupError("these rounds have nothing to ask about that")
        empty = [each.title for each, _ in orders if each not in [one for one, _, _ in held]]
        notes = [f"Left out, as there is nothing to ask about that: {', '.join(empty)}."] if empty else []
        length, chosen = plan.length, bool(plan.rounds) and plan.minutes is None
        left, shares = length, sum(share for _, _, share in held)
        drawn: dict[str, list[Item]] = {}
        for each, order, share in sorted(held, key=lambda one: -one[0].seconds):
            minutes = share if chosen else max(0.0, left) * share / shares
            shares -= share
            if each.is_optional and len(held) > 1 and not plan.rounds and left * 60 < 3 * each.seconds:
                notes.append(f"{each.title} is left out for want of time; `--round {each.name}` holds it alone.")
                continue
            asked = [card for items in drawn.values() for item in items for card in self._cards(item)]
            if not each.groups(order := unlike(order, asked)):
                notes.append(f"{each.title} is left out: the other rounds ask what it has.")
                continue
            drawn[each.name] = each.items(order, minutes, length, rng)
            left -= self._minutes(drawn[each.name])  # so the others shrink around a long problem
        items = [item for each, _, _ in held for item in drawn.get(each.name, ())]
        needed = math.ceil(self._minutes(items))
        if chosen:  # these rounds as a whole interview has them: as long as what they ask
            length = needed
        elif plan.rounds and needed > length:
            notes.append(f"With an item of each round, that is more than {length:g} minutes.")
            length = needed
        self.history.open = Open(seed, length, plan.timed, items, began=self.clock.now(), note=" ".join(notes))
        self.history.save()

    def _order(self, each: Round, scope: Scope, rng: np.random.Generator) -> list[Card]:
        """The cards of a round in the order in which they would be asked.

        Cards that were asked together the last time come last, so that two debug rounds in a row have other faults.
        """
        cards = [scope.weighed(card) for kind in each.kinds for card in self.bank.of(kind) if scope.holds(card)]
        order = schedule.order(cards, self.history.answers, self.bank.cards, self.clock.now(), rng, each.most)
        last = [answer.card for answer in self.history.answers if answer.round == each.name][-each.together :]
        return sorted(order, key=lambda card: each.together > 1 and card.name in last)

    def _minutes(self, items: Iterable[Item]) -> float:
        """How many minutes items may take."""
        return sum(ROUNDS[item.round].allowed(self._cards(item)) for item in items) / 60

    def _cards(self, item: Item) -> list[Card]:
        """The cards of an item that the course still has."""
        return [self.bank.cards[name] for name in item.cards if name in self.bank.cards]

    def talk(self) -> Generator[Prompt, Any, None]:
        """Hold the interview that is open, from where it was left.

        Time counts while the interview is held, not while nobody holds it. Once an item is asked, and then every
        `clock.every` seconds, a file says how much of its time is used, and the item goes on from there. So an
        interruption gives nothing back, and a killed terminal at most these seconds.
        """
        with self._time_kept():
            yield from self._talk()
        self.history.clock.unlink(missing_ok=True)

    def _talk(self) -> Generator[Prompt, Any, None]:
        opened = self.history.open
        assert opened is not None
        if opened.done:
            yield Say(f"This interview goes on: {opened.done} of {len(opened.items)} done. Seed {opened.seed}.")
        elif opened.clock:
            told = f"About {opened.minutes:g} minutes, seed {opened.seed}. {opened.note}".rstrip()
            yield Say(f"{told} You can stop at any time; the interview then goes on where you left it.")
        elif opened.note:
            yield Say(opened.note)
        before = ""
        while opened.done < len(opened.items) and not self._is_over(opened):
            item = opened.items[opened.done]
            self.began = self.clock.ticks() - opened.spent
            cards = self._cards(item)
            if cards and item.round in ROUNDS:  # the course may have changed since
                shown = self.clock.ticks()
                yield Say(*self._headed(opened, item, before, cards))
                before = item.round
                self.began = self.clock.ticks() - opened.spent
                opened.elapsed += self.began + opened.spent - shown  # the last verdict was read until now
                self.asked = opened.done, self.began
                self.keep_time()
                self.watch = Watch(self.clock, ROUNDS[item.round].allowed(cards), opened.clock, opened.spent)
                every = [card for each in opened.items for card in self._cards(each)]
                asking = Asking(self.bank, item, cards, self.watch, self.clock, every)
                self.history.answers += yield from ROUNDS[item.round].talk(asking)
            opened.done += 1
            opened.elapsed += self.clock.ticks() - self.began
            opened.spent = 0.0
            self.history.save()
        answers = [each for each in self.history.answers if each.when >= opened.began]
        unasked = list(
            dict.fromkeys(ROUNDS[each.round].title for each in opened.items[opened.done :] if each.round in ROUNDS)
        )
        yield from summary(self.bank, answers, self.history.answers, unasked)
        self.history.open = None
        self.history.save()

    def keep_time(self) -> None:
        """Write how much time went into the item that is asked, so that it goes on from there the next time."""
        opened = self.history.open
        if self.asked and opened and opened.clock:
            done, began = self.asked
            about = {"began": opened.began, "done": done, "spent": round(self.clock.ticks() - began, 1)}
            write_atomically(self.history.clock, json.dumps(about) + "\n")

    @contextmanager
    def _time_kept(self) -> Iterator[None]:
        """Inside, a thread keeps the time every few seconds, until the interview is left alone."""
        left_alone = self.left_alone = threading.Event()

        def keep() -> None:
            while not left_alone.wait(self.clock.every):
                self.keep_time()

        thread = threading.Thread(target=keep, daemon=True)
        thread.start()
        try:
            yield
        finally:
            left_alone.set()
            thread.join()

    def _is_over(self, opened: Open) -> bool:
        return opened.clock and opened.elapsed >= opened.minutes * 60

    @property
    def left(self) -> float:
        """The seconds that are left of the interview that is open; not below 0."""
        assert self.history.open is not None
        opened = self.history.open
        return max(0.0, opened.minutes * 60 - opened.elapsed - (self.clock.ticks() - self.began))

    def _headed(self, opened: Open, item: Item, before: str, cards: Sequence[Card]) -> tuple[str, str]:
        """What stands above an item: the round and which of its items this is; and the time."""
        about = ROUNDS[item.round]
        mine = [place for place, each in enumerate(opened.items) if each.round == item.round]
        told = f"{about.title} · {mine.index(opened.done) + 1} of {len(mine)}"
        left = max(0.0, opened.minutes * 60 - opened.elapsed - opened.spent)
        times = f" · {spoken(about.allowed(cards))} · {spoken(left)} left" if opened.clock else ""
        return f"{'#' * (2 if item.round != before else 3)} {told}", times
