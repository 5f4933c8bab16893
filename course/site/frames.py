"""What a page shows and can't make itself: the pictures at each place of a slider, and Mermaid's graphs as SVG.

`make frames` makes them for the chapters whose sliders or graphs changed, by running these lessons once; they are
committed in `docs/site`, so `make site` needs neither a kernel nor a browser.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.files import CODE
from course.notebooks.notebook import v4

STORE = CODE / "docs" / "site"
MIME = "application/vnd.minitorch.frames+json"
MERMAID = "text/vnd.mermaid"
MERMAID_VERSION = "11.12.0"
MOVES = " A slider moves "
"""What the text of a picture says that can be moved."""

_SETUP = f"""
import base64
from course.pictures import sliders

def _with_frames(slider, include=None, exclude=None, bundle=sliders.Slider._repr_mimebundle_):
    controls = [
        {{"name": name, "labels": [label for label, _ in each.options], "start": each.index}}
        for name, each in slider.controls.items()
    ]
    frames = [{{"png": base64.b64encode(each.png).decode(), "alt": each.alt}} for each in slider.places]
    return bundle(slider) | {{{MIME!r}: {{"controls": controls, "frames": frames}}}}

sliders.Slider._repr_mimebundle_ = _with_frames
"""

_DRAW = """async ([name, source]) => {
    mermaid.initialize({startOnLoad: false, htmlLabels: false, theme: "neutral", deterministicIds: true,
        fontFamily: "DejaVu Sans, Verdana, sans-serif", flowchart: {htmlLabels: false, wrappingWidth: 400}});
    return (await mermaid.render(name, source)).svg;
}"""


@dataclass(frozen=True)
class Moving:
    """A picture with sliders: what each control may be set to, and a picture for each setting."""

    folder: Path
    alt: str
    controls: list[dict[str, Any]]
    alts: list[str]

    @property
    def start(self) -> int:
        """The place of the picture that is shown first."""
        place = 0
        for control in self.controls:
            place = place * len(control["labels"]) + control["start"]
        return place

    @property
    def frames(self) -> list[Path]:
        """The files of the pictures, in no order."""
        return list(self.folder.glob("*.png"))


def moving(chapter: str, alt: str, store: Path = STORE) -> Moving | None:
    """The stored frames of the picture with this text; None where there are none."""
    for index in sorted((store / "frames" / chapter).glob("*/index.json")):
        about = json.loads(index.read_text(encoding="utf-8"))
        if about["alt"] == alt:
            return Moving(index.parent, **about)
    return None


def drawn(source: str, store: Path = STORE) -> Path:
    """The file of a graph's SVG, whether it is there or not."""
    return store / "mermaid" / f"{hashlib.sha256(source.encode()).hexdigest()[:16]}.svg"


def read(path: Path) -> Any:
    """A notebook."""
    return v4.reads(path.read_text(encoding="utf-8"))


def texts(notebook: Any, mime: str) -> list[str]:
    """What the notebook's outputs hold of one kind."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output.data[mime] for output in outputs if mime in output.get("data", {})]


def missing(notebook: Any, chapter: str, store: Path = STORE) -> list[str]:
    """The texts of pictures of a lesson that have a slider and no stored frames, or frames that hide a dark page."""
    movable = [text for text in texts(notebook, "text/plain") if MOVES in text]
    return [text for text in movable if not (found := moving(chapter, text, store)) or any(map(opaque, found.frames))]


def opaque(path: Path) -> bool:
    """Whether a picture has a ground of its own: a corner that the page doesn't show through."""
    from PIL import Image

    image = Image.open(path).convert("RGBA")
    right, bottom = image.width - 1, image.height - 1
    return any(image.getpixel((x, y))[3] for x in (0, right) for y in (0, bottom))  # type: ignore[index]


def record(path: Path, store: Path = STORE) -> None:
    """Run a lesson, and store what its sliders show in place of what was stored."""
    from course.check import PRACTICE_SEED
    from course.files import Course
    from course.notebooks.execute import execute

    notebook = read(path)
    notebook.cells.insert(0, v4.new_code_cell(_SETUP))
    asyncio.run(execute(notebook, path.parent, CODE, PRACTICE_SEED, Course(CODE).reference))
    shutil.rmtree(store / "frames" / path.stem, ignore_errors=True)
    outputs = [output.data for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    for number, data in enumerate(each for each in outputs if MIME in each):
        folder, found = store / "frames" / path.stem / str(number), data[MIME]
        folder.mkdir(parents=True)
        for place, frame in enumerate(found["frames"]):
            (folder / f"{place}.png").write_bytes(base64.b64decode(frame["png"]))
        about = {"alt": data["text/plain"], "controls": found["controls"], "alts": [f["alt"] for f in found["frames"]]}
        (folder / "index.json").write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def draw(sources: list[str], store: Path = STORE) -> None:
    """Have Mermaid, fetched with npm, draw graphs in a browser, and store them."""
    from playwright.sync_api import sync_playwright

    browser = next(found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        npm = ["npm", "pack", "--silent", f"mermaid@{MERMAID_VERSION}"]
        subprocess.run(npm, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive:
            script = archive.extractfile("package/dist/mermaid.min.js")
            assert isinstance(script, io.BufferedReader)
            code = script.read().decode()
        page = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"]).new_page()
        page.set_content("<html><body></body></html>")
        page.add_script_tag(content=code)
        for source in sources:
            path = drawn(source, store)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(page.evaluate(_DRAW, [f"m{path.stem}", source]), encoding="utf-8")


def main(store: Path = STORE) -> None:
    """Store what is missing, and remove graphs that no lesson shows any more."""
    lessons = {path: read(path) for path in sorted((CODE / "notebooks").glob("*.ipynb"))}
    for path, notebook in lessons.items():
        if missing(notebook, path.stem, store):
            print(path.stem, flush=True)
            record(path, store)
    graphs = {drawn(source, store): source for each in lessons.values() for source in texts(each, MERMAID)}
    if undrawn := [source for path, source in graphs.items() if not path.exists()]:
        draw(undrawn, store)
    for path in set((store / "mermaid").glob("*.svg")) - graphs.keys():
        path.unlink()


if __name__ == "__main__":
    main()
