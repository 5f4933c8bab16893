"""What the welcome notebook shows of the learner's progress."""

import html
import io
import re
from typing import Any

from rich.console import Console

from course.files import Course
from course.learner import package, practice
from course.learner.progress import following, next_line, table

WIDTH = 80


def progress() -> None:
    """Show the points, what comes next, a bar for each chapter and the map of mytorch; a table without widgets.

    In a build of the course nothing is counted: the notebook is the same whoever builds it.
    """
    from IPython.display import publish_display_data

    publish: Any = publish_display_data
    course = Course.find()
    if not package.is_learners():
        publish({"text/plain": "Run this cell to see your progress."})
        return
    text = as_text(course)
    try:
        import ipywidgets

        shown: dict[str, Any] = ipywidgets.VBox(_Bars(course, ipywidgets).children)._repr_mimebundle_()
    except ImportError:
        shown = {}
    publish({**shown, "text/plain": text})


def as_text(course: Course, width: int = WIDTH) -> str:
    """The table of `course progress`, and what comes next."""
    console = Console(file=io.StringIO(), width=width, color_system=None, force_jupyter=False)
    console.print(table(course))
    console.print(next_line(course), soft_wrap=True)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def by_chapter(course: Course) -> dict[str, tuple[int, int, int, int]]:
    """For each chapter: exercises done, exercises, points earned, points."""
    counts: dict[str, tuple[int, int, int, int]] = {}
    for exercise in practice.exercises(course):
        done, of, earned, points = counts.get(exercise.chapter, (0, 0, 0, 0))
        is_done = practice.is_kept(course, exercise)
        new = (done + is_done, of + 1, earned + is_done * exercise.points, points + exercise.points)
        counts[exercise.chapter] = new
    return counts


class _Bars:
    """The widgets: they can be brought up to date while the notebook is open."""

    def __init__(self, course: Course, widgets: Any) -> None:
        self.course, self.widgets = course, widgets
        again = widgets.Button(description="Bring up to date", icon="refresh")
        again.on_click(lambda _: self.fill())
        self.rows, self.total, self.next, self.map = widgets.VBox(), widgets.HTML(), widgets.HTML(), widgets.HTML()
        self.children = [self.total, self.next, again, self.rows, self.map]
        self.fill()

    def fill(self) -> None:
        """Read what is done, and show it."""
        counts = by_chapter(self.course)
        coming = getattr(following(self.course), "chapter", "")
        begun = {chapter: count for chapter, count in counts.items() if count[0] or chapter == coming}
        folded = len(counts) - len(begun)
        more = [self.widgets.Label(f"{folded} chapter{'s' * (folded > 1)} not begun")] if folded else []
        self.rows.children = [*(self._row(chapter, *count) for chapter, count in begun.items()), *more]
        earned, points = (sum(count[column] for count in counts.values()) for column in (2, 3))
        self.total.value = f"<b>{earned} of {points} points</b>"
        self.next.value = next_line(self.course)
        self.map.value = _map(self.course)

    def _row(self, chapter: str, done: int, of: int, earned: int, points: int) -> Any:
        bar = self.widgets.IntProgress(value=earned, max=points, bar_style="success" if done == of else "info")
        label = self.widgets.Label(chapter.replace("_", " "), layout={"width": "20em"})
        return self.widgets.HBox([label, bar, self.widgets.Label(f"{earned}/{points}")])


def _map(course: Course) -> str:
    """The package as a folded picture in which the learner's definitions are filled; without any it has only words.

    Empty in a course without mytorch.
    """
    if not package.reference(course).is_dir():
        return ""
    from course.learner import share
    from course.pictures import package_map

    shown = share.of(course)
    text = re.sub(r"`(.*?)`", r"<code>\1</code>", html.escape(str(shown))).replace("\n", "<br>")
    if not shown.count(mine=True):
        return f"<p>{text}</p>"
    return f"<p>{text}</p><details><summary>A map of mytorch</summary>{package_map(shown).html}</details>"
