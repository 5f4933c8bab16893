"""The pictures of the lessons. Each function gives a picture with its text, to be the last expression of a cell."""

from course.image import Picture
from course.pictures.boxes import graph, layers
from course.pictures.grids import broadcast, grid, grids
from course.pictures.memory import storage, strided_view
from course.pictures.package import package_map
from course.pictures.plots import curves, decision, images
from course.pictures.sliders import slider
from course.pictures.theme import COLOURS, assign, axes, panels, publish, style

__all__ = [
    "COLOURS",
    "Picture",
    "assign",
    "axes",
    "broadcast",
    "curves",
    "decision",
    "graph",
    "grid",
    "grids",
    "images",
    "layers",
    "package_map",
    "panels",
    "publish",
    "slider",
    "storage",
    "strided_view",
    "style",
]
