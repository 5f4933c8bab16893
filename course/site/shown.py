"""What a page shows of a notebook's outputs: pictures as files, sliders with their frames, graphs as SVG."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from course.site import frames

_IMAGE = re.compile(r'<img alt="([^"]*)" width="(\d+)"[^>]*?src="data:image/png;base64,([^"]*)"/>')
_ACCESSIBLE = re.compile(r"accTitle: (.*)")


@dataclass(frozen=True)
class Pictures:
    """Puts pictures into the folder of static files, and gives the HTML that shows them."""

    static: Path
    up: str = "../"

    def page(self, chapter: str, text: str, alt: str) -> str:
        """The HTML of an output, its pixels in files; a picture with a slider gets all its frames."""
        if found := frames.moving(chapter, alt):
            return self.moving(found)
        return _IMAGE.sub(lambda each: self.still(html.unescape(each[1]), int(each[2]), each[3]), text)

    def still(self, alt: str, width: int, pixels: str) -> str:
        """A picture that does not move."""
        content = base64.b64decode(pixels)
        name = f"{hashlib.sha256(content).hexdigest()[:16]}.png"
        (self.static / "pictures").mkdir(parents=True, exist_ok=True)
        (self.static / "pictures" / name).write_bytes(content)
        source = f"{self.up}_static/pictures/{name}"
        return f'<img class="picture" alt="{html.escape(alt)}" width="{width}" loading="lazy" src="{source}">'

    def moving(self, found: frames.Moving, plays: bool = False) -> str:
        """A picture with a control for each of its sliders; `plays`: it moves by itself until it is stopped."""
        name = f"{found.folder.parent.name}-{found.folder.name}"
        shutil.copytree(found.folder, self.static / "frames" / name, dirs_exist_ok=True)
        start = (found.folder / f"{found.start}.png").read_bytes()
        width = int.from_bytes(start[16:20], "big") // 2
        about = html.escape(json.dumps({"alts": found.alts, "labels": [each["labels"] for each in found.controls]}))
        controls = "".join(
            f'<label>{html.escape(each["name"])} <input type="range" min="0" max="{len(each["labels"]) - 1}" '
            f'value="{each["start"]}"> <output>{html.escape(each["labels"][each["start"]])}</output></label>'
            for each in found.controls
        )
        button = '<button type="button" class="play" hidden>Pause</button>' if plays else ""
        folder = f"{self.up}_static/frames/{name}"
        return (
            f'<figure class="moving" data-about="{about}" data-folder="{folder}"{" data-plays" * plays}>'
            f'<div class="controls" hidden>{controls}{button}</div>'
            f'<img class="picture" alt="{html.escape(found.alts[found.start])}" width="{width}" loading="lazy" '
            f'src="{folder}/{found.start}.png"></figure>'
        )

    def graph(self, source: str) -> str:
        """A graph of Mermaid's, as it was drawn before; its text where it was not."""
        path, title = frames.drawn(source), _ACCESSIBLE.search(source)
        if not path.exists():
            return f"<pre>{html.escape(source)}</pre>"
        (self.static / "mermaid").mkdir(parents=True, exist_ok=True)
        shutil.copy(path, self.static / "mermaid")
        alt = html.escape(title[1] if title else "A graph.")
        width = re.search(r"max-width: ([\d.]+)px", path.read_text(encoding="utf-8"))
        wide = f' width="{float(width[1]):.0f}"' if width else ""
        return f'<img class="picture" alt="{alt}"{wide} loading="lazy" src="{self.up}_static/mermaid/{path.name}">'
