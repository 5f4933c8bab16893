"""Packages of `course` import each other in one direction; so do those of `minitorch`, but for a list of edges."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.test_architecture import circles, modules, named, statements

ROOT = Path(__file__).parents[1]
BACK = {
    ("_dynamo", "_inductor"),
    ("amp", "optim"),
    ("autograd", "dispatch"),
    ("autograd", "func"),
    ("autograd", "ops"),
    ("dispatch", "minitorch"),
    ("distributed", "optim"),
    ("ops", "tensor_types"),
    ("tensor", "autograd"),
    ("tensor", "convertible"),
}
"""Between the packages of `minitorch`: the imports without which none goes in a circle. The list may only shrink."""


def package_of(module: str) -> str:
    """The folder or file right below the top; the top for its own `__init__`."""
    return ".".join(module.split(".")[:2]).rpartition(".")[2]


def needs(top: str, in_functions: bool) -> dict[str, set[str]]:
    """By package, those that it imports: when it is imported, or also later."""
    paths = modules(ROOT / top)
    found: dict[str, set[str]] = {package_of(name): set() for name in paths}
    for name, path in paths.items():
        for node, is_late in statements(ast.parse(path.read_text()).body):
            if in_functions or not is_late:
                found[package_of(name)] |= {package_of(other) for other in named(node, paths)} - {package_of(name)}
    return found


def test_no_packages_of_the_course_import_each_other_in_a_circle() -> None:
    assert circles(needs("course", in_functions=True)) == []


def test_packages_of_the_course_import_only_those_above_them_in_the_documents_table() -> None:
    document = (ROOT / "docs" / "architecture.md").read_text().partition("| in `course/` |")[2]
    rows = [re.findall(r"`(\w+)[/.]", line.split("|")[1]) for line in document.splitlines() if line.startswith("| `")]
    order = [name for row in rows for name in row]
    edges = needs("course", in_functions=True)
    wrong = {(name, other) for place, name in enumerate(order) for other in edges[name] if other in order[place:]}
    assert wrong == set()
    assert {path.parent.name for path in (ROOT / "course").glob("*/__init__.py")} - {*order} == set()


def test_packages_of_minitorch_import_each_other_in_circles_only_by_the_edges_of_the_list() -> None:
    edges = needs("minitorch", in_functions=False)
    without = {name: {other for other in others if (name, other) not in BACK} for name, others in edges.items()}
    assert circles(without) == []
    idle = {edge for edge in BACK if not circles({**without, edge[0]: without[edge[0]] | ({edge[1]} & edges[edge[0]])})}
    assert idle == set(), "these edges are gone, or no part of a circle: take them off the list"
