"""The site: built once from the repository, its links followed, its pages looked at in a browser."""

from __future__ import annotations

import functools
import http.server
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from course.authoring import places
from course.files import CODE, Course
from course.notebooks.notebook import tasks, v4
from course.site import address as repository
from course.site import api, check, exercises, frames, indexes, lessons, links, shown
from tests.conftest import BROWSERS, site

KINDS = [
    "index.html",
    "lessons/index.html",
    "lessons/06_computation_graph.html",
    "exercises/index.html",
    "exercises/06_computation_graph/index.html",
    "topics.html",
    "questions.html",
    "api/mytorch.tensor.html",
    "api/minitorch.optim.html",
    "guides/grading.html",
    "licences.html",
    "search.html",
]
"""A page of each kind."""

ALLOWED = {"empty-table-header", "page-has-heading-one"}
"""What axe finds and may stay: the corner of a table whose first column needs no head; the theme's page of a search."""


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site."""
    folder = tmp_path_factory.mktemp("site")
    sphinx = ["-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(folder / "source"), str(folder / "html")]
    for command in (["-m", "course.site", str(folder / "source")], sphinx):
        done = subprocess.run([site(), *command], cwd=CODE, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture(scope="session")
def address(built: Path) -> Iterator[str]:
    """Where a server on this machine shows the built site."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=built))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    path = next(found for name in BROWSERS if (found := shutil.which(name)))
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])


@pytest.mark.turns(8, together=True)
@pytest.mark.needs("site")
def test_no_page_has_a_fault(built: Path) -> None:
    assert list(check.faults(built, Course(CODE))) == []


@pytest.mark.turns(8, together=True)
@pytest.mark.needs("site")
def test_every_lesson_exercise_and_question_has_its_place(built: Path) -> None:
    course = Course(CODE)
    questions = (built / "questions.html").read_text(encoding="utf-8")
    for path in course.notebooks.glob("*.ipynb"):
        page = (built / "lessons" / f"{path.stem}.html").read_text(encoding="utf-8")
        assert page.count('<figure class="moving"') == len(
            [alt for alt in frames.texts(frames.read(path), "text/plain") if frames.MOVES in alt]
        ), path.stem
        found = lessons.questions(path.stem, frames.read(path))
        assert found
        assert all(each.answer for each in found), path.stem
        assert questions.count(f'href="lessons/{path.stem}.html#q-') == len(found), path.stem
    for path in course.pristine.glob("*.ipynb"):
        for name in exercises.pages(path.stem, frames.read(path)):
            assert (built / "exercises" / path.stem / f"{name}.html").exists()


@pytest.mark.turns(8, together=True)
@pytest.mark.needs("site", "browser", "axe")
@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_can_be_read_by_all_and_ask_nothing_of_others(
    address: str, browser: Any, width: int, scheme: str
) -> None:
    import axe_playwright_python

    axe = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    context = browser.new_context(
        viewport={"width": width, "height": 1000}, color_scheme=scheme, reduced_motion="reduce"
    )
    page, asked, errors = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    for kind in KINDS:
        page.goto(f"{address}{kind}", wait_until="load")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, kind
        page.evaluate(axe)
        found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
        wrong = [(each["id"], each["nodes"][0]["html"]) for each in found if each["id"] not in ALLOWED]
        assert wrong == [], kind
    assert [url for url in asked if not url.startswith((address, "data:"))] == []
    assert errors == []
    context.close()


@pytest.mark.turns(8, together=True)
@pytest.mark.needs("site", "browser")
def test_the_keyboard_moves_a_slider(address: str, browser: Any) -> None:
    page = browser.new_page()
    page.goto(f"{address}lessons/06_computation_graph.html")
    figure = page.locator("figure.moving").first
    before = figure.locator("img").get_attribute("alt")
    control = figure.locator("input").last
    control.focus()
    page.keyboard.press("ArrowLeft")
    assert figure.locator("img").get_attribute("alt") != before
    assert control.get_attribute("aria-valuetext") == figure.locator("output").last.inner_text()
    with page.expect_response("**/frames/**") as response:
        page.keyboard.press("ArrowLeft")
    assert response.value.ok


@pytest.mark.turns(8, together=True)
@pytest.mark.needs("site", "browser")
def test_the_front_page_moves_until_it_is_stopped(address: str, browser: Any) -> None:
    page = browser.new_page()
    page.goto(address)
    image, button = page.locator("figure.moving img").first, page.locator("figure.moving .play").first
    before = image.get_attribute("src")
    page.wait_for_function(
        "before => document.querySelector('figure.moving img').getAttribute('src') != before", arg=before
    )
    button.click()
    assert button.inner_text() == "Play"
    calm = browser.new_context(reduced_motion="reduce").new_page()
    calm.goto(address)
    assert calm.locator("figure.moving .play").first.inner_text() == "Play"


@pytest.mark.turns(8, together=True)
@pytest.mark.needs("site", "browser")
@pytest.mark.parametrize("words", ["broadcasting", "state_dict", "叶子节点"])
def test_the_search_finds(address: str, browser: Any, words: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}search.html?q={words}")
    page.wait_for_selector("#search-results li a")


@pytest.mark.turns(8, together=True)
@pytest.mark.needs("site", "browser")
@pytest.mark.parametrize("words", ["when does view raise, and when", "view raise when does"])
def test_the_search_finds_a_question_by_its_own_words(address: str, browser: Any, words: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}search.html?q={words}")
    page.wait_for_selector("#search-results li a")
    first = page.locator("#search-results li a").first
    assert "When does view raise" in first.inner_text() and "questions.html#" in (first.get_attribute("href") or "")


@pytest.mark.turns(8, together=True)
@pytest.mark.needs("site", "browser")
@pytest.mark.parametrize(
    ("words", "first"),
    {
        "view vs reshape": "view or reshape?",
        "what is the difference between view and reshape": "view or reshape?",
        "why zero_grad": "Where does zero_grad go, and what if you forget it?",
        "retain_graph": "retain_graph or create_graph?",
        "what is a stride": "Strides",
        "broadcasting": "Broadcasting, indexing and joining",
        "mixed precision loss scaling": "Mixed precision",
        "grouped query attention": "Grouped queries and a cache",
        "top-p sampling": "From logits to probabilities",
        "implement NMS from scratch": "IoU and non-maximum suppression",
        "LoRA": "LoRA",
        "how much memory does adam use": "How much memory does training 7B parameters with AdamW take?",
        "梯度": "The computation graph",
        "softmax数值稳定": "Activations and initialization",
        "反向传播 和 计算图": "The computation graph",
        "手撕 DPO": "DPO and its implicit reward",
        "KV cache 面试题": "What is a KV cache?",
    }.items(),
)
def test_the_search_finds_a_heading_by_what_people_type(address: str, browser: Any, words: str, first: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}search.html?q={words}")
    page.wait_for_selector("#search-results li a")
    assert page.locator("#search-results li a").first.inner_text().removeprefix("Interview questions > ") == first


@pytest.mark.turns(8, together=True)
@pytest.mark.needs("site", "browser")
def test_the_long_page_of_questions_leads_to_each_chapter(address: str, browser: Any) -> None:
    page = browser.new_page()
    page.goto(f"{address}questions.html")
    chapters = page.locator("article p a[href^='#questions-']")
    assert chapters.count() == page.locator("article h2").count() == len(list(Course(CODE).notebooks.glob("*.ipynb")))
    chapters.nth(7).click()
    page.wait_for_function("Math.abs(document.querySelectorAll('article h2')[7].getBoundingClientRect().y) < 200")
    about = page.locator("meta[name=description]").get_attribute("content")
    assert "questions about PyTorch" in about


@pytest.mark.turns(8, together=True)
@pytest.mark.needs("site", "browser")
def test_questions_are_narrowed_by_words_and_by_chapter(built: Path, browser: Any) -> None:
    page = browser.new_page()
    page.goto((built / "questions.html").as_uri())  # from a file: no server is needed
    form, shown = page.get_by_role("search", name="Questions"), page.locator("article h3:visible")
    every = shown.count()
    assert form.locator("output").inner_text() == f"{every} questions"
    form.get_by_label("Words").focus()
    page.keyboard.type("VIEW raise")
    found = shown.all_inner_texts()
    assert 0 < len(found) < every and any(each.startswith("When does view raise") for each in found)
    for section in page.locator("article section > section > section:visible").all():
        assert all(word in section.evaluate("each => each.textContent").lower() for word in ("view", "raise"))
    page.keyboard.press("Tab")
    page.keyboard.type("03")  # as a list of choices is used from the keyboard
    assert page.locator("article h2:visible").count() == 1
    assert 0 < shown.count() < len(found)
    assert form.locator("output").inner_text() == f"{shown.count()} question{'s' if shown.count() > 1 else ''}"
    form.get_by_label("Words").fill("why view vs raise 手撕")
    assert shown.count() > 0
    form.get_by_label("Words").fill("zero_gard")
    assert form.locator("output").inner_text().startswith("0 questions: the site's search")
    form.get_by_label("Words").fill("view raise")
    assert page.locator("article p a[href^='#questions-']:visible").count() == 0
    page.evaluate("location.hash = '#questions-06-computation-graph'")  # a link leads to what was hidden, too
    page.wait_for_function("document.querySelectorAll('article section[hidden]').length === 0")
    assert shown.count() == every


@pytest.mark.turns(8, together=True)
@pytest.mark.needs("site", "browser")
def test_the_whiteboard_is_narrowed_and_shows_each_column_on_a_phone(built: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto((built / "whiteboard.html").as_uri())
    rows = page.locator("article tbody tr:visible")
    every = rows.count()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert all(
        cell.bounding_box()["x"] + cell.bounding_box()["width"] <= 390 for cell in rows.first.locator("td").all()
    )
    page.get_by_role("search", name="Problems").get_by_label("Words").fill("手撕 dpo")
    assert 0 < rows.count() < every and "DPO" in rows.first.inner_text()


@pytest.mark.turns(8, together=True)
@pytest.mark.needs("site", "browser")
def test_a_phone_shows_each_column_of_the_topics(built: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto((built / "topics.html").as_uri())
    for table in page.locator("article table").all():
        cells = table.locator("tbody tr").first.locator("td").all()
        assert len(cells) >= 4
        assert all(cell.bounding_box()["x"] + cell.bounding_box()["width"] <= 390 for cell in cells)


@pytest.mark.turns(8, together=True)
@pytest.mark.needs("site", "browser")
def test_without_a_script_all_questions_are_shown(built: Path, browser: Any) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto((built / "questions.html").as_uri())
    assert page.get_by_role("search", name="Questions").count() == 0
    assert page.locator("article h3:visible").count() == page.locator("article h3").count() > 300


@pytest.mark.turns(8, together=True)
@pytest.mark.needs("site")
def test_a_page_says_what_it_is_about_and_a_lesson_can_be_taken_along(built: Path) -> None:
    lesson = (built / "lessons" / "06_computation_graph.html").read_text(encoding="utf-8")
    about = re.search(r'<meta name="description" content="([^"]*)">', lesson)
    assert about and about[1].startswith("In this lesson you build the engine behind loss.backward()")
    assert '<meta property="og:title" content="The computation graph">' in lesson
    (file,) = (built / "_downloads").glob("*/06_computation_graph.ipynb")
    assert file.read_bytes() == (CODE / "notebooks" / "06_computation_graph.ipynb").read_bytes()
    front = (built / "index.html").read_text(encoding="utf-8")
    assert "ADDRESS" not in front and 'href="#start"' in front


@pytest.mark.turns(8, together=True)
@pytest.mark.needs("site")
def test_every_page_leads_to_the_start_and_none_shows_a_placeholder(built: Path) -> None:
    for page in sorted(built.rglob("*.html")):
        text = page.read_text(encoding="utf-8")
        assert re.search(r'href="(\.\./)*(index\.html)?#start"', text), page
        assert not re.search(r"\bgit\+ADDRESS|\bclone ADDRESS|ADDRESS is the", re.sub(r"<[^>]*>", "", text)), page


def test_the_page_of_an_exercise_says_its_kind_time_and_points() -> None:
    for path in sorted(Course(CODE).pristine.glob("*.ipynb")):
        notebook = frames.read(path)
        pages = exercises.pages(path.stem, notebook)
        for name, about in tasks(notebook).items():
            said = re.findall(r"^\*(\w+) · about (\d+) minutes · (\d+) point", pages[name], re.MULTILINE)
            assert said == [(about["kind"].capitalize(), str(about["minutes"]), str(about["points"]))], name


def test_the_whiteboard_has_kind_time_and_frequency_of_each_problem() -> None:
    unsolved = {path.stem: frames.read(path) for path in sorted(Course(CODE).pristine.glob("*.ipynb"))}
    rows = indexes.whiteboard(unsolved)
    about = tasks(unsolved["24b_llama"])["llama_rope"]
    (row,) = (line for line in rows.splitlines() if "手撕 RoPE 旋转位置编码" in line)
    assert "collections" in rows and "minutes" in rows
    links = "[Rotary positions](/exercises/24b_llama/llama_rope.md)"  # second, so that a phone shows them
    minutes, points = about["minutes"], about["points"]
    assert f" | {links} | 14 | {minutes} | {points} | core | " in row


def test_an_exercises_page_names_the_problem_as_interviews_do() -> None:
    unsolved = frames.read(Course(CODE).pristine / "24b_llama.ipynb")
    pages = exercises.pages("24b_llama", unsolved)
    assert "single: GQA and MQA (grouped and multi-query attention)\n" in pages["llama_gqa"]
    assert "(in 11 of 23 collections)" in pages["llama_gqa"]


def test_the_verdict_on_the_front_page_is_the_checks_own() -> None:
    front = (CODE / "docs" / "site" / "front.md").read_text(encoding="utf-8")
    source = (CODE / "chapters" / "00_welcome" / "exercises.py").read_text(encoding="utf-8")
    shown = re.search(r"<pre>(return .*)</pre>\n<p>✗ Not yet. (.*) Expected .*</p>", front)
    assert shown and shown[2] in source and shown[1] in source.partition(shown[2])[2][:100]


@pytest.mark.turns(8, together=True)
@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("https://github.com/someone/course.git", "https://github.com/someone/course"),
        ("git@github.com:someone/course.git", "https://github.com/someone/course"),
        ("ssh://git@example.org/someone/course", "https://example.org/someone/course"),
        ("https://name:token@example.org/course/", "https://example.org/course"),
        ("/srv/course", ""),
        ("", ""),
    ],
)
def test_an_address_is_one_that_a_browser_opens(given: str, address: str) -> None:
    assert repository._tidy(given) == address


def test_each_slider_has_its_frames_and_each_graph_is_drawn() -> None:
    for path in sorted(Course(CODE).notebooks.glob("*.ipynb")):
        notebook = frames.read(path)
        hint = f"{path.stem}: `make frames` stores what the site shows of it"
        assert frames.missing(notebook, path.stem) == [], hint
        assert all(frames.drawn(source).exists() for source in frames.texts(notebook, frames.MERMAID)), hint


def test_the_first_frame_is_the_stored_picture() -> None:
    path = CODE / "notebooks" / "06_computation_graph.ipynb"
    (alt,) = (text for text in frames.texts(frames.read(path), "text/plain") if frames.MOVES in text)
    found = frames.moving(path.stem, alt)
    assert found
    assert found.alts[found.start] == alt.partition(frames.MOVES)[0]
    assert len(found.alts) == len(found.frames) == 8


def test_a_frame_with_a_ground_is_recorded_anew(tmp_path: Path) -> None:
    path = CODE / "notebooks" / "06_computation_graph.ipynb"
    notebook = frames.read(path)
    shutil.copytree(frames.STORE / "frames" / path.stem, tmp_path / "frames" / path.stem)
    assert frames.missing(notebook, path.stem, tmp_path) == []
    last = tmp_path / "frames" / path.stem / "0" / "7.png"
    drawn = Image.open(last).convert("RGBA")
    Image.alpha_composite(Image.new("RGBA", drawn.size, "white"), drawn).convert("RGB").save(last)
    (text,) = frames.missing(notebook, path.stem, tmp_path)
    assert frames.MOVES in text


def test_faults_are_found(tmp_path: Path, course: Course) -> None:
    (tmp_path / "a.html").write_text(
        '<p id="here">x</p><a href="#here">1</a><a href="#gone">2</a><a href="b.html#there">3</a><a href="c.html">4</a>'
        '<a href="https://example.org/x">5</a><img src="https://example.org/p.png"><script src="no.js"></script>'
        '<link rel="stylesheet" href="//example.org/s.css"><link rel="canonical" href="https://example.org/">'
    )
    (tmp_path / "b.html").write_text("<p>" + "x" * check.LARGEST + "</p>")
    assert sorted(check.faults(tmp_path.resolve(), course)) == [
        "a.html links to #gone, where that page has no such place",
        "a.html links to b.html#there, where that page has no such place",
        "a.html links to c.html, which isn't there",
        "a.html loads //example.org/s.css from another host",
        "a.html loads https://example.org/p.png from another host",
        "a.html loads no.js, which isn't there",
        "b.html has 2,000,007 bytes; 2,000,000 are allowed",
    ]


def test_an_answer_on_a_page_is_found(tmp_path: Path) -> None:
    course = Course(CODE)
    notebook = frames.read(course.solutions / "06_computation_graph.ipynb")
    name = next(each for each in check.answers(course) if each.startswith("graph_"))
    answer = next(cell.source for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == name)
    (tmp_path / "a.html").write_text(f"<pre>{shown.html.escape(answer)}</pre>", encoding="utf-8")
    assert any(f"the answer to {name}:" in fault for fault in check.faults(tmp_path.resolve(), course))
    unsolved = frames.read(course.pristine / "06_computation_graph.ipynb")
    page = exercises.pages("06_computation_graph", unsolved)[name]
    (tmp_path / "a.html").write_text(f"<pre>{shown.html.escape(page)}</pre>", encoding="utf-8")
    assert list(check.faults(tmp_path.resolve(), course)) == []


def test_no_hint_is_on_the_page_of_an_exercise() -> None:
    for path in Course(CODE).pristine.glob("*.ipynb"):
        notebook = frames.read(path)
        pages = exercises.pages(path.stem, notebook)
        for name, about in exercises.tasks(notebook).items():
            assert not [hint for hint in about["hints"] if hint in pages[name]]


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("[a](06_computation_graph.ipynb)", "[a](/lessons/06_computation_graph.ipynb)"),
        ("[a](../exercises/06_computation_graph.ipynb)", "[a](/exercises/06_computation_graph/index.md)"),
        ("[a](../docs/grading.md#the-sandbox)", "[a](/guides/grading.md#the-sandbox)"),
        ("[a](99_nothing.ipynb) [b](https://example.org/x)", "a [b](https://example.org/x)"),
        ("[a](../course/check.py)", "a"),
        ("```python\nx[a](b.ipynb)\n```", "```python\nx[a](b.ipynb)\n```"),
    ],
)
def test_links_lead_to_pages(text: str, moved: str) -> None:
    assert links.moved(text, "notebooks") == moved


def test_with_an_address_there_are_ways_to_open_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (links, exercises):
        monkeypatch.setattr(module, "address", lambda root: "https://github.com/someone/course")
    assert (
        links.moved("[a](../course/check.py)", "docs")
        == "[a](https://github.com/someone/course/blob/HEAD/course/check.py)"
    )
    notebook = frames.read(Course(CODE).pristine / "06_computation_graph.ipynb")
    page = exercises.pages("06_computation_graph", notebook)[next(iter(exercises.tasks(notebook)))]
    for there in places.openers("https://github.com/someone/course", "exercises/06_computation_graph.ipynb").values():
        assert f"]({there})" in page


@pytest.mark.turns(8, together=True)
@pytest.mark.parametrize("address", ["", "https://github.com/someone/course"])
def test_guides_name_the_address_or_the_readers_own_clone(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr(links, "address", lambda root: address)
    for path in ("docs/starting.md", "CONTRIBUTING.md"):
        before = (CODE / path).read_text(encoding="utf-8")
        after = links.addressed(before)
        assert "ADDRESS" in before and "ADDRESS" not in after
        assert (f"git clone {address} minitorch" in after) == bool(address)


@pytest.mark.turns(8, together=True)
@pytest.mark.parametrize(
    ("address", "pages", "served"),
    [
        ("https://github.com/Someone/course", "", "https://someone.github.io/course"),
        ("https://github.com/Someone/course", "https://example.org/learn/", "https://example.org/learn"),
        ("https://example.org/someone/course", "", ""),
    ],
)
def test_previews_name_where_the_pages_are(
    monkeypatch: pytest.MonkeyPatch, address: str, pages: str, served: str
) -> None:
    monkeypatch.setattr(repository, "address", lambda root: address)
    monkeypatch.setenv("PAGES", pages)
    repository.served.cache_clear()
    assert repository.served(CODE) == served


def test_a_lesson_gets_places_to_link_to() -> None:
    text = lessons.text(
        "- a list\n## A head · 1.2 名\n\n**Interview · Why?**\n\nSee [p](06_computation_graph.ipynb#cell-id=ab).",
        "06_x",
    )
    assert re.sub(r"\n{2,}", "\n\n", text).splitlines() == [
        "- a list",
        "",  # without which what follows would belong to the list
        "(h-06-a-head-1-2-名)=",
        "## A head · 1.2 名",
        "",
        "(q-06-why)=",
        "**Interview · Why?**",
        "",
        "See [p](#cell-06-ab).",
    ]


def test_a_link_to_a_heading_leads_to_its_place() -> None:
    """With the notebook's name or, within a lesson, without. A link to nowhere would stop the build of the site."""
    written = "[a](06_x.ipynb#Head-one) [b](#Head-one) [c](07_y.ipynb#Two)"
    assert lessons.text(written, "06_x") == "[a](#h-06-head-one) [b](#h-06-head-one) [c](#h-07-two)"
    places, ways = set(), set()
    for path in Course(CODE).notebooks.glob("*.ipynb"):
        cells = [cell for cell in frames.read(path).cells if cell.cell_type == "markdown"]
        text = "\n".join(lessons.text(cell.source, path.stem) for cell in cells)
        places |= {*re.findall(r"^\((h-.*)\)=$", text, re.MULTILINE)}
        ways |= {*re.findall(r"\]\(#((?!cell-|q-)[^)]*)\)", text)}
    assert ways and ways <= places, ways - places


def test_a_docstring_becomes_markdown() -> None:
    text = api.text("""The sum * of `x_`.

    Args:
        x: a number,
            or two.

    Raises:
        ValueError: never.

    >>> 1 + 1
    2

    Source: https://example.org/a_b.
    """)
    assert text.splitlines() == [
        r"The sum \* of `x_`.",
        "",
        "",
        "**Args**",
        "",
        "- `x`: a number,",
        "  or two.",
        "",
        "",
        "**Raises**",
        "",
        "- `ValueError`: never.",
        "",
        "",
        "```python",
        ">>> 1 + 1",
        "2",
        "```",
        "",
        "",
        "Source: <https://example.org/a_b>.",
    ]


def test_colabs_cell_is_not_on_the_page(tmp_path: Path) -> None:
    notebook = v4.new_notebook(cells=[v4.new_markdown_cell("# A title\nText"), v4.new_code_cell("1", id=places.COLAB)])
    path = tmp_path / "06_computation_graph.ipynb"
    path.write_text(v4.writes(notebook), encoding="utf-8")
    (title,) = lessons.page(path, shown.Pictures(tmp_path)).cells
    assert title.source.startswith("# A title\n\n{.open}\n[Exercises](")


def test_a_chapters_heading_stands_where_it_has_definitions(tmp_path: Path) -> None:
    source = '''"""A file."""
# 02 · Two

import math

# 06 · Six


def f(x):
    """Of chapter 06."""


# 07 · Seven

CONSTANT = math.pi


# 09 · Nine


def _hidden(x):
    """Not public."""


class C:
    """Of chapter 09."""
'''
    (tmp_path / "a.py").write_text(source)
    (tmp_path / "empty.py").write_text('"""Nothing is defined here."""\n# 02 · Two\nimport math\n')
    pages = api.mytorch_pages(tmp_path, {})
    assert list(pages) == ["mytorch.a"]
    headings = [line for line in pages["mytorch.a"].splitlines() if line.startswith("#")]
    assert headings == ["# mytorch.a", "## 06 · Six", "## 09 · Nine"]
