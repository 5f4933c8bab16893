"""A grade as JUnit's XML, which CI services show: a suite for each submission, a case for each exercise.

The elements: https://github.com/testmoapp/junitxml
"""

from typing import Any
from xml.etree import ElementTree

from course.checks import credit
from course.checks.printable import clean
from course.grading.report import Item, Report, Result

_ELEMENTS = {"failed": "failure", "missing": "failure", "timeout": "error", "error": "error", "skipped": "skipped"}


def to_junit(report: Report) -> str:
    """The report as XML. A submission without exercises is a case that ended in an error, with the reason."""
    root = ElementTree.Element("testsuites", name="course grade")
    for result in report.submissions:
        _suite(root, result)
    _count(root, [case for suite in root for case in suite.iter("testcase")])
    root.set("time", f"{sum(result.seconds for result in report.submissions):.2f}")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def properties(item: Item) -> dict[str, str]:
    """The points of an exercise, and of each of its parts that earns points of its own, as `points/PART`."""
    earned = [("", item), *((f"/{credit.name(part)}", part) for part in item.parts)]
    return {f"{what}{name}": str(getattr(it, what)) for name, it in earned for what in ("points", "max_points")}


def _suite(root: ElementTree.Element, result: Result) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=result.path, time=f"{result.seconds:.2f}")
    score = str(result.score) if result.status == "graded" else ""
    about = {
        "assignment": result.chapter,
        "score": score,
        "max_score": result.max_score,
        "submitted_at": result.submitted_at,
    }
    _properties(suite, about)
    if result.status == "graded":
        for item in result.items:
            _case(suite, result, item)
    else:
        case = ElementTree.SubElement(suite, "testcase", classname=result.path, name=result.status)
        ElementTree.SubElement(case, "error", type=result.status, message=_first_line(result.reason))
    _count(suite, list(suite.iter("testcase")))


def _case(suite: ElementTree.Element, result: Result, item: Item) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=str(result.chapter), name=item.grade_id)
    _properties(case, properties(item))
    if item.status == "passed":
        return
    what = ElementTree.SubElement(case, _ELEMENTS.get(item.status, "error"), message=_first_line(item.message))
    if what.tag != "skipped":
        what.set("type", item.status)
        what.text = clean(item.message)


def _properties(element: ElementTree.Element, about: dict[str, Any]) -> None:
    """Write what is known: a score of 0 is, and comes as text."""
    known = {name: str(value) for name, value in about.items() if value}
    if known:
        properties = ElementTree.SubElement(element, "properties")
        for name, value in known.items():
            ElementTree.SubElement(properties, "property", name=name, value=value)


def _count(element: ElementTree.Element, cases: list[ElementTree.Element]) -> None:
    element.set("tests", str(len(cases)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(sum(case.find(tag) is not None for case in cases)))


def _first_line(text: str) -> str:
    return clean(text).partition("\n")[0]
