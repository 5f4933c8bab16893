"""`course interview` in a terminal."""

from __future__ import annotations

import re
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import click
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markdown import CodeBlock, Markdown, MarkdownElement
from rich.syntax import Syntax
from rich.text import Text

from course import formulas
from course.files import Course
from course.interview import calibration, history, record
from course.interview.bank import Bank
from course.interview.clock import Clock
from course.interview.interview import Interview
from course.interview.prompts import Choose, Edit, Prompt, Rate, Say, Speak, Tick, Wait, Write
from course.interview.scope import Plan

STOPPED = "Stopped. `course interview` goes on from here."
clock = Clock()


def hold(course: Course, console: Console, plan: Plan, new: bool) -> None:
    """Hold an interview, or go on with the one that was interrupted.

    Raises:
        LookupError: what is asked for doesn't exist.
    """
    bank, past = Bank(course), history.read(course)
    if past.note:
        console.print(f"[yellow]{past.note}[/]", soft_wrap=True)
    interview = Interview(bank, past, clock)
    if past.open is None or new:
        interview.draw(plan)
    elif plan != Plan(timed=plan.timed):
        console.print("An interview is open, and goes on. `--new` begins another.", soft_wrap=True)
    talk, reply = interview.talk(), None
    unread = False
    """Whether a verdict or a proof is on the screen that nothing was asked about."""
    try:
        while True:
            prompt = talk.send(reply)
            if unread and isinstance(prompt, Say) and prompt.text.startswith("#"):
                _chosen("", ("go on",), console)  # nobody reads while the next item's time runs
            reply = answered(prompt, console)
            unread = isinstance(prompt, Say) and not prompt.text.startswith(("#", "This", "About"))
    except StopIteration:
        return
    except (KeyboardInterrupt, EOFError, click.Abort):
        interview.keep_time()
        console.print(f"\n{STOPPED}", soft_wrap=True)


def show_record(course: Course, console: Console) -> None:
    """Show which problems were solved in which time, and what each round earned."""
    past = history.read(course)
    if past.note:
        console.print(f"[yellow]{past.note}[/]", soft_wrap=True)
    _print(record.record(Bank(course), past.answers), console)


def answered(prompt: Prompt, console: Console) -> Any:
    """Show a prompt, and wait for the reply."""
    match prompt:
        case Say(text, times):
            console.print()
            _print(text + times, console)
            return None
        case Rate(text, options, percents):
            return _chosen(text, options, console, lambda given: rated(given, options, percents, console))
        case Choose(text, options):
            return _chosen(text, options, console)
        case Tick(text, points):
            return _ticked(text, points, console)
        case Write(text, label):
            console.print()
            _print(text, console)
            suffix = " " if label.endswith("=") else ": "
            return click.prompt(label, default="", show_default=False, prompt_suffix=suffix)
        case Speak(text):
            console.print()
            _print(text, console)
            told = "Enter when you have answered; a line that you type stands beside the points"
            return click.prompt(told, default="", show_default=False)
        case Edit(text, path, _, hints):
            console.print()
            _print(text, console)
            console.print(f"\nThe file: {path}", soft_wrap=True, highlight=False)
            return _edited(path, hints, console)
        case Wait(text, does):
            console.print()
            return _waited(text, does, console)


def _waited(text: str, does: Callable[[Callable[[str], None]], Any], console: Console) -> Any:
    """Do what takes a while, and show for how long it has been done, and what it does; on lines, in a file."""
    if not console.is_terminal:
        console.print(text)
        return does(lambda said: console.print(f"  {said} …", highlight=False, soft_wrap=True))
    began, doing = time.monotonic(), ""

    def line() -> Text:
        return Text(f"{text} {time.monotonic() - began:.0f} s{doing}", no_wrap=True, overflow="ellipsis")

    def tell(said: str) -> None:
        nonlocal doing
        doing = f" · {said}"

    with Live(console=console, get_renderable=line, refresh_per_second=4):
        reply = does(tell)
        doing = ""
    return reply


def _edited(path: Path, hints: Sequence[str], console: Console) -> int:
    """Wait until a file is done, and show hints until then. Returns how many.

    A file in which nothing has changed is handed in by a second Enter: the first may be a slip.
    """
    taken, before = 0, path.read_bytes() if path.exists() else b""
    is_warned = False
    while True:
        hint = ", h for a hint" if taken < len(hints) else ""
        given = click.prompt(f"Enter when you are done{hint}, e for $EDITOR", default="", show_default=False)
        match given.strip().lower()[:1]:
            case "" if is_warned or not path.exists() or path.read_bytes() != before:
                return taken
            case "":
                is_warned = True
                console.print("Nothing in the file has changed yet. Enter once more hands it in as it is.")
            case "e":
                click.edit(filename=str(path))
            case "h" if hint:
                _print(f"**Hint {taken + 1} of {len(hints)}.** {hints[taken]}", console)
                taken += 1
            case _:
                console.print(f"Type Enter alone{', h' if hint else ''} or e.")


def _print(text: str, console: Console) -> None:
    console.print(_Page(formulas.plain(text)))


class _Code(CodeBlock):
    """Code in which the rest of a line that is too long is set in further than its beginning."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width - 2
        text = "\n".join(wrapped(line, width) for line in str(self.text).rstrip().splitlines())
        yield Syntax(text, self.lexer_name, theme=self.theme, word_wrap=True, padding=1)


class _Page(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "fence": _Code, "code_block": _Code}


def wrapped(line: str, width: int) -> str:
    """A line of code on as many as it needs."""
    indent = line[: len(line) - len(line.lstrip())]
    if len(line) <= width:
        return line
    return textwrap.fill(
        line.strip(), width, initial_indent=indent, subsequent_indent=indent + 8 * " ", break_on_hyphens=False
    )


def _chosen(text: str, options: Sequence[str], console: Console, reads: Callable[[str], Any] | None = None) -> Any:
    """Ask for one of some options. `reads` turns a line into the reply, which is the option's place without it."""
    console.print()
    _print(text, console)
    if len(options) == 1:
        click.prompt(f"Enter: {options[0]}", default="", show_default=False, prompt_suffix=" ")
        return 0
    keys = [f"[bold]{place}[/] {option}" for place, option in enumerate(options, 1)]
    line = "  ".join(keys)
    fits = Text.from_markup(line).cell_len <= console.width
    console.print(line if fits else "\n".join(keys), soft_wrap=True, highlight=False)
    if reads:
        return click.prompt("number or percentage", default="", show_default=False, value_proc=reads)
    return int(click.prompt("number", default="", show_default=False, value_proc=lambda given: picked(given, options)))


def rated(given: str, options: Sequence[str], percents: Sequence[int | None], console: Console) -> int | None:
    """The percentage that a line names, by the number or first letters of an option or as `85 %`; it is repeated.

    Raises:
        click.BadParameter: it names none.
    """
    try:
        return percents[picked(given, options)]
    except click.BadParameter as error:
        try:
            sure = calibration.percent(given)
        except ValueError as why:
            detail = f" ({why})" if "%" in str(why) else ""
            raise click.BadParameter(f"{error.message}, or a percentage such as 85 %{detail}") from why
    console.print(f"That is {sure} % sure.", highlight=False)
    return sure


def picked(given: str, options: Sequence[str]) -> int:
    """The place of the option that a number or its first letters name: `1`, `y` or `yes` for the first of yes and no.

    Raises:
        click.BadParameter: it names none of them, or several.
    """
    word = given.strip().lower()
    begins = [at for at, each in enumerate(options) if word and each.lower().startswith(word)]
    numbered = [at for at in range(len(options)) if str(at + 1) == word]
    fitting = numbered or ([] if word.isdigit() else begins)
    if len(fitting) != 1:
        raise click.BadParameter(f"write a number from 1 to {len(options)}, or the first letters of a line")
    return fitting[0]


def _ticked(text: str, points: Sequence[str], console: Console) -> list[bool]:
    """Ask which points were made. It takes a second Enter to have made none: the first may be a slip."""
    _print("\n".join([text, "", *(f"{place}. {point}" for place, point in enumerate(points, 1))]), console)
    is_warned = False
    while True:
        given = click.prompt("their numbers, as in 1 3 or 1-3; all, or none", default="", show_default=False)
        if not given.strip() and not is_warned:
            is_warned = True
            console.print("None of them? Enter once more says so.")
            continue
        try:
            chosen = numbers(given, len(points))
        except ValueError:
            console.print(f"Write numbers from 1 to {len(points)}, such as 1 {len(points)}; or all, or none.")
            continue
        return [place in chosen for place in range(1, len(points) + 1)]


def numbers(given: str, count: int) -> set[int]:
    """The numbers from 1 to `count` that a line names: `1 3`, `13`, `1-3, 5`, `1 and 3`, `all` or `none`.

    Raises:
        ValueError: it names something else.
    """
    every, line = set(range(1, count + 1)), given.strip().lower()
    if line in ("all", "none", "0"):
        return every if line == "all" else set()
    found = set[int]()
    for word in re.sub(r"\band\b|[,;&]", " ", re.sub(r"\s*(?:-|–|to)\s*", "-", line)).split():
        first, is_range, last = word.partition("-")
        # there are fewer than ten points, so `12` names two
        found |= set(range(int(first), int(last) + 1)) if is_range else {int(digit) for digit in word}
    if not found <= every or (line and not found):
        raise ValueError(f"there is no point {line}")
    return found
