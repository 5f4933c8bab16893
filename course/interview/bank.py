"""The cards of an interview, read from the course: lessons, exercises, topics.yml, and the programs beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbformat
import yaml

from course.chapters import key
from course.files import Course
from course.interview import tasks
from course.interview.cards import Card, Point
from course.interview.estimates import ESTIMATES
from course.interview.faults import EVERY
from course.interview.open_designs import open_designs
from course.interview.programs import PROGRAMS
from course.interview.scope import Scope, scope, weight
from course.learner import practice
from course.site.lessons import CELL, Question, questions, slug, title

WHITEBOARD = (
    "init_softmax",
    "init_backward_by_hand",
    "loss_nll_and_binary",
    "loss_info_nce",
    "interview_linear",
    "norm_layer_norm",
    "norm_batch_norm",
    "optim_sgd",
    "optim_adam",
    "attention_scaled_dot_product",
    "attention_heads",
    "attention_kv_cache",
    "llama_rope",
    "llama_gqa",
    "llama_sampler",
    "llama_speculative",
    "rnn_lstm_step",
    "memory_tiles",
    "memory_int8",
    "gpus_ring",
    "shards_zero",
    "shards_build_mlp",
    "features_lora",
    "graph_run_backward",
    "graph_matmul",
    "views_view_strides",
    "broadcast_shape_rule",
    "modules_setattr",
    "norm_dropout",
    "sixteen_scaler",
    "data_collate",
    "decoder_moe",
    "decoder_window",
    "decoder_mla",
    "decoder_cross",
    "decoder_attention_backward",
    "decoder_swiglu",
    "decoder_norms",
    "decoder_linear",
    "decoder_positions",
    "serve_bpe",
    "serve_beam",
    "serve_schedule",
    "serve_blocks",
    "serve_pages",
    "serve_prefix",
    "align_dpo",
    "align_grpo",
    "align_ppo",
    "align_sft",
    "align_gae",
    "align_distill",
    "align_muon",
    "classics_kmeans",
    "classics_logistic",
    "classics_nms",
    "classics_auc",
    "classics_knn",
    "classics_squares",
    "classics_vit",
    "classics_split",
    "classics_elbo",
    "classics_focal",
)
"""The exercises of the whiteboard round: what interviewers ask for by name."""

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_ITEM = re.compile(r"^(?:- |\d+\. )(.*(?:\n {2,}.*)*)", re.MULTILINE)
_LABEL = re.compile(r"(?:^- )?\*(Thirty seconds|Longer|They ask next|The trap|Proof):\*", re.MULTILINE)
_RAPID = re.compile(r"(?:^## Rapid fire|^\*\*Rapid fire\.?\*\*)(?P<lines>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_ASKED = re.compile(r"^\*?(?P<words>.*?\?)\*? +(?P<answer>.+)$", re.DOTALL)
_COST = re.compile(r"^\*{1,2}Cost(?:\.\*|:\*\*) (.+(?:\n.+)*)", re.MULTILINE)
_RUNG = re.compile(r"^\*(?P<asked>.+?)\* \"(?P<answer>.+)\"$")
_MYTH = re.compile(r"Myth \d+")
_INTERVIEW = re.compile(r"^\*\*Interview · (.+)\*\*$")
_UNTOLD = re.compile(r".*\bmyths?\b|If you have time|Rapid fire|Milestone|Interview|Card", re.IGNORECASE)


@dataclass(frozen=True)
class Proof:
    """The cell of a lesson that shows an answer: what it says and what it printed."""

    chapter: str
    source: str
    printed: str


class Bank:
    """All cards of a course, and the places of its topics."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self.places: dict[str, list[dict[str, Any]]] = yaml.safe_load(
            (course.notebooks / "topics.yml").read_text(encoding="utf-8")
        )
        self.lessons = {path.stem: _read(path) for path in sorted(course.notebooks.glob("*.ipynb"), key=_order)}
        self.titles = {chapter: title(lesson) for chapter, lesson in self.lessons.items()}
        self.problems, self.names, self.alike = collections(course)
        self.sections = _sections({str(key(name)): name for name in self.lessons})
        found = [*self._questions(), *self._rapid_fire(), *self._exercises(), *self._faults(), *self._estimates()]
        found += self._designs()
        self.cards = {card.name: replace(card, weight=self._weight(card)) for card in found}

    def of(self, kind: str) -> list[Card]:
        """The cards of a kind, in the course's order."""
        return [card for card in self.cards.values() if card.kind == kind]

    def scope(self, profile: str = "", chapters: Sequence[str] = (), words: Sequence[str] = ()) -> Scope:
        """What an interview may ask: see `course.interview.scope.scope`.

        Raises:
            LookupError: there is no such profile or chapter, or no card is about it.
        """
        headings = {topic: self.heading(topic) for topic in self.places}
        found = scope(self.titles, headings, profile, chapters, words)
        if not any(found.holds(card) for card in self.cards.values()):
            raise LookupError(f"the interview has nothing about {' or '.join(map(repr, words)) or 'that'}")
        return found

    def _weight(self, card: Card) -> float:
        """How often interviews ask a card: for a whiteboard problem, the number of collections that have it."""
        return self.problems.get(card.words, 1) if card.kind == "whiteboard" else weight(card)

    def heading(self, topic: str, chapter: str = "") -> str:
        """What a topic is called: the heading of the first section that teaches it, of this chapter if one is named.

        A chapter is called by its title.
        """
        places = self.places.get(topic, [])
        found = [each for each in places if each["chapter"] == chapter] or places
        return str(found[0]["heading"]) if found else self.titles.get(topic, topic)

    def place(self, card: Card) -> tuple[str, str]:
        """The chapter and the heading that teach what a card asks; no heading, if only the chapter is known."""
        known = self.sections.get(card.about.name if card.kind == "fault" else card.words)
        topic = self.heading(card.topic, card.chapter) if card.topic else ""
        return known or (card.chapter, card.section or topic)

    def reading(self, card: Card) -> str:
        """Where to read about a card: the section, if it is known, and a link to the lesson."""
        chapter, heading = self.place(card)
        where, path = f"chapter {key(chapter)}", f"{chapter}.ipynb"
        if not heading:
            return f"[{where}]({path})"
        return f"*{heading}* in [{where}]({path}#{quote(heading.replace(' ', '-'))})"

    def proofs(self, card: Card) -> list[Proof]:
        """The cells that show the answer of a question."""
        return [proof for chapter, cell in card.about or () if (proof := self._proof(chapter, cell))]

    def _proof(self, chapter: str, identifier: str) -> Proof | None:
        for cell in self.lessons[chapter].cells if chapter in self.lessons else ():
            if cell.id == identifier:
                printed = [
                    output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs
                ]
                return Proof(chapter, cell.source, "".join(printed).rstrip())
        return None

    def _topics(self, chapter: str, asked: str = "", exercise: str = "") -> frozenset[str]:
        """The topics of a chapter, or those of a question or an exercise of it."""
        return frozenset(
            topic
            for topic, places in self.places.items()
            for place in places
            if place["chapter"] == chapter
            and (not asked or asked in place["questions"])
            and (not exercise or exercise in place["exercises"])
        )

    def _main(self, chapter: str, topics: Iterable[str]) -> str:
        """Of the topics that list a card, the one with the fewest questions; a myth only if there is no other."""
        asked = {
            topic: sum(len(place["questions"]) for place in places if place["chapter"] == chapter)
            for topic, places in self.places.items()
            if topic in topics
        }
        return min(asked, key=lambda topic: (bool(_MYTH.fullmatch(topic)), asked[topic]), default="")

    def _questions(self) -> Iterable[Card]:
        for chapter, lesson in self.lessons.items():
            above = sections(lesson)
            for each in questions(chapter, lesson):
                topics = self._topics(chapter, asked=each.words)
                proofs = tuple(CELL.findall(each.answer))
                main = self._main(chapter, topics)
                yield Card(
                    each.target,
                    "question",
                    chapter,
                    each.words,
                    points(each),
                    topics,
                    proofs,
                    1.0,
                    "",
                    main,
                    above.get(each.words, ""),
                )

    def _rapid_fire(self) -> Iterable[Card]:
        reasons = _beside("reasons.yml")
        for chapter, lesson in self.lessons.items():
            for words, answer in rapid_fire(lesson):
                name = f"r-{key(chapter)}-{slug(words)}"
                told, topics = (Point("Answer", answer),), self._topics(chapter)
                yield Card(name, "line", chapter, words, told, topics, reasons.get(words, ""))

    def _exercises(self) -> Iterable[Card]:
        for each in PROGRAMS:
            chapter = self.chapter(each.chapter)
            yield Card(f"p-{each.name}", "program", chapter, each.name, (), self._topics(chapter), each)
        for exercise in practice.exercises(self.course):
            topics = self._topics(exercise.chapter, exercise=exercise.name)
            names = self.names.get(exercise.name, "")
            chapter = exercise.chapter
            asked = ladder(exercise.below) or ladder(tasks.follow_ups().get(exercise.name, ""))
            if kind := _round_of(exercise) or ("whiteboard" if exercise.name in WHITEBOARD else ""):
                every = topics.union(*(self._topics(*each) for each in self.alike.get(exercise.name, ())))
                card = Card(f"e-{exercise.name}", kind, chapter, exercise.name, asked, every, exercise)
                yield replace(card, names=names, topic=self._main(chapter, topics))

    def _faults(self) -> Iterable[Card]:
        for each in EVERY:
            chapter = self.chapter(each.chapter)
            cause = (Point("Cause", each.says),)
            yield Card(f"f-{slug(each.name)}", "fault", chapter, each.symptom, cause, self._topics(chapter), each)

    def _estimates(self) -> Iterable[Card]:
        for each in ESTIMATES:
            chapter = self.chapter(each.chapter)
            yield Card(f"n-{slug(each.name)}", "estimate", chapter, each.name, (), self._topics(chapter), each)

    def _designs(self) -> Iterable[Card]:
        for each in open_designs():
            chapter = self.chapter(each.chapter)
            card = Card(
                f"d-{slug(each.title)}", "design", chapter, each.title, each.points, self._topics(chapter), each
            )
            yield replace(card, names=each.said)

    def chapter(self, number: str) -> str:
        """The name of a chapter, by its key; the key itself, where the chapter isn't written."""
        return next((name for name in self.lessons if str(key(name)) == number), number)


def _beside(name: str) -> Any:
    """What a file beside this one lists."""
    return yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))


def _sections(chapters: dict[str, str]) -> dict[str, tuple[str, str]]:
    """The chapter and the heading of each name in the file beside this one, in the chapters that the course has."""
    listed = _beside("sections.yml")
    return {
        name: (chapters[chapter], heading)
        for chapter, headings in listed.items()
        if chapter in chapters
        for heading, names in headings.items()
        for name in names
    }


def collections(course: Course) -> tuple[dict[str, int], dict[str, str], dict[str, set[tuple[str, str, str]]]]:
    """Of each exercise in whiteboard.yml, how many public collections ask for its problem, and what it is called.

    And the exercises of the same problem, in this chapter and in others, as what `Bank._topics` takes.
    """
    listed = yaml.safe_load((course.notebooks / "whiteboard.yml").read_text(encoding="utf-8"))
    counts: dict[str, int] = {}
    names: dict[str, str] = {}
    alike: dict[str, set[tuple[str, str, str]]] = {}
    for problem in listed:
        every = {(chapter, "", each) for chapter, exercises in problem["exercises"].items() for each in exercises}
        for _, _, exercise in every:
            counts[exercise] = max(counts.get(exercise, 0), problem["collections"])
            names[exercise] = f"{names.get(exercise, '')}\n{problem['name']}\n{problem['chinese']}"
            alike[exercise] = alike.get(exercise, set()) | every
    return counts, names, alike


def points(question: Question) -> tuple[Point, ...]:
    """What a good answer says, in three points: the answer itself, what they ask next, and the trap.

    Where an answer lacks one of them, its longer form stands for it. Where that is missing too, the sentences of the
    short answer count one by one.
    """
    _, *told = _LABEL.split(question.answer)
    parts = {label: _said(plain(text)) for label, text in zip(told[::2], told[1::2], strict=True)}
    labels = [each for each in ("Thirty seconds", "They ask next", "The trap") if each in parts]
    if len(labels) < 3 and "Longer" in parts:
        labels.insert(1, "Longer")
    chosen = [Point(each, parts[each]) for each in labels]
    if len(chosen) < 3:
        first = re.split(r"(?<=[.:]) (?=\S)", chosen[0].text, maxsplit=3 - len(chosen))
        chosen[:1] = [Point(chosen[0].label, each) for each in first]
    return tuple(chosen[:3])


def sections(lesson: Any) -> dict[str, str]:
    """The heading above each question of a lesson, where it names a subject and not a myth, which would tell."""
    found, heading = dict[str, str](), ""
    for cell in lesson.cells if lesson else ():
        for line in cell.source.splitlines() if cell.cell_type == "markdown" else ():
            if line.startswith("## "):
                heading = "" if _UNTOLD.match(line[3:]) else plain(line[3:])
            elif asked := _INTERVIEW.match(line):
                found[asked[1]] = heading
    return found


def ladder(below: str) -> tuple[Point, ...]:
    """What an interviewer asks once a problem is solved: its cost, and the follow-ups; nothing without such a fold.

    Args:
        below: the text below the problem's check.
    """
    cost = [Point("Cost", plain(each)) for each in _COST.findall(below)]
    rungs = [_RUNG.match(plain(each)) for each in _ITEM.findall(below)]
    return (*cost, *(Point("They ask next", f"{each['asked']} {each['answer']}") for each in rungs if each))


def rapid_fire(lesson: Any) -> list[tuple[str, str]]:
    """The rapid-fire lines of a lesson, each a question and its answer."""
    text = "\n\n".join(cell.source for cell in lesson.cells if cell.cell_type == "markdown")
    found = _RAPID.search(text)
    lines = (plain(each) for each in _ITEM.findall(found["lines"])) if found else ()
    return [(asked["words"], asked["answer"]) for line in lines if (asked := _ASKED.match(line))]


def plain(text: str) -> str:
    """Text on one line, links without their addresses."""
    return " ".join(_LINK.sub(r"\1", text).split())


def _said(text: str) -> str:
    """Speech without the quotation marks around it, which some lessons set and others don't."""
    return text[1:-1] if re.fullmatch('"[^"]+"', text) else text


def split(text: str) -> tuple[str, str]:
    """A question and the answer behind it; the question is empty if there is none."""
    asked = _ASKED.match(text)
    return (asked["words"], asked["answer"]) if asked else ("", text)


def myths(places: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """The places of topics.yml that are about wrong statements."""
    return {topic: each for topic, each in places.items() if _MYTH.fullmatch(topic)}


def _round_of(exercise: practice.Exercise) -> str:
    """The kind of round that an exercise says it is for; empty where its answer isn't one value, `prediction`."""
    return exercise.kind.interview if re.search(r"\bprediction\b", exercise.check) else ""


def _order(path: Path) -> Any:
    return key(path.stem)


def _read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
