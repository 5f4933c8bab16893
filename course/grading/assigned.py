"""The chapter of a file that could not be read: its name says it, so that its points stay in the totals."""

from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

from course.grading.report import Report
from course.grading.student import called, is_called


def with_assignments(report: Report, points: Mapping[str, int]) -> Report:
    """Give rejected files the chapter that their names say, and its points as their maximum.

    Args:
        report: as graded; its results are filled in, and stay the same objects for who has counted them.
        points: the points of each chapter.

    Returns:
        The report.
    """
    for each in report.submissions:
        if each.chapter is None and each.status == "rejected":
            each.chapter = named_chapter(each.path, points)
        each.max_score = each.max_score or points.get(each.chapter or "", 0)
    return report


def named_chapter(path: str, chapters: Collection[str]) -> str | None:
    """The chapter that the file, or else a folder, is called like; None if there is none."""
    names = [called(PurePosixPath(path).name), *(folder.name for folder in PurePosixPath(path).parents)]
    return next((each for name in names for each in chapters if is_called(name, each)), None)
