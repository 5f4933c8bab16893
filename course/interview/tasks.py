"""What an exercise says in an interview: what to build, from an empty stub, and the rest as hints."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from course.files import Course
from course.learner.practice import Exercise
from course.parsed import parsed
from course.source.cells import defined

_MISSING = re.compile(
    r"NameError: name '(\w+)' is not defined"
    r"|(?:ImportError|ModuleNotFoundError): (?:No module named|cannot import name) '([\w.]+)'"
    r"|ModuleNotFoundError: ([\w.]+) is out of reach"
    r"|AttributeError: (?:'Tensor' object|module '[\w.]+') has no attribute '(\w+)'"
)

_TORCH = re.compile(r"^(\s*(?:from|import) )torch\b((?:\.\w+)*)( as \w+)?", re.MULTILINE)


def statements() -> dict[str, str]:
    """What an interviewer asks of an exercise whose notebook tells more than an interviewer would."""
    return _by_exercise("statements.md")


def follow_ups() -> dict[str, str]:
    """What a solution costs and what they ask next, for exercises whose notebooks don't say it below them."""
    return _by_exercise("follow_ups.md")


@cache
def _by_exercise(file: str) -> dict[str, str]:
    """The sections of a file beside this one, whose headings are names of exercises."""
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    parts = re.split(r"^## (\w+)\n", text, flags=re.MULTILINE)[1:]
    return {name: said.strip() for name, said in zip(parts[::2], parts[1::2], strict=True)}


def asked(course: Course, exercise: Exercise) -> str:
    """What to build, under the exercise's title."""
    task = task_of(course, exercise)
    said = statements().get(exercise.name)
    return f"{task.partition(chr(10))[0]}\n\n{said}" if said else task


def stub_of(exercise: Exercise) -> str:
    """What the file to be written begins with; without docstrings, where the statement is the interviewer's own."""
    return bare(exercise.stub) if exercise.name in statements() else exercise.stub


def hints_of(course: Course, exercise: Exercise) -> list[str]:
    """The hints of an exercise.

    Where the statement is the interviewer's own, the notebook's is the first, unless it says nothing new.
    """
    if exercise.name not in statements():
        return exercise.hints
    _, _, task = task_of(course, exercise).partition("\n")
    has_docstrings = stub_of(exercise).strip() != exercise.stub.strip()
    if not has_docstrings and len(_words(task) - _words(asked(course, exercise))) < len(_words(task)) / 3:
        return exercise.hints
    return [f"{task.strip()}\n\n```python\n{exercise.stub.strip()}\n```", *exercise.hints]


def _words(text: str) -> set[str]:
    return {*re.findall(r"\w+", text.lower())}


def bare(source: str) -> str:
    """Source without the docstrings of its functions and classes, but for those that are all that they have."""
    lines = source.splitlines()
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None and node.body[1:]:
            told = node.body[0]
            lines[told.lineno - 1 : told.end_lineno] = ["\0"] * ((told.end_lineno or told.lineno) - told.lineno + 1)
    return "\n".join(line for line in lines if line != "\0")


def task_of(course: Course, exercise: Exercise) -> str:
    """The text of an exercise's task, without its heading and the line about points."""
    from course.notebooks.notebook import exercise_of, role, v4

    notebook = v4.reads((course.pristine / f"{exercise.chapter}.ipynb").read_text(encoding="utf-8"))
    source = next(cell.source for cell in notebook.cells if role(cell) == "task" and exercise_of(cell) == exercise.name)
    title, _, rest = source.rpartition("\n\n*")[0].partition("\n")
    return f"**{title.lstrip('# ').partition(' · ')[2]}**\n\n{rest.strip()}"


def is_value(text: str) -> bool:
    """Whether text is an expression of Python without names that nobody has defined."""
    try:
        body = parsed(text.strip()).body
    except (SyntaxError, ValueError):
        return False
    names = {node.id for each in body for node in ast.walk(each) if isinstance(node, ast.Name)}
    return len(body) == 1 and isinstance(body[0], ast.Expr) and names <= {*dir(builtins), "torch", "np", "math"}


def definitions(exercise: Exercise, task: str) -> str:
    """The classes and functions of the notebook's first cells that a task or its stub names, as they stand there."""
    asked = set(re.findall(r"\w+", f"{task}\n{exercise.stub}"))
    found = []
    for source in exercise.setup:
        lines = source.splitlines()
        for node in parsed(source).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name in asked:
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                found.append("\n".join(lines[first - 1 : node.end_lineno]))
    return "\n\n\n".join(found)


def missing(message: str) -> str:
    """The name or the method of a tensor that an answer used without having it, or the module that it couldn't import.

    Args:
        message: what a check says.
    """
    found = _MISSING.search(message)
    return next(filter(None, found.groups())) if found else ""


def with_our_torch(answer: str, package: str = "minitorch") -> str:
    """An answer in which `import torch`, a candidate's first line, brings this package.

    It is minitorch, as in the notebooks, or mytorch where the answer is a part of it.
    """

    def ours(found: re.Match[str]) -> str:
        before, inner, alias = found.groups(default="")
        if before.endswith("import ") and not alias:
            return f"{before}{package} as torch"  # which it binds, whatever it imports
        return f"{before}{package}{inner}{alias}"

    return _TORCH.sub(ours, answer)


def imported(exercise: Exercise) -> list[str]:
    """The libraries that the notebook's first cells have imported, by the names that they have there."""
    names = {name for text in exercise.setup for name in _brought(text)}
    return [name for name in ("torch", "nn", "F", "np", "math") if name in names]


def _brought(text: str) -> list[str]:
    """The names that a cell's imports bind."""
    imports = [node for node in parsed(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    return [name.asname or name.name for node in imports for name in node.names]


def in_scope(course: Course, exercise: Exercise) -> list[str]:
    """What an answer may use besides Python's own names: of its module in mytorch, or of the notebook's first cells."""
    files = {part.partition(":")[0].partition(".")[2].replace(".", "/") for part in exercise.kind.parts}
    paths = [course.reference / f"{file}.py" for file in files]
    texts = [path.read_text(encoding="utf-8") for path in paths if path.exists()] if files else exercise.setup
    names = {name for text in texts for name in defined(text)} - {"annotations", "check", *exercise.kind.names}
    if not files:  # some of what the notebook's first cells define serves its check alone
        brought = {name for text in texts for name in _brought(text)}
        names &= brought | {
            *re.findall(r"\w+", f"{task_of(course, exercise)}\n{asked(course, exercise)}\n{exercise.stub}")
        }
    return sorted((name for name in names if not name.startswith("_")), key=lambda name: (name.lower(), name))


def solution_of(course: Course, exercise: Exercise) -> str:
    """The course's answer to an exercise; empty where the course has no solutions."""
    from course.notebooks.notebook import exercise_of, role, v4

    path = course.solutions / f"{exercise.chapter}.ipynb"
    cells = v4.reads(path.read_text(encoding="utf-8")).cells if path.exists() else ()
    found = next(
        (str(each.source) for each in cells if (role(each), exercise_of(each)) == ("solution", exercise.name)), ""
    )
    return bare(re.sub(r"^ *### (BEGIN|END) SOLUTION\n?", "", found, flags=re.MULTILINE)).rstrip()


def known_mistakes(course: Course, exercise: Exercise) -> list[tuple[str, str]]:
    """The known wrong answers to an exercise, and what is wrong with each; none where the course has no solutions."""
    from course.notebooks.notebook import exercise_of, role, v4

    path = course.solutions / f"{exercise.chapter}.ipynb"
    cells = v4.reads(path.read_text(encoding="utf-8")).cells if path.exists() else ()
    task = next((each for each in cells if (role(each), exercise_of(each)) == ("task", exercise.name)), None)
    mutants = task.metadata["minitorch"]["mutants"] if task else ()
    return [(str(each["source"]), str(each["says"])) for each in mutants]


def whose(exercise: Exercise) -> str:
    """Which parts of mytorch an exercise writes, or what is imported where it writes none."""
    parts = [part.partition(":") for part in exercise.kind.parts]
    if not parts:
        given = imported(exercise)
        return f"{listed(f'`{name}`' for name in given)} {'are' if given[1:] else 'is'} imported. " if given else ""
    names = listed(f"`{name}`" for _, _, name in parts)
    modules = listed(dict.fromkeys(f"`{module}`" for module, _, _ in parts))
    return f"You write {names} of {modules}; what that module imports and defines can be used as it is. "


def listed(names: Iterable[str]) -> str:
    """Names with commas between them, and an "and" before the last."""
    *before, last = names
    return f"{', '.join(before)} and {last}" if before else last


def package_of(exercise: Exercise) -> str:
    """The package that stands for torch in an answer: mytorch where the answer is a part of it."""
    return "mytorch" if exercise.kind.parts else "minitorch"


def unwrapped(answer: str, exercise: Exercise) -> str:
    """An answer whose classes give way to those of their methods that are asked for, which a stub shows alone.

    A candidate asked for `Int8Linear.__init__` writes the class around it. The class itself is there already.
    """
    asked = [part.rpartition(":")[2].partition(".") for part in exercise.kind.parts]
    methods = {(owner, method) for owner, _, method in asked if method}
    try:
        body = parsed(answer).body
    except (SyntaxError, ValueError):
        return answer
    lines = answer.splitlines()
    for node in reversed(body):
        if isinstance(node, ast.ClassDef) and any(owner == node.name for owner, _ in methods):
            wanted = [each for each in node.body if (node.name, getattr(each, "name", "")) in methods]
            texts = [ast.unparse(each) for each in wanted]
            if texts:
                lines[node.lineno - 1 : node.end_lineno] = ["\n\n\n".join(texts)]
    return "\n".join(lines) + "\n"
