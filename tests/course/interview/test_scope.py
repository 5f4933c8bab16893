"""What an interview is about: profiles, chapters, topics and screens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from course.__main__ import main
from course.files import Course
from course.interview import schedule, tasks
from course.interview import screen as screens
from course.interview.bank import Bank
from course.interview.cards import Card
from course.interview.scope import ALSO, CORE, OFTEN, PROFILES, UNASKED, Plan
from course.site.lessons import key
from tests.course.interview.holding import NOON, asked, drawn_of


def test_every_chapter_belongs_to_a_profile(bank: Bank) -> None:
    held = {each for _, chapters in PROFILES.values() for each in chapters.split()}
    assert {str(key(name)) for name in bank.titles} <= held


def test_interviews_about_language_models_ask_for_softmax_layer_norm_and_lora(bank: Bank) -> None:
    scope = bank.scope("language-models")
    held = [card for card in bank.cards.values() if scope.holds(card)]
    assert {"init_softmax", "norm_layer_norm", "features_lora"} <= {card.words for card in held}
    assert {each for words in ALSO.values() for each in words} <= {card.words for card in bank.cards.values()}
    of_others = [card for card in held if card.chapter[:2] in ("10", "12", "21", "29")]
    assert {card.words for card in of_others} == ALSO["language-models"]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_asks_about_its_chapters_alone(bank: Bank, tmp_path: Path, profile: str) -> None:
    interview = drawn_of(bank, tmp_path, Plan(profile=profile, seed=2))
    assert interview.history.open is not None
    cards = [bank.cards[name] for item in interview.history.open.items for name in item.cards]
    others = {card.words for card in cards if str(key(card.chapter)) not in PROFILES[profile][1].split()}
    assert others <= ALSO.get(profile, set())
    assert {item.round for item in interview.history.open.items} >= {"rapid", "explain", "whiteboard"}


def test_a_topic_is_found_by_the_words_that_people_say(bank: Bank, tmp_path: Path) -> None:
    plan = Plan(("explain", "whiteboard"), 300, 1, topics=("DPO",))
    interview = drawn_of(bank, tmp_path, plan)
    words = [card.words for card in asked(interview, "explain")]
    assert any("DPO" in each for each in words) and len(words) < 20
    assert [card.words for card in asked(interview, "whiteboard")] == ["align_dpo"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [("beam search", "serve_beam"), ("GQA", "llama_gqa"), ("BPE", "serve_bpe"), ("投机解码", "llama_speculative")],
)
def test_a_whiteboard_problem_is_found_by_its_usual_names(bank: Bank, tmp_path: Path, words: str, problem: str) -> None:
    interview = drawn_of(bank, tmp_path, Plan(("whiteboard",), 300, 1, topics=(words,)))
    assert problem in [card.words for card in asked(interview, "whiteboard")]


def test_what_a_task_names_of_the_notebooks_first_cells_is_shown(bank: Bank) -> None:
    exercise = bank.cards["e-serve_schedule"].about
    shown = tasks.definitions(exercise, tasks.task_of(bank.course, exercise))
    assert shown.startswith("@dataclass\nclass Request:") and "def pending" in shown


def test_the_minutes_go_to_the_rounds_that_have_something_to_ask(bank: Bank, tmp_path: Path) -> None:
    interview = drawn_of(bank, tmp_path, Plan(chapters=("24b",), seed=1))
    assert interview.history.open is not None
    items = interview.history.open.items
    assert not asked(interview, "debug") and all(
        str(key(bank.cards[name].chapter)) == "24b" for item in items for name in item.cards
    )
    whole = drawn_of(bank, tmp_path, Plan(seed=1))
    assert len(asked(interview, "explain")) > len(asked(whole, "explain"))


def test_a_screen_is_about_one_topic_at_the_whiteboard_too(bank: Bank, tmp_path: Path) -> None:
    found = set()
    for seed in range(40):
        interview = drawn_of(bank, tmp_path, Plan(screen=True, seed=seed))
        assert interview.history.open is not None and interview.history.open.minutes == 60
        questions, problems = asked(interview, "explain"), asked(interview, "whiteboard")
        (topic,) = {questions[0].topic} & problems[0].topics
        about = [topic in card.topics for card in questions]
        assert len(questions) >= 6 and about == sorted(about, reverse=True)  # it comes first, and then its chapter
        assert (
            all(about[6:]) and len({card.chapter for card, mine in zip(questions, about, strict=True) if not mine}) < 2
        )
        assert all(topic in card.topics for card in problems) and len(problems) in (1, 2)
        found.add(topic)
    assert len(found) >= 6


@pytest.mark.parametrize(("profile", "topics"), [("language-models", "A.moe A.llm"), ("systems", "")])
def test_screens_of_a_job_are_about_many_topics(bank: Bank, tmp_path: Path, profile: str, topics: str) -> None:
    """Also about one whose problem is of another chapter, as a mixture of experts, or that has a single question."""
    plans = [Plan(screen=True, profile=profile, seed=seed) for seed in range(80)]
    found = {asked(drawn_of(bank, tmp_path, plan), "explain")[0].topic for plan in plans}
    assert len(found) >= 5 and {*topics.split()} <= found
    assert any(topic.startswith("W.") for topic in found)  # of the whiteboard notebooks, most with a single question


def test_no_chapter_has_most_of_the_problems_of_systems_screens(bank: Bank, tmp_path: Path) -> None:
    plans = [Plan(screen=True, profile="systems", seed=seed) for seed in range(80)]
    problems = [asked(drawn_of(bank, tmp_path, plan), "whiteboard")[0] for plan in plans]
    chapters = [card.chapter.partition("_")[0] for card in problems]
    assert {"22b", "23", "23b", "27"} <= {*chapters} and all(chapters.count(each) <= 44 for each in chapters)


def test_a_screen_without_a_problem_of_its_topic_takes_the_chapters_or_any() -> None:
    questions = [Card(f"q{at}", "question", "08_x", "", topics=frozenset("t"), topic="t") for at in range(3)]
    here, there = Card("here", "whiteboard", "08_x", ""), Card("there", "whiteboard", "09_x", "")
    assert screens.concept(questions, [there, here]) == (questions, [here])
    assert screens.concept(questions, [there]) == (questions, [there])
    few = [Card("q0", "question", "08_x", ""), Card("q1", "question", "09_x", ""), Card("q2", "question", "08_x", "")]
    assert screens.concept(few, [there, here]) == ([few[0], few[2]], [here])


def test_what_is_asked_often_comes_first_more_often(bank: Bank) -> None:
    """Six of seven first draws are `often`'s if it is six times as likely as the other."""
    often, seldom = Card("often", "line", "14", "", weight=6.0), Card("seldom", "line", "08", "")
    firsts = [schedule.order([seldom, often], [], {}, NOON, np.random.default_rng(seed))[0].name for seed in range(700)]
    assert 560 < firsts.count("often") < 640  # 600, and a standard deviation of 9
    weights = {card.words: card.weight for card in bank.of("question")}
    seldom = "How did two layers share a parameter in TensorFlow 1, and how do they in PyTorch?"
    assert weights[seldom] < weights["What is a guard, and why does `torch.compile` recompile?"]
    by_name = {card.words: card.weight for card in bank.of("whiteboard")}
    asked_of = {card.words: card.weight for card in bank.cards.values()}
    assert {asked_of.get(words) for words in UNASKED} == {0.05}  # each of them is in the bank
    assert {asked_of.get(words) for words in OFTEN} == {3.0}
    assert by_name["attention_scaled_dot_product"] == 19 and by_name["align_dpo"] == 12


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--profile", "robotics"], "there is no profile 'robotics'; the profiles are pytorch, language-models"),
        (["--chapter", "77"], "there is no chapter '77'"),
        (["--topic", "quaternions"], "the interview has nothing about 'quaternions'"),
        (["--topic", "DPO", "--round", "debug"], "these rounds have nothing to ask about that"),
        (["--screen", "--round", "rapid"], "--screen has rounds of its own"),
    ],
)
def test_what_an_interview_cannot_be_about_is_said(course: Course, options: list[str], told: str) -> None:
    done = CliRunner().invoke(main, ["--root", str(course.root), "interview", *options])
    assert done.exit_code == 2 and told in done.output
    assert not (course.mine / "interview" / "history.json").exists()


def test_internals_are_asked_about_pytorch_itself(bank: Bank, tmp_path: Path) -> None:
    """Most of the profile's chapters, such as losses and the loop, are asked about in every job."""
    core = CORE["pytorch"].split()
    drawn = [drawn_of(bank, tmp_path, Plan(profile="pytorch", seed=seed)) for seed in range(60)]
    questions = [card for each in drawn for card in asked(each, "explain")]
    assert sum(str(key(card.chapter)) in core for card in questions) > 0.5 * len(questions)
    problems = [card.words for each in drawn for card in asked(each, "whiteboard")]
    engine = {"graph_run_backward", "views_view_strides", "graph_matmul", "modules_setattr"}
    parts = {*engine, "broadcast_shape_rule", "data_collate", "norm_dropout", "sixteen_scaler"}
    assert engine <= {*problems} and sum(each in parts for each in problems) > 0.4 * len(problems)


def test_an_appendix_is_seldom_asked_about(bank: Bank) -> None:
    (card,) = (each for each in bank.of("question") if each.words.startswith("How does a static graph compute"))
    assert card.section.startswith("Appendix") and card.weight == 0.25
