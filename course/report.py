"""A grader's report as a table for people."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from course.grade import Report, Result
from course.sandbox import DESCRIPTION

_COLOURS = {"passed": "green", "skipped": "dim", "graded": "bold", "not graded": "yellow", "rejected": "red"}


def print_report(report: Report, console: Console) -> None:
    """Print each submission with its exercises, and the seed that repeats the grade."""
    for result in report.submissions:
        console.print(_headline(result), soft_wrap=True)
        if result.items:
            console.print(_table(result))
    console.print(f"seed {report.seed} · {DESCRIPTION}", style="dim")


def _headline(result: Result) -> str:
    points = f", {result.score} of {result.max_score} points" if result.items else ""
    reason = f" ({escape(result.reason)})" if result.reason else ""
    return f"[bold]{escape(result.path)}[/]: [{_COLOURS[result.status]}]{result.status}[/]{points}{reason}"


def _table(result: Result) -> Table:
    table = Table()
    table.add_column("exercise", no_wrap=True)
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("result")
    for item in result.items:
        colour = _COLOURS.get(item.status, "red")
        message = f": {escape(item.message)}" if item.message else ""
        table.add_row(item.grade_id, f"{item.points}/{item.max_points}", f"[{colour}]{item.status}[/]{message}")
    return table
