"""The interview in a notebook: the same rounds, with buttons."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from course import formulas
from course.chapters import PATTERN
from course.files import Course, write_atomically
from course.image import Picture
from course.interview import history
from course.interview.bank import Bank
from course.interview.clock import Clock
from course.interview.interview import Interview
from course.interview.prompts import Choose, Edit, Prompt, Rate, Say, Speak, Tick, Wait, Write, code
from course.interview.rounds import ROUNDS
from course.interview.scope import PROFILES, Plan
from course.learner import package

_STYLE = """<style>
.interview { line-height: 1.45; overflow-wrap: break-word }
.interview > * { max-width: 46em }
.interview-room .widget-html { max-width: 100%; overflow: hidden }
.interview-room .widget-html-content { min-width: 0 }
.interview pre { max-width: 100%; padding: .6em .8em; overflow-x: auto; white-space: pre }
.interview pre { background: var(--jp-cell-editor-background, #f5f5f5) }
.interview pre + pre { border-top: 1px solid var(--jp-border-color2, #ccc) }
.interview-point, .interview-point label { height: auto !important; line-height: 1.45; white-space: normal }
.interview-point { max-width: 46em; margin-bottom: .4em }
.interview-point label { display: flex !important; align-items: baseline; gap: .4em }
.interview-file textarea { font-family: var(--jp-code-font-family, monospace); white-space: pre; overflow: auto }
.interview-file textarea { line-height: 1.35; tab-size: 4 }
.interview-line input { font-family: var(--jp-code-font-family, monospace) }
.interview table { border-collapse: collapse }
.interview td, .interview th { padding: .1em .8em .1em 0; text-align: left }
.interview a { color: var(--jp-content-link-color, #0072b2); text-decoration: underline }
@property --left { syntax: "<integer>"; inherits: true; initial-value: 0 }
@property --minutes { syntax: "<integer>"; inherits: true; initial-value: 0 }
@property --seconds { syntax: "<integer>"; inherits: true; initial-value: 0 }
.interview .clock { max-width: 46em; margin-top: .4em }
.interview .track { height: 4px; background: var(--jp-border-color2, #ccc) }
.interview .bar { height: 4px; background: #0072b2; transform-origin: left; animation: interview linear forwards }
.interview .left { animation: interview-left linear forwards; font-variant-numeric: tabular-nums }
.interview .since { animation-direction: reverse }
.interview .left::after { --minutes: calc(var(--left) / 60 - .5); counter-reset: m var(--minutes) s var(--seconds);
  --seconds: calc(var(--left) - 60 * var(--minutes)); content: counter(m) ":" counter(s, decimal-leading-zero) }
.interview .over { visibility: hidden; font-weight: bold; animation: interview-over 0s forwards }
@keyframes interview { from { transform: scaleX(1) } to { transform: scaleX(0) } }
@keyframes interview-left { from { --left: var(--of) } to { --left: 0 } }
@keyframes interview-over { to { visibility: visible } }
</style>"""
_ROWS = 14, 36
"""How many lines of a file are seen: at least, and at most."""


class Room:
    """The widgets of one interview: the item so far, what is asked, where to answer, and the time that is left."""

    def __init__(self, interview: Interview, widgets: Any, note: str = "") -> None:
        self.interview, self.widgets, self.note = interview, widgets, note
        self.said, self.asked, self.answer, self.clock = widgets.HTML(), widgets.HTML(), widgets.VBox(), widgets.HTML()
        self.box = widgets.VBox([self.said, self.asked, self.answer, self.clock])
        self.box.add_class("interview-room")  # the extension of JupyterLab knows it by that
        self.item: list[str | Picture] = []
        """What was said, asked and answered of the item so far; it stays above what is asked next."""
        self.prompt: Prompt = Say("")
        self.field: Any = None
        """Where a line was typed last."""
        if interview.history.open:
            self._begin()
        else:
            self._offer()

    def _offer(self) -> None:
        """Ask for rounds, minutes and the clock, and begin."""
        w = self.widgets
        told = f"{self.note}\n\nWhich job is it for, and about which topics or chapters? Rounds: none means all."
        self._show(self.asked, told.strip())
        wraps = {"flex_flow": "row wrap"}
        rounds = [w.ToggleButton(description=each.title, layout={"width": "auto"}) for each in ROUNDS.values()]
        jobs = [("anything", ""), *((title, name) for name, (title, _) in PROFILES.items())]
        profile = w.Dropdown(options=jobs, description="for", layout={"width": "24em"})
        about = w.Text(placeholder="DPO, 24b … (or empty)", description="about", layout={"width": "24em"})
        minutes = w.BoundedIntText(value=int(Plan().length), min=1, max=180, description="minutes")
        timed = w.Checkbox(value=True, description="with a clock", indent=False)

        def begin() -> None:
            chosen = tuple(name for name, button in zip(ROUNDS, rounds, strict=True) if button.value)
            words = [each.strip() for each in about.value.split(",") if each.strip()]
            numbers = tuple(each for each in words if re.fullmatch(PATTERN, each))
            topics = tuple(each for each in words if each not in numbers)
            try:
                self.interview.draw(Plan(chosen, minutes.value, None, timed.value, profile.value, numbers, topics))
            except LookupError as error:
                self._show(self.asked, f"{error}.\n\n{told.strip()}")
                return
            self._begin()

        self._controls(
            w.HBox([profile, about], layout=wraps),
            w.HBox(rounds, layout=wraps),
            w.HBox([minutes, timed], layout=wraps),
            self._button("Begin", begin, "success"),
        )

    def _begin(self) -> None:
        self.talk, self.item = self.interview.talk(), []
        self._go_on(None)

    def reply(self, reply: Any) -> None:
        """Send a reply, and show what follows it."""
        self.item += filter(None, [_echo(self.prompt, reply)])
        self._go_on(reply)

    def _go_on(self, reply: Any) -> None:
        """Show what is said until something is asked. A verdict is read before the next item is begun."""
        self._controls()
        self._show(self.asked, "")
        self.clock.value = ""
        told = 0
        try:
            while isinstance(prompt := self.talk.send(reply), Say | Wait):
                reply = None
                if isinstance(prompt, Wait):
                    self._show(self.said, *self.item)
                    reply = self._wait(prompt)
                elif prompt.text.startswith("#"):  # another item, or the end
                    begun = any(isinstance(line, str) and line.startswith("#") for line in self.item)
                    if told and begun:
                        self._controls(self._button("Go on", lambda: self._next(prompt.text), "primary"))
                        return
                    self.item = [*([] if begun else self.item), prompt.text]
                else:
                    self.item.append(prompt.picture() if prompt.picture else prompt.text)
                told += 1
                self._show(self.said, *self.item)
        except StopIteration:
            self._controls(self._button("Another interview", self._again))
            return
        self._show(self.said, *self.item)
        self._ask(prompt)

    def _wait(self, prompt: Wait) -> Any:
        """Do what takes a while. The page counts its seconds, since the kernel is busy, and says what it does."""
        began = self.interview.clock.ticks()

        def tell(said: str = "") -> None:
            counted = _down(3600, self.interview.clock.ticks() - began)
            seconds = f'<span class="left since" style="{counted}"></span>'
            told = html.escape(" ".join(filter(None, [prompt.text, said])))
            self.asked.value = f'{_STYLE}<div class="interview"><p role="status">{told} {seconds}</p></div>'

        tell()
        reply = prompt.does(tell)
        self._show(self.asked, "")
        return reply

    def _next(self, heading: str) -> None:
        self.item = [heading]
        self._show(self.said, heading)
        self._go_on(None)

    def _again(self) -> None:
        self._show(self.said, "")
        self._offer()

    def _ask(self, prompt: Prompt) -> None:
        w, self.prompt = self.widgets, prompt
        self._show(self.asked, prompt.text)
        self.clock.value = self._time()
        match prompt:
            case Choose(_, options):
                replies = prompt.percents if isinstance(prompt, Rate) else range(len(options))
                buttons = [self._button(each, self._sends(it)) for each, it in zip(options, replies, strict=True)]
                self._controls(w.HBox(buttons, layout={"flex_flow": "row wrap"}))
            case Tick(_, points):
                look = {"indent": False, "description_allow_html": True, "layout": {"width": "auto"}}
                boxes = [w.Checkbox(description=_html(point, inline=True), **look) for point in points]
                for box in boxes:
                    box.add_class("interview-point")
                done = self._button("Done", lambda: self.reply([box.value for box in boxes]))
                self._controls(*boxes, done)
            case Write(_, label, again):
                typed = self.field.value if again else ""
                self.field = w.Text(value=typed, placeholder=label, layout={"width": "30em"}, continuous_update=False)
                self.field.add_class("interview-line")
                done = self._button("Answer", lambda: self.reply(self.field.value))
                done.add_class("interview-answer")
                self._controls(self.field, done)
            case Speak():
                told = "What you type here stands beside the points of a good answer (or leave it empty)."
                own = w.Textarea(placeholder=told, rows=4, layout={"width": "100%", "max_width": "46em"})
                self._controls(own, self._button("I have answered", lambda: self.reply(own.value)))
            case Edit(_, path, _, hints):
                self._controls(*self._editor(path, hints))

    def _editor(self, path: Path, hints: Sequence[str]) -> list[Any]:
        """Where a file is written. Each change is saved; where another editor has saved it, that one counts."""
        w, text = self.widgets, path.read_text(encoding="utf-8")
        rows = min(max(text.count("\n") + 3, _ROWS[0]), _ROWS[1])
        field = w.Textarea(value=text, rows=rows, layout={"width": "100%", "max_width": "72em"})
        field.add_class("interview-file")
        saved = text

        def save(change: Any) -> None:
            nonlocal saved
            if change["new"] == saved:
                return
            elsewhere = path.read_text(encoding="utf-8")
            if elsewhere == saved:
                write_atomically(path, change["new"])
                saved = change["new"]
                self.interview.keep_time()  # the kernel may be gone before the next key
            else:  # the box shows it now; what was typed was one key
                saved = field.value = elsewhere

        field.observe(save, "value")
        course = self.interview.bank.course
        name = html.escape(path.relative_to(course.root).as_posix())
        beside = f'<a href="#" class="interview-open" data-path="{name}">Open it beside the notebook</a>'
        told = f"It is saved in <code>{name}</code> while you type. {beside}: what you save there counts, too."
        keys = "Tab indents; Escape, then Tab leaves the box."
        taken: list[str] = []

        def tell() -> None:
            taken.append(f"**Hint {len(taken) + 1} of {len(hints)}.** {hints[len(taken)]}")
            self._show(self.asked, self.prompt.text, *taken)
            hint.disabled = len(taken) == len(hints)

        done = self._button("Check it", lambda: self.reply(len(taken)), "success")
        hint = self._button("Hint", tell)
        return [
            w.HTML(f'{_STYLE}<div class="interview"><p>{told}<br>{keys}</p></div>'),
            field,
            *([w.HBox([done, hint])] if hints else [done]),
        ]

    def _time(self) -> str:
        """The time left for an item and for the interview. The page counts it down, even if the kernel is busy."""
        watch = self.interview.watch
        if watch is None or (so_far := watch.running) is None:
            return ""
        item, whole = _down(watch.allowed, so_far), _down(self.interview.left)
        bar = f'<div class="track" role="presentation"><div class="bar" style="{item}"></div></div>'
        over = f'<span class="over" style="animation-delay: {watch.allowed - so_far:.1f}s">Time is up.</span>'
        for_this, in_all = (f'<span class="left" style="{style}"></span>' for style in (item, whole))
        left = f"{for_this} left for this, {in_all} in all."
        return f'{_STYLE}<div class="interview"><div class="clock" role="timer">{bar}{left} {over}</div></div>'

    def _show(self, widget: Any, *shown: str | Picture) -> None:
        parts = [each.html if isinstance(each, Picture) else _html(each) for each in shown if each]
        widget.value = f'{_STYLE}<div class="interview">{"".join(parts)}</div>' if parts else ""

    def _controls(self, *controls: Any) -> None:
        self.answer.children = controls

    def _button(self, text: str, does: Callable[[], None], style: str = "") -> Any:
        button = self.widgets.Button(
            description=text, button_style=style, layout={"width": "auto", "align_self": "flex-start"}
        )
        button.on_click(lambda _: does())
        return button

    def _sends(self, reply: Any) -> Callable[[], None]:
        return lambda: self.reply(reply)


def _echo(prompt: Prompt, reply: Any) -> str:
    """What stays of a question once it was answered, and the answer."""
    match prompt:
        case Rate(text, options, percents):
            return f"{text} *{options[percents.index(reply)]}*"
        case Choose(text):
            return text
        case Tick(text, points):
            return "\n".join([text, "", *(f"- {'✓' if on else '✗'} {p}" for p, on in zip(points, reply, strict=True))])
        case Write(text, _, again):
            return "\n\n".join(filter(None, ["" if again else text, f"You answered {code(reply)}."]))
        case Speak(text):
            return "\n\n".join([text, *([f"You wrote {code(reply)}."] if reply.strip() else [])])
        case Edit(text, _, again):
            return "" if again else text
        case Say(text) | Wait(text):
            return text


def _down(seconds: float, so_far: float = 0.0) -> str:
    """The style of what runs down, from `seconds` to 0."""
    return f"animation-duration: {seconds:.0f}s; animation-delay: -{so_far:.1f}s; --of: {seconds:.0f}"


_rooms: list[Room] = []
"""The room that was opened last. The clock of an earlier one, whose cell was run again, doesn't go on."""


def show(
    rounds: Sequence[str] = (),
    minutes: float | None = None,
    seed: int | None = None,
    timed: bool = True,
    profile: str = "",
    chapters: Sequence[str] = (),
    topics: Sequence[str] = (),
    screen: bool = False,
) -> None:
    """Hold an interview below this cell, or go on with the one that was interrupted.

    With arguments (see `course.interview.scope.Plan`) a new one begins at once, unless one is open. In a build of the
    course nothing is asked.

    Raises:
        LookupError: there is no such profile or chapter, or nothing to ask about the topics.
    """
    from IPython.display import publish_display_data

    publish: Any = publish_display_data
    if not package.is_learners():
        publish({"text/plain": "Run this cell to begin. Without widgets: `course interview` in a terminal."})
        return
    import ipywidgets

    plan = Plan(tuple(rounds), minutes, seed, timed, profile, tuple(chapters), tuple(topics), screen)
    room = room_for(Course.find(), ipywidgets, plan)
    told = "Run this cell again, and the interview goes on where you left it. Without widgets: `course interview`."
    publish({**room.box._repr_mimebundle_(), "text/plain": told})


def room_for(course: Course, widgets: Any, plan: Plan | None = None, clock: Clock | None = None) -> Room:
    """The room of a learner's interview."""
    for room in _rooms:
        room.interview.left_alone.set()
    past = history.read(course)
    interview = Interview(Bank(course), past, clock or Clock())
    if past.open is None and plan and plan != Plan(minutes=plan.minutes, timed=plan.timed):
        interview.draw(plan)
    _rooms[:] = [Room(interview, widgets, past.note)]
    return _rooms[0]


def _html(text: str, inline: bool = False) -> str:
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    return str((markdown.renderInline if inline else markdown.render)(formulas.plain(text)))
