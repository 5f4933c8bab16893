"""An image with the text that says the same: what a notebook stores of a picture, and what of it is compared."""

import base64
import html
import re
from typing import Any

DENSITY = 2
"""Pixels of the image for one pixel of the page, so that it is sharp on a fine screen."""

_PIXELS = re.compile(r'(<img [^>]*?src="data:image/png;base64,)[^"]*')


class Picture:
    """A PNG image and its text alternative `alt`, which screen readers read and which `print` shows.

    It is shown as HTML, since JupyterLab gives an image that is published as such no alternative.
    """

    def __init__(self, png: bytes, alt: str) -> None:
        self.png, self.alt = png, alt

    @property
    def size(self) -> tuple[int, int]:
        """Width and height on the page, in CSS pixels. Source: https://www.w3.org/TR/png-3/#11IHDR"""
        width, height = (int.from_bytes(self.png[place : place + 4], "big") for place in (16, 20))
        return round(width / DENSITY), round(height / DENSITY)

    @property
    def html(self) -> str:
        """An `img` element that holds the image."""
        pixels, alt = base64.b64encode(self.png).decode(), html.escape(self.alt)
        return (
            f'<img alt="{alt}" width="{self.size[0]}" style="border-radius: 6px" src="data:image/png;base64,{pixels}"/>'
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.alt}

    def __repr__(self) -> str:
        return self.alt


def without_pixels(text: str) -> str:
    """HTML without the pixels of its images and their width: fonts and curves differ a little between machines."""
    return re.sub(r'(<img alt="[^"]*") width="\d+"', r"\1", _PIXELS.sub(r"\1", text))
