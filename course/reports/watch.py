"""`course watch`: each save of a notebook in `exercises/` is checked at once, and keys say what comes next."""

import contextlib
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from course.files import Course
from course.grading.find import digest, of_chapters
from course.grading.grade import keep_passed, practise
from course.grading.report import Report, Result
from course.learner import practice
from course.learner.progress import following, next_line, table
from course.reports.table import print_answers, print_practice

HELP = "n next · h hint · l list · c check all · q quit"
_QUIET = 0.3  # seconds without an event, after which a file is written whole


class _Saves(FileSystemEventHandler):
    """Puts every notebook that was written into a queue; Jupyter writes beside it and renames."""

    def __init__(self, events: "queue.Queue[Path | str]") -> None:
        self.events = events

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Note the file."""
        path = Path(os.fsdecode(event.dest_path or event.src_path))
        if event.event_type in ("created", "modified", "moved") and path.suffix == ".ipynb":
            self.events.put(path)


class Watch:
    """What the screen shows, and the exercise that hints are about."""

    def __init__(self, course: Course, console: Console) -> None:
        self.course, self.console = course, console
        self.current = ""
        self.seen = {path: digest(path) for path in of_chapters(course, [course.exercises])[0]}

    def saved(self, path: Path) -> None:
        """Check a notebook whose text has changed; say what is right, what isn't, and what comes next."""
        if path not in of_chapters(self.course, [self.course.exercises])[0] or self.seen.get(path) == digest(path):
            return
        self.seen[path] = digest(path)
        self.console.print(f"\n[bold]{path.name}[/] is saved. Checking …")
        for result in self._checked([path]).submissions:
            self._show(result)
        self._say(next_line(self.course))

    def key(self, key: str) -> None:
        """Do what a key asks for."""
        match key:
            case "n":
                self.current = ""
                self._say(next_line(self.course))
            case "h":
                name = self.current or getattr(following(self.course), "name", "")
                self._say(f"{name}: {practice.next_hint(self.course, name)}" if name else next_line(self.course))
            case "l":
                self.console.print(table(self.course))
            case "c":
                self.console.print("Checking every notebook …")
                print_practice(self._checked(of_chapters(self.course, [self.course.exercises])[0]), self.console)
            case _:
                self._say(HELP)

    def _checked(self, paths: list[Path]) -> Report:
        report = practise(paths, self.course)
        keep_passed(report, self.course)
        return report

    def _show(self, result: Result) -> None:
        print_answers(result, self.console)
        self.current = next((item.grade_id for item in result.items if item.status not in ("passed", "skipped")), "")

    def _say(self, text: str) -> None:
        self.console.print(text, soft_wrap=True, markup=False, highlight=False)


def watch(course: Course, console: Console) -> None:
    """Go on until the key q, or an interrupt."""
    events: queue.Queue[Path | str] = queue.Queue()
    shown = Watch(course, console)
    observer = Observer()
    observer.schedule(_Saves(events), str(course.exercises))
    observer.start()
    try:
        with _keys() as read:
            threading.Thread(target=_listen, args=(read, events), daemon=True).start()
            console.print(f"Watching {course.exercises}: save a notebook to have it checked.\n{HELP}", highlight=False)
            shown._say(next_line(course))
            while (event := events.get()) != "q":
                if isinstance(event, str):
                    shown.key(event)
                    continue
                for path in sorted({event, *_following(events)}):
                    shown.saved(path)
    except KeyboardInterrupt:
        pass
    finally:
        observer.stop()
        observer.join()


def _following(events: "queue.Queue[Path | str]") -> Iterator[Path]:
    """The files of the events that come at once after one; a key stays in the queue."""
    keys: list[str] = []
    with contextlib.suppress(queue.Empty):
        while True:
            event = events.get(timeout=_QUIET)
            if isinstance(event, str):
                keys.append(event)
            else:
                yield event
    for key in keys:
        events.put(key)


def _listen(read: Callable[[], str], events: "queue.Queue[Path | str]") -> None:
    while key := read():
        events.put(key)


@contextlib.contextmanager
def _keys() -> Iterator[Callable[[], str]]:
    """What reads one key, without waiting for a new line; empty at the end of the input."""
    if sys.platform == "win32":
        import msvcrt

        yield msvcrt.getwch
        return
    import termios
    import tty

    if not sys.stdin.isatty():
        yield lambda: sys.stdin.read(1)
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield lambda: os.read(sys.stdin.fileno(), 1).decode(errors="replace")
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
