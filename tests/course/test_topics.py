"""Every interview topic of a chapter leads to a heading, a proof, exercises and questions that are there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml

from course.files import CODE, Course
from course.notebooks.notebook import tasks

COURSE = Course(CODE)
# The topics of the course by chapter. A chapter must account for its own as soon as it is there.
TOPICS = {
    "00_welcome": "B.overview",
    "01_global_settings": "A1.1 A1.2 A1.3 A.determinism",
    "02_tensors_and_storage": "A2.1 B.init B.attributes D3 A3.23",
    "02b_dtypes_and_dispatch": "E.types E.typeinfo",
    "03_views_and_layout": "A2.3 C.inplace B.ops",
    "04_broadcasting_indexing_joining": "E.broadcast A2.4 B.ops D2",
    "05_devices": "A3.22 A3.25 C.to C.visible E.cuda E.lazy A.streams",
    "06_computation_graph": "A3.2 A3.12 A3.21 A2.2 A3.13 E.autograd",
    "07_backward_in_depth": "A2.5 A3.15 D4 C.variable",
    "07b_vector_jacobian_products": "D5 A.function A.gradcheck",
    "08_static_and_dynamic_graphs": "D11 D6 D7 D11b A.compile D.tf2",
    "08b_a_compiler": "A.fusion A.dynamic A.aot A.cudagraphs",
    "09_modules_and_parameters": "A3.1 A3.3 A3.8 A3.9 A3.10 A3.11",
    "10_activations_and_initialization": "A3.6 A3.17 E.init A2.7",
    "11_convolution": "C.conv D9 D10 A3.18 A3.19 D.same A.groups A.receptive A.cudnn",
    "12_norm_dropout_and_modes": "A3.7 D8 A3.14",
    "13_embeddings": "A3.28",
    "14_attention": "A3.20",
    "15_recurrent_networks": "A2.7",
    "16_losses_and_optimizers": "B.optim A3.5 A.crossentropy A.weightdecay",
    "17_learning_rate_schedules": "A3.27",
    "18_data": "A3.26 A3.30 A.streams",
    "19_training_loop": "B.process A.determinism",
    "20_saving_and_loading": "A2.6 A3.4 A.ptfiles E.safetensors",
    "20b_export": "E.onnx A.export",
    "21_features_and_visualization": "A3.29 A.hooks A.tensorboard A.transfer A.peft B.resnet",
    "22_mixed_precision": "A3.16 A.cudnn",
    "22b_memory": "A.checkpointing A.quantization A.profiling",
    "23_multi_gpu": "A3.24 D1 C.multi E.mp D.ddp",
    "23b_shards": "A.sharding",
    "24_capstone": "A.capstone",
    "24b_llama": "A.llm",
    "24c_mixture_of_experts": "A.moe A.balance",
    "24d_from_sft_to_grpo": "W.sft W.reward W.ppo W.grpo W.kl W.verifiable",
    "24e_hugging_face": "A.hub A.porting",
    "25_mock_interview": "A.interview A.whiteboard A.debugging A.estimates",
    "26_whiteboard_decoder": "W.positions W.caches W.sparse W.sinks W.logits W.linear W.backward W.decoder",
    "27_whiteboard_serving": "W.batching W.paged W.prefix W.chunks W.speculation W.sizing W.decoding",
    "28_whiteboard_alignment": "W.sft W.reward W.dpo W.ppo W.grpo W.kl W.distillation W.muon W.scaling",
    "29_whiteboard_classics": (
        "W.squares W.kmeans W.knn W.auc W.nms W.focal W.vit W.vae W.tree W.qlora W.diffusion W.flow"
    ),
}
SHOWN_ONLY = {"scopes"}  # proofs about TensorFlow 1's API, which no exercise asks for
MYTH = re.compile(r"Myth ([1-9]|[12][0-9]|3[0-4])")  # a wrong statement of the notes, refuted where it belongs
KEYS = ["chapter", "heading", "proof", "exercises", "questions"]


def places() -> list[tuple[str, dict[str, Any]]]:
    """(topic, place) of every entry in topics.yml."""
    topics = yaml.safe_load((COURSE.notebooks / "topics.yml").read_text(encoding="utf-8"))
    return [(topic, place) for topic, entry in topics.items() for place in entry]


def read(folder: Path, chapter: str) -> Any:
    return nbformat.read(folder / f"{chapter}.ipynb", as_version=4)


def questions_of(lesson: Any) -> list[str]:
    return re.findall(r"^\*\*Interview · (.+)\*\*$", _markdown(lesson), re.MULTILINE)


def faults(place: dict[str, Any], course: Course = COURSE) -> list[str]:
    """What a place of topics.yml names that is not in the built notebooks."""
    if [key for key in place if key != "notes"] != KEYS:
        return [f"its keys are {list(place)}, not {KEYS}"]
    if not (course.notebooks / f"{place['chapter']}.ipynb").exists():
        return [f"no chapter {place['chapter']}"]
    lesson = read(course.notebooks, place["chapter"])
    found = []
    if place["heading"] not in re.findall(r"^#+ (.+)$", _markdown(lesson), re.MULTILINE):
        found.append(f"no heading {place['heading']!r}")
    tag = f"proof-{place['proof']}"
    proofs = [cell for cell in lesson.cells if tag in cell.metadata.get("tags", [])]
    if len(proofs) != 1:
        found.append(f"{len(proofs)} cells with the tag {tag!r}")
    elif not proofs[0].get("outputs"):
        found.append(f"the cell with the tag {tag!r} shows nothing")
    exercises = tasks(read(course.solutions, place["chapter"]))
    found += [f"no exercise {name!r}" for name in place["exercises"] if name not in exercises]
    found += [f"no question {text!r}" for text in place["questions"] if text not in questions_of(lesson)]
    needed = ["questions"] if place["proof"] in SHOWN_ONLY else ["exercises", "questions"]
    return found + [f"no {key}" for key in needed if not place[key]]


def _markdown(lesson: Any) -> str:
    return "\n\n".join(cell.source for cell in lesson.cells if cell.cell_type == "markdown")


@pytest.mark.parametrize(
    ("topic", "place"), [pytest.param(*each, id=f"{each[0]}-{each[1]['chapter']}") for each in places()]
)
def test_a_topic_leads_to_what_is_there(topic: str, place: dict[str, Any]) -> None:
    assert MYTH.fullmatch(topic) or topic in TOPICS[place["chapter"]].split()
    assert faults(place) == []


@pytest.mark.parametrize("chapter", sorted(path.parent.name for path in COURSE.chapters.glob("*/lesson.py")))
def test_a_chapter_accounts_for_its_topics_and_questions(chapter: str) -> None:
    mine = [(topic, place) for topic, place in places() if place["chapter"] == chapter]
    assert sorted(topic for topic, _ in mine if not MYTH.fullmatch(topic)) == sorted(TOPICS[chapter].split())
    asked = {question for _, place in mine for question in place["questions"]}
    if mine:
        assert set(questions_of(read(COURSE.notebooks, chapter))) == asked


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ({"chapter": "99_nowhere"}, "no chapter 99_nowhere"),
        ({"heading": "Nowhere"}, "no heading 'Nowhere'"),
        ({"proof": "nothing"}, "0 cells with the tag 'proof-nothing'"),
        ({"exercises": ["never_set"]}, "no exercise 'never_set'"),
        ({"exercises": []}, "no exercises"),
        ({"questions": ["Who asked?"]}, "no question 'Who asked?'"),
        ({"questions": []}, "no questions"),
    ],
)
def test_a_wrong_place_is_noticed(wrong: dict[str, Any], fault: str) -> None:
    place = next(place for topic, place in places() if topic == "B.process")
    assert faults({**place, **wrong}) == [fault]


def test_a_place_says_everything() -> None:
    assert faults({"chapter": "19_training_loop"}) == [f"its keys are ['chapter'], not {KEYS}"]


def test_a_proof_that_shows_nothing_is_noticed(tmp_path: Path) -> None:
    place = next(place for topic, place in places() if topic == "B.process")
    empty = Course(tmp_path)
    for folder, target in ((COURSE.notebooks, empty.notebooks), (COURSE.solutions, empty.solutions)):
        notebook = read(folder, place["chapter"])
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = []
        target.mkdir()
        nbformat.write(notebook, target / f"{place['chapter']}.ipynb")
    assert faults(place, empty) == ["the cell with the tag 'proof-six-steps' shows nothing"]


def tables_of(lesson: Any) -> list[str]:
    """The tables that a lesson's cells make, as markdown."""
    return [
        output.data["text/markdown"]
        for cell in lesson.cells
        for output in cell.get("outputs", [])
        if "text/markdown" in output.get("data", {})
    ]


def test_headings_are_english_and_the_index_has_the_notes_terms() -> None:
    """Who comes from the Chinese notes finds a topic by its number and term, and the section that teaches it."""
    _, index, _ = tables_of(read(COURSE.notebooks, "00_welcome"))
    for topic, place in places():
        if not MYTH.fullmatch(topic) and not topic.startswith("A."):  # those topics are not in the notes
            anchor = place["heading"].replace("`", "").replace(" ", "-")
            assert f"| {place['notes']} | {place['chapter'].partition('_')[0]} | " in index, topic
            assert f"({place['chapter']}.ipynb#{anchor}) |" in index, topic
    for path in COURSE.notebooks.glob("*.ipynb"):
        headings = re.findall(r"^#+ .+$", _markdown(read(COURSE.notebooks, path.stem)), re.MULTILINE)
        assert [heading for heading in headings if re.search("[\u4e00-\u9fff]", heading)] == [], path.stem


def test_the_welcome_maps_every_chapter() -> None:
    welcome = read(COURSE.notebooks, "00_welcome")
    shown, _, _ = tables_of(welcome)
    rows = shown.splitlines()[2:]
    subjects = yaml.safe_load((COURSE.notebooks / "chapters.yml").read_text(encoding="utf-8"))
    assert list(subjects) == list(TOPICS)
    assert [row.split("|")[1].strip() for row in rows] == [chapter.partition("_")[0] for chapter in TOPICS]
    linked = {name for row in rows for name in re.findall(r"\]\((\w+)\.ipynb\)", row)}
    assert linked == {path.parent.name for path in COURSE.chapters.glob("*/lesson.py")}
    assert all(question in shown for _, place in places() for question in place["questions"])


def test_whiteboard_problems_are_exercises_and_none_is_missing() -> None:
    problems = yaml.safe_load((COURSE.notebooks / "whiteboard.yml").read_text(encoding="utf-8"))
    named = {(chapter, name) for each in problems for chapter, names in each["exercises"].items() for name in names}
    there = {
        (path.stem, name)
        for path in COURSE.pristine.glob("*.ipynb")
        for name in tasks(nbformat.read(path, as_version=4))
    }
    assert named - there == set()
    assert {each for each in there - named if "whiteboard" in each[0]} == set()
    counts = [each["collections"] for each in problems]
    assert counts == sorted(counts, reverse=True)
    *_, shown = tables_of(read(COURSE.notebooks, "00_welcome"))
    assert [each["name"] for each in problems if f"| {each['name']} | {each['chinese']} |" not in shown] == []


def test_each_lesson_is_searched_for_in_chinese() -> None:
    names = yaml.safe_load((CODE / "notebooks" / "chinese.yml").read_text(encoding="utf-8"))
    assert list(names) == [path.stem for path in sorted(Course(CODE).notebooks.glob("[0-9]*.ipynb"))]
    assert {chapter: words for chapter, words in names.items() if len({*words}) < max(3, len(words))} == {}
