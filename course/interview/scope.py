"""What an interview is about: the profile of a job, chapters or topics; and how often a subject is asked about."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from course.chapters import key
from course.interview.cards import Card

PROFILES: Mapping[str, tuple[str, str]] = {
    "pytorch": ("PyTorch internals", "00 01 02 02b 03 04 05 06 07 07b 08 08b 09 12 16 18 19 20 20b 22 25"),
    "language-models": ("Language models", "13 14 16 17 19 22 22b 23b 24 24b 24c 24d 24e 25 26 27 28"),
    "systems": ("Training and serving systems", "05 08 08b 18 19 20b 22 22b 23 23b 24 24c 25 27"),
    "classics": ("Classic machine learning and vision", "04 10 11 12 13 15 16 17 19 21 25 29"),
}
"""The jobs that an interview can be for: the title, and the chapters that their interviews ask about."""
CORE: Mapping[str, str] = {"pytorch": "02 02b 03 04 06 07 07b 08 08b 09"}
"""The chapters that a job is mainly about, where its profile has many others that every job asks about."""
_EMPHASIS = 3.0
"""How many times as often a profile asks about these."""
ALSO: Mapping[str, frozenset[str]] = {
    "language-models": frozenset(
        {
            "init_softmax",
            "Why does softmax subtract the largest logit first?",
            "Why do transformers use GELU or SiLU where older networks use ReLU?",
            "How does GPT-2 initialize its weights, and why?",
            "How does gradient clipping work?",
            "Do you clip gradients before or after `backward`?",
            "norm_layer_norm",
            "Batch norm or layer norm?",
            "What does RMSNorm leave out, and why do language models use it?",
            "Why does dropout divide by 1 − p?",
            "Your transformer's validation loss changes from run to run, although you call `eval()`. "
            "Where do you look?",
            "features_lora",
            "LoRA: why does B start at 0, what does alpha / r do, and what does it cost at inference?",
            "Your LoRA run is worse than full fine-tuning. What do you check?",
            "You merge a LoRA adapter into a 4-bit model. Is it still the model that you trained?",
            "How many parameters does LoRA with `r = 4` train on a 4,096 × 4,096 layer?",
            "parameters of LoRA",
        }
    )
}
"""What a profile asks of chapters that it leaves out otherwise, since they are about other networks as well."""

_ASKED = {3.0: "14 22b 24b 24c 24d 26 27 28", 2.0: "06 07 10 12 16 19 21 22 23 23b 25"}
"""How often interviews of 2026 ask about a chapter, compared with one that isn't named: from the number of lines on its
subjects in six public collections of interview notes (June 2025 to September 2026)."""
OFTEN = frozenset(
    {
        "Why deduplicate training data, and how do you find near-duplicates among billions of pages?",
        "How do you find out whether a benchmark was in the training data?",
    }
)
"""Questions that are asked as often as those of the first of these chapters, although the rest of theirs isn't."""
_SELDOM = frozenset({"D4", "D6", "C.variable", "D.tf2", "D.same"})
"""Topics that are a part of the notes and that few interviews still ask about: `Variable` and TensorFlow."""
UNASKED = frozenset(
    {
        "You aren't sure of an answer. What do you say?",
        "You have three evenings. How do you prepare?",
        "How do you think aloud in a debug round?",
        "What do you write first at the whiteboard?",
        "What Brier score do you get if you say 50 % each time?",
        "What does a good test of a bug do before the bug is fixed?",
        "What does `get_scale()` return for a `GradScaler` that isn't enabled?",
        "What does `MultiStepLR` with milestones 2 and 2 do in epoch 2?",
        "How does `random_split(dataset, [0.5, 0.5])` split 7 samples?",
        "What is in a TensorBoard file?",
        "Does `from_pretrained(…, padding_idx=0)` set row 0 to zero?",
        "What are the two pillars?",
        "What does `nn.Linear(2, 3, bias=False)` register instead of the bias?",
        "Does `calculate_gain` have an entry for GELU?",
        'What does a convolution with `padding="same"` do if its stride is 2?',
        "Does `model.eval()` return anything?",
        "In which order do the weights of PyTorch's LSTM hold its gates?",
        "A parameter group is added after the scheduler was made. What does the next `step` of a `LambdaLR` do?",
        "Where does a scheduler keep the initial rate?",
        "What does `OneCycleLR` lower while it increases the learning rate?",
        "By what factor does subtracting the group's mean scale GRPO's gradient for K = 4?",
        "RoPE pairs neighbouring elements or splits a head into halves. "
        "At which position do both give the same attention?",
    }
)
"""Questions of the lessons that no interviewer asks: how to take an interview, and corners of an interface."""


@dataclass(frozen=True)
class Plan:
    """What somebody wants of an interview: rounds (all, if empty), minutes, a seed, a clock, and what it is about.

    A screen is an hour of questions about one topic, and of the whiteboard.
    """

    rounds: tuple[str, ...] = ()
    minutes: float | None = None
    seed: int | None = None
    timed: bool = True
    profile: str = ""
    chapters: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    screen: bool = False

    @property
    def length(self) -> float:
        """The minutes that it takes: an hour for a screen and 45 minutes for a whole interview, unless it says."""
        return self.minutes or (60.0 if self.screen else 45.0)

    def of(self, every: Iterable[str]) -> tuple[str, ...]:
        """The names of its rounds."""
        return ("explain", "whiteboard") if self.screen else self.rounds or tuple(every)


@dataclass(frozen=True)
class Scope:
    """The cards that an interview may ask: those of these chapters, by key, that one of these words is about.

    Where no chapter is named, all of them count; where no words are given, any card does.
    """

    chapters: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    """The headings under which topics are taught."""
    also: frozenset[str] = frozenset()
    """The words of cards of other chapters that count as well."""
    core: frozenset[str] = frozenset()
    """The chapters that are asked about more often."""

    def weighed(self, card: Card) -> Card:
        """A card with the weight that it has in an interview of this scope."""
        return replace(card, weight=card.weight * _EMPHASIS) if str(key(card.chapter)) in self.core else card

    def holds(self, card: Card) -> bool:
        """Whether an interview of this scope may ask a card."""
        if self.chapters and str(key(card.chapter)) not in self.chapters and card.words not in self.also:
            return False
        text = " \n".join(
            [card.name, card.words, card.names, *(f"{each} {self.about.get(each, '')}" for each in card.topics)]
        )
        return not self.words or any(re.search(rf"\b{re.escape(word)}", text, re.IGNORECASE) for word in self.words)


def scope(
    titles: Collection[str],
    about: Mapping[str, str],
    profile: str = "",
    chapters: Sequence[str] = (),
    words: Sequence[str] = (),
) -> Scope:
    """The scope of an interview.

    Args:
        titles: the names of the course's chapters.
        about: the heading under which each topic of topics.yml is taught.
        profile: one of `PROFILES`; chapters that are named join its own.
        chapters: numbers or names of chapters, such as 24b.
        words: topics of topics.yml, or words that stand in the card or in the heading of its topic.

    Raises:
        LookupError: there is no such profile or chapter, or nothing is about one of the words.
    """
    if profile and profile not in PROFILES:
        raise LookupError(f"there is no profile {profile!r}; the profiles are {', '.join(PROFILES)}")
    known = {str(key(name)) for name in titles}
    named = {each.partition("_")[0] for each in chapters}
    if unknown := sorted(named - known):
        raise LookupError(f"there is no chapter {unknown[0]!r}")
    own = PROFILES[profile][1].split() if profile else []
    core = frozenset(CORE.get(profile, "").split())
    return Scope(frozenset({*own, *named} & known), tuple(words), about, ALSO.get(profile, frozenset()), core)


def weight(card: Card) -> float:
    """How often interviews ask about the subject of a card, compared with a subject that nobody asks about often."""
    if card.words in UNASKED:
        return 0.05
    if card.words in OFTEN:
        return max(_ASKED)
    topics = {topic for topic in card.topics if not topic.startswith("Myth")}
    if (topics and topics <= _SELDOM) or card.section.startswith("Appendix"):
        return 0.25
    number = str(key(card.chapter))
    return next((often for often, chapters in _ASKED.items() if number in chapters.split()), 1.0)
