"""What docs/architecture.md says of the code as a whole."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Container, Iterator
from functools import cache
from pathlib import Path

import minitorch

PACKAGE = Path(minitorch.__file__).parent


@cache
def tree(path: Path) -> ast.Module:
    """A file's syntax tree, which several tests walk."""
    return ast.parse(path.read_text())


def modules_imported_by(path: Path) -> set[str]:
    """The modules that a module imports, wherever it does."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def imported_by(path: Path) -> set[str]:
    """The packages that a module imports, wherever it does."""
    return {module.partition(".")[0] for module in modules_imported_by(path)}


def test_of_the_ops_one_imports_an_array_library() -> None:
    files = [path for folder in ("dispatch", "ops") for path in (PACKAGE / folder).rglob("*.py")]
    assert [path.name for path in files if {"numpy", "cupy"} & imported_by(path)] == ["data.py"]


def files_with(pattern: str) -> set[str]:
    """The files of `kernels/` and `ops/` in which the pattern is found."""
    files = [path for folder in ("kernels", "ops") for path in (PACKAGE / folder).rglob("*.py")]
    return {path.relative_to(PACKAGE).as_posix() for path in files if re.search(pattern, path.read_text())}


def test_few_kernels_ask_where_arrays_lie() -> None:
    kernels = {
        f"kernels/{name}.py" for name in ("accumulation", "convolution/__init__", "convolution/im2col", "running")
    }
    assert files_with(r"\bxp\.is_host\b") == kernels | {"ops/random/in_place.py", "ops/activation/leaky.py"}
    assert files_with(r"xp\.__name__|\barray_type\b|\bis (not )?np\b") == set()


def test_ops_are_formulas() -> None:
    """The bits of numbers and the size of the cache are the business of `arrays/` and `kernels/`."""
    found = files_with(r"bitwise_\w+\(\w+\.view|\bCACHE\b|import .*\b(are_many|blocks_of)\b|kernels\.blocks")
    assert {name for name in found if name.startswith("ops/")} == set()


def test_no_meaning_is_read_from_the_words_of_an_error() -> None:
    """Whose words they are doesn't matter: shapes, dtypes and signatures say why a call has failed."""
    words = re.compile(
        r"(\bin|==|!=) (str|repr)\(error\)|(str|repr)\(error\) (==|!=)|\b(search|match|partition)\(.*str\(error\)"
    )
    found = {
        f"{path.relative_to(PACKAGE)}: {each[0]}"
        for path in MODULES.values()
        for each in words.finditer(path.read_text())
    }
    assert found == set()


def test_kernels_know_of_no_tensors() -> None:
    above = ("minitorch.tensor", "minitorch.autograd", "minitorch.dispatch", "minitorch.ops")
    found = [
        f"{path.relative_to(PACKAGE)}: {module}"
        for path in (PACKAGE / "kernels").rglob("*.py")
        for module in modules_imported_by(path)
        if module.startswith(above)
    ]
    assert found == []


def modules(package: Path) -> dict[str, Path]:
    """A package's modules by name."""
    paths = {path: path.relative_to(package.parent).with_suffix("").parts for path in package.rglob("*.py")}
    return {".".join(parts).removesuffix(".__init__"): path for path, parts in paths.items()}


MODULES = modules(PACKAGE)


def named(node: ast.Import | ast.ImportFrom, modules: Container[str] = MODULES.keys()) -> set[str]:
    """Those of the modules that a statement names."""
    if isinstance(node, ast.Import):
        names = {each.name for each in node.names}
    else:
        names = {f"{node.module}.{each.name}" for each in node.names}
        names = {name if name in modules else str(node.module) for name in names}
    return {name for name in names if name in modules}


def statements(body: list[ast.stmt], in_function: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The imports that run, and whether they stand in a function; not those for type checkers alone."""
    for node in body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node, in_function
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            inside = in_function or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            for part in ("body", "orelse", "finalbody"):
                yield from statements(getattr(node, part, []), inside)


def circles(needs: dict[str, set[str]]) -> list[set[str]]:
    """The sets of modules of which each needs all others, directly or not."""

    def reached(name: str) -> set[str]:
        found: set[str] = set()
        ahead = [name]
        while ahead:
            new = needs[ahead.pop()] - found
            found |= new
            ahead += new
        return found

    below = {name: reached(name) for name in needs}
    together = {frozenset(other for other in below[name] if name in below[other]) for name in needs}
    return [set(each) for each in together if len(each) > 1]


def test_only_the_recording_of_a_history_goes_in_a_circle() -> None:
    needs = {
        name: {other for node, _ in statements(tree(path).body) for other in named(node)} - {name}
        for name, path in MODULES.items()
    }
    assert circles(needs) == [{f"minitorch.autograd.{name}" for name in ("engine", "node", "saved")}]


def test_an_import_inside_a_function_says_what_it_loads() -> None:
    silent = []
    for name, path in MODULES.items():
        lines = path.read_text().splitlines()
        for node, in_function in statements(tree(path).body):
            if in_function and named(node) and "  # loads " not in lines[node.lineno - 1]:
                silent.append(f"{name}, line {node.lineno}: {lines[node.lineno - 1].strip()}")
    assert silent == []


def test_a_file_holds_one_idea_in_400_lines() -> None:
    files = [*MODULES.values(), *(PACKAGE.parent / "course").rglob("*.py")]
    long = {path.relative_to(PACKAGE.parent).as_posix() for path in files if len(path.read_text().splitlines()) > 400}
    assert long - {"course/interview/estimates.py"} == set()  # a list of questions


def test_every_file_that_the_document_names_exists() -> None:
    document = PACKAGE.parent / "docs" / "architecture.md"
    rows = [line.split("|")[1] for line in document.read_text().splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in row.split("`")[1::2]]
    folders = PACKAGE, PACKAGE.parent / "course"
    missing = [
        name for name in named if "*" not in name and not any([*each.rglob(name.rstrip("/"))] for each in folders)
    ]
    assert missing == []


def test_the_document_names_every_file_of_the_dispatcher_and_of_the_compiler() -> None:
    document = (PACKAGE.parent / "docs" / "architecture.md").read_text()
    files = [path.name for folder in ("dispatch", "_inductor") for path in (PACKAGE / folder).glob("[!_]*.py")]
    assert [name for name in files if not re.search(rf"[`/]{name}`", document)] == []


def test_the_documents_links_lead_to_files() -> None:
    folder = PACKAGE.parent / "docs"
    links = re.findall(r"\]\(([^)#]+)", (folder / "architecture.md").read_text())
    assert len(links) > 20
    assert [link for link in links if not (folder / link).exists()] == []


def test_every_public_class_has_a_class_statement() -> None:
    """A search for "class MaxPool2d" finds it, and an editor goes to it."""
    nodes = (node for path in MODULES.values() for node in ast.walk(tree(path)))
    stated = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    modules = minitorch.nn, minitorch.optim, minitorch.optim.lr_scheduler, minitorch.distributions, minitorch.utils.data
    public = [each for module in modules for each in vars(module).values() if inspect.isclass(each)]
    assert {each.__name__ for each in public if each.__module__.startswith("minitorch")} - stated == set()
