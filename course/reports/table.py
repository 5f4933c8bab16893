"""A grader's report as a table for people, and in the formats of other programs."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from course.checks.printable import printable_path
from course.files import Course, write_atomically
from course.grading.assigned import with_assignments
from course.grading.find import notebooks
from course.grading.report import Report, Result
from course.reports.csv import to_csv
from course.reports.feedback import points_of
from course.reports.gradebook import Entry, Rules, entries
from course.reports.gradescope import to_gradescope
from course.reports.html import write_html
from course.reports.junit import to_junit
from course.reports.roster import with_roster
from course.sandbox.launch import description

_COLOURS = {"passed": "green", "skipped": "dim", "graded": "bold", "not graded": "yellow", "rejected": "red"}


def print_report(report: Report, console: Console, rules: Rules | None = None, details: bool = False) -> None:
    """Print a line for each submission, the sums of a class, and the seed that repeats the grade.

    Args:
        report: the grades.
        console: where.
        rules: says which submissions are late, and what that costs.
        details: print the exercises of each submission, as of a single one.
    """
    for result in report.submissions:
        console.print(_headline(result) + _lateness(result, rules or Rules()), soft_wrap=True)
        if result.items and (details or len(report.submissions) == 1):
            console.print(_table(result))
    if len(report.submissions) > 1:
        for line in sums(report):
            console.print(line, soft_wrap=True, markup=False, highlight=False)
    console.print(f"seed {report.seed} · {description()}", style="dim")


def sums(report: Report) -> list[str]:
    """Lines that say of each chapter how many notebooks were graded, their mean and median, and who solved what."""
    told = []
    chapters: dict[str, list[Result]] = {}
    for result in report.submissions:
        if result.status == "graded" and result.chapter:
            chapters.setdefault(result.chapter, []).append(result)
    for chapter, results in sorted(chapters.items()):
        scores = [result.score for result in results]
        points = f"mean {mean(scores):.1f} and median {median(scores):g} of {max(r.max_score for r in results)} points"
        solved = Counter(item.grade_id for result in results for item in result.items if item.status == "passed")
        names = dict.fromkeys(item.grade_id for result in results for item in result.items)
        told.append(f"{chapter}: {len(results)} graded, {points}")
        told.append(f"  solved: {', '.join(f'{name} {solved[name]}' for name in names)}")
    return told


def print_practice(report: Report, console: Console) -> None:
    """Print what is not right, with the reason, and a table with the points of each notebook and of all."""
    for result in report.submissions:
        if result.status != "graded":
            console.print(_headline(result), soft_wrap=True)
        for item in result.items:
            if item.status not in ("passed", "skipped"):
                console.print(f"[bold]{escape(result.path)}[/]: {item.grade_id}: [red]{item.status}[/]", soft_wrap=True)
                console.print(f"{escape(item.message)}\n", soft_wrap=True)
    table = Table("notebook", show_footer=True)
    solved = [[item.status == "passed" for item in result.items] for result in report.submissions]
    columns = {
        "solved": [(sum(each), len(each)) for each in solved],
        "points": [(result.score, result.max_score) for result in report.submissions],
    }
    for name, counts in columns.items():
        done, every = (sum(each) for each in zip(*counts, strict=True))
        table.add_column(name, f"{done} of {every}", justify="right", no_wrap=True)
    for result, *row in zip(report.submissions, *columns.values(), strict=True):
        table.add_row(escape(result.path), *(f"{done} of {every}" for done, every in row))
    console.print(table)


def print_answers(result: Result, console: Console) -> None:
    """Print a line for each answered exercise, and why it is not right."""
    if result.status != "graded":
        console.print(f"✗ {result.reason}", soft_wrap=True, markup=False, highlight=False)
    for item in result.items:
        if item.status == "passed":
            console.print(f"[green]✓ {item.grade_id}[/]")
        elif item.status != "skipped":
            console.print(f"[red]✗ {item.grade_id}[/]\n{escape(item.message)}", soft_wrap=True)


@dataclass(frozen=True)
class Targets:
    """Where the formats of other programs go; None for those that nobody wants."""

    junit: Path | None = None
    csv: Path | None = None
    gradescope: Path | None = None
    html: Path | None = None


def write_reports(report: Report, course: Course, targets: Targets, rules: Rules) -> list[Entry]:
    """Write the formats that a path is given for, Gradescope's last; returns the gradebook's rows if there is any.

    Raises:
        NotGradedError: a submission that the machine could not grade is no result for Gradescope.
    """
    if targets == Targets():
        return []
    points = points_of(course)
    report = with_assignments(report, points)
    rows = with_roster(entries(report, points, rules), rules.roster, rules.assignment, points)
    if targets.html is not None:
        write_html(report, rows, rules, targets.html, course)
    if targets.junit is not None:
        write_atomically(targets.junit, to_junit(report))
    if targets.csv is not None:
        write_atomically(targets.csv, "\ufeff" + to_csv(rows, rules.due))  # or Excel takes the names for Latin-1
    if targets.gradescope is not None:
        one_students = entries(report, points, rules, one_student=True)
        write_atomically(targets.gradescope, to_gradescope(one_students, report.seed))
    return rows


def progress(paths: Iterable[Path], before: Report | None = None) -> tuple[Progress, Callable[[Report], None]]:
    """What says on stderr how far a grade is: a bar on a terminal, elsewhere a line for each submission.

    Args:
        paths: what is graded.
        before: what a grade that goes on has already.

    Returns:
        The bar, to be held open meanwhile, and what takes the report so far.
    """
    console, told = Console(stderr=True), {id(result): result for result in (before.submissions if before else [])}
    every = len({*map(printable_path, notebooks(paths)), *(result.path for result in told.values())})
    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, disable=not console.is_terminal)
    task = bar.add_task("grading", total=every)

    def moved(report: Report) -> None:
        bar.update(task, completed=len(report.submissions))
        new = {id(result): result for result in report.submissions if id(result) not in told}
        told.update(new)
        first = len(report.submissions) - len(new) + 1
        for count, result in enumerate(() if console.is_terminal else new.values(), first):
            console.print(f"{count} of {every}: {result.path}", soft_wrap=True, markup=False, highlight=False)

    return bar, moved


def _headline(result: Result) -> str:
    points = f", {result.score} of {result.max_score} points" if result.max_score else ""
    reason = f" ({escape(result.reason)})" if result.reason else ""
    return f"[bold]{escape(result.path)}[/]: [{_COLOURS[result.status]}]{result.status}[/]{points}{reason}"


def _lateness(result: Result, rules: Rules) -> str:
    if not (days := rules.days_late(result)):
        return ""
    deducted = f", −{rules.deducted(result):g} points" if rules.late_penalty else ""
    return f", [yellow]{days} day{'s' * (days > 1)} late{deducted}[/]"


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
