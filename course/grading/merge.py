"""From a submission take the text of the solution cells, and nothing else; everything else is the reference's."""

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from course import renamed
from course.checks import credit
from course.grading.submission import MOST_CODE, RejectedError, Submission
from course.source import parts
from course.source.cells import defined, free, has_code, syntax_error

_OURS = "minitorch"  # as in notebooks/notebook.py, which the reader's sandbox does not hold
_MOST_READ = 10 * MOST_CODE  # characters of all cells in which names are looked for
_MOST_NAMES = 10_000


@dataclass(frozen=True)
class Outline:
    """What is known about a chapter's notebook: enough to find the answers in a learner's."""

    chapter: str
    stubs: dict[str, str]
    """What the learner starts from, by exercise."""
    parts: dict[str, list[str]]
    """The parts of mytorch that an exercise is about."""
    shares: dict[str, list[list[str]]]
    """Which of them are scored together."""
    names: dict[str, list[str]]
    """What its check takes from an answer."""
    cells: dict[str, str]
    """The role of each cell, by its id."""
    solutions: dict[str, str]
    """The exercise of each solution cell, by its id."""
    given: dict[str, str]
    """The exercise that each check is about, by its text; nothing for the text of a setup cell."""
    points: int
    """Of all its exercises."""


def chapter_of(notebook: Any, stem: str, chapters: Mapping[str, Outline]) -> str:
    """The chapter that a submission belongs to, by its metadata, or else by its first cell for an answer.

    Args:
        notebook: the submission.
        stem: the file's name, without its ending.
        chapters: those that there are.

    Raises:
        RejectedError: none of `chapters`, or another one than the file's name says.
    """
    ours = notebook.metadata.get(_OURS)
    chapter = ours.get("chapter") if isinstance(ours, dict) else None
    if chapter is None:  # an editor or a converter has lost it
        of_cells = (name for cell in notebook.cells for name, outline in chapters.items() if _exercise(cell, outline))
        chapter = next(of_cells, None)
    if chapter is None and not notebook.cells:
        raise RejectedError("the notebook has no cells: hand in the one that holds the answers")
    if not isinstance(chapter, str):
        raise RejectedError("not a notebook of this course: its metadata name no chapter")
    if chapter not in chapters:
        raise RejectedError(f"chapter {chapter[:60]!r} has no reference here")
    if stem in chapters and stem != chapter:
        raise RejectedError(f"the file is called {stem}, but holds chapter {chapter}")
    return chapter


def solutions_of(notebook: Any, outline: Outline) -> Submission:
    """The solution cells of a submission whose exercises the outline knows."""
    cells: list[Any] = renamed.notebook_now(notebook).cells
    found: dict[str, list[str]] = {name: [] for name in outline.stubs}
    beside: dict[str, list[str]] = {name: [] for name in outline.stubs}  # what a learner added above its check
    added: list[str] = []
    unknown = 0
    made = Submission(outline.chapter, {}, [])
    for cell in cells:
        exercise, checked = _exercise(cell, outline), _checked(cell, outline)
        if cell.cell_type != "code":
            if exercise:
                made.notes.append(f"{exercise}: its cell is not of code any more: turn it into one again")
        elif exercise:
            found[exercise].append(_text(cell))
        elif checked:
            beside[checked] += added
            added = []
        elif checked is None and cell.source.strip():
            unknown += 1
            added.append(_text(cell))
    made.names.extend(itertools.islice(_names(cells, outline), _MOST_NAMES))
    answers = {name: [text for text in texts if has_code(text, outline.stubs[name])] for name, texts in found.items()}
    for name, sources in found.items():
        with_code, asked = answers[name], {*outline.names[name]}
        elsewhere = [text for text in beside[name] if has_code(text, outline.stubs[name])]
        if not _answers(with_code, asked) and all(_looked_up(text)[2] for text in with_code):
            own = "does not answer it" if with_code else "is empty or gone"
            if _answers([*with_code, *elsewhere], asked):
                sources = with_code = [*with_code, *elsewhere]
                unknown -= len(elsewhere)
                made.notes.append(f"{name}: its own cell {own}, so what was added above its check counts")
            elif not with_code and (other := _answered_beside(name, answers, outline)):
                sources = with_code = [answers[other][-1]]
                made.notes.append(f"{name}: its own cell {own}, so the answer in the cell of {other} counts")
        if not sources:
            continue
        counting = _without_drafts(with_code, asked)
        made.solutions[name] = "\n\n".join(counting or sources[:1])
        if len(sources) > 1:
            drafts = len(with_code) - len(counting)
            but = f" but for {drafts} earlier draft{'s' * (drafts > 1)}" * bool(drafts)
            made.notes.append(f"{name}: {len(sources)} cells, joined in order{but}")
        if with_code:
            made.answered.append(name)
            _find_idle(made, name, outline)
    if not made.solutions:
        made.notes.append(f"no cell for an answer is in it: the exercises are in exercises/{outline.chapter}.ipynb")
    if unknown:
        made.notes.append(f"{unknown} code cell{'s' * (unknown > 1)} that the learner added not run")
    return made


def _without_drafts(texts: list[str], asked: set[str]) -> list[str]:
    """The cells of one answer without those of which a later one defines the answer again.

    So it is in a notebook: the later definition counts, what an earlier cell raised doesn't undo it, and a cell that is
    no Python defines nothing. A cell stays if a later one needs something else of it.
    """
    made = [_looked_up(text) for text in texts]
    if asked and asked <= set().union(*(defines for defines, _, is_python in made if is_python)):
        texts = [text for text, (_, _, is_python) in zip(texts, made, strict=True) if is_python]
        made = [each for each in made if each[2]]
    kept: list[str] = []
    later: set[str] = set()
    needed: set[str] = set()
    for text, (defines, uses, _) in reversed([*zip(texts, made, strict=True)]):
        is_again = bool(defines & asked) and defines & asked <= later
        if not is_again or needed & (defines - later):
            kept.insert(0, text)
            later |= defines
            needed |= uses
    return kept


def _answers(texts: list[str], asked: set[str]) -> bool:
    """Whether cells that are no longer than an answer together define all that is asked for."""
    is_short = sum(map(len, texts)) <= MOST_CODE
    return is_short and bool(asked) and asked <= set[str]().union(*(_looked_up(text)[0] for text in texts))


def _answered_beside(exercise: str, answers: dict[str, list[str]], outline: Outline) -> str:
    """Another exercise whose cell defines all that this one asks for, and nobody else; empty if there is none."""
    asked = {*outline.names[exercise]}
    of_others = set[str]().union(*(names for name, names in outline.names.items() if name != exercise))
    found = (name for name, texts in answers.items() if texts and _answers(texts[-1:], asked))
    return "" if asked & of_others else next(found, "")


def _looked_up(text: str) -> tuple[set[str], set[str], bool]:
    """What a cell defines, which other names it uses, and whether it is Python that can be read."""
    try:
        return (defined(text), free(text), True) if len(text) <= MOST_CODE else (set(), set(), False)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(), set(), False


def _find_idle(made: Submission, exercise: str, outline: Outline) -> None:
    """Note why an answer, or some of its parts, need no run."""
    text, stub, shares = made.solutions[exercise], outline.stubs[exercise], outline.shares[exercise]
    wrong = (
        syntax_error(text) if len(text) <= MOST_CODE else f"it has {len(text):,} characters, of at most {MOST_CODE:,}"
    )
    if wrong:
        made.solutions[exercise] = text[:MOST_CODE]
        keys = [exercise, *(credit.key(exercise, share) for share in shares)]
        made.idle.update(dict.fromkeys(keys, ("error", f"the solution cell: {wrong}")))
        return
    if undefined := parts.undefined(text, outline.parts[exercise]):  # its check would find no cell that holds them all
        made.idle[exercise] = ("error", undefined)
    for share in shares:
        told = credit.untried(text, stub, share)
        if told[0]:
            made.idle[credit.key(exercise, share)] = told


def _exercise(cell: Any, outline: Outline) -> str:
    """The exercise that a code cell answers, by nbgrader's metadata or else by its id; empty if it answers none."""
    about = cell.metadata.get("nbgrader")
    name = about.get("grade_id") if isinstance(about, dict) else None
    if not name:  # an editor or a converter has lost it
        return outline.solutions.get(cell.get("id"), "")
    return name if isinstance(name, str) and name in outline.stubs else ""


def _checked(cell: Any, outline: Outline) -> str | None:
    """The exercise that a cell checks; empty if it is another of the course's, None if the learner added it."""
    about = cell.metadata.get("nbgrader")
    for name in (about.get("grade_id") if isinstance(about, dict) else None, cell.get("id")):
        if isinstance(name, str) and (place := name.removeprefix("setup-")) in outline.cells:
            return exercise if (exercise := place.removesuffix("-check")) in outline.stubs and exercise != place else ""
    return outline.given.get(_text(cell).strip())


def _text(cell: Any) -> str:
    """The text of a cell, with line ends as Python has them."""
    return re.sub(r"\r\n?", "\n", cell.source)


def _names(cells: list[Any], outline: Outline) -> Iterator[tuple[str, str, list[str]]]:
    """For each code cell: which it is, the exercise that it answers, and the names that it defines."""
    left = _MOST_READ
    for number, cell in enumerate(cells, 1):
        text = _text(cell)
        if cell.cell_type != "code" or outline.cells.get(cell.get("id")) == "check":
            continue  # what a check defines is not there for solutions
        left -= len(text)
        if len(text) > MOST_CODE or left < 0:
            continue
        names = sorted(_looked_up(text)[0])
        if names:
            first = next(iter(text.strip().splitlines()))
            yield f"cell {number}, `{first[:60]}`", _exercise(cell, outline), names
